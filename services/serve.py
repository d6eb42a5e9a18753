"""Run the complete service on one machine until Ctrl-C or SIGTERM: `./run serve`.

Starts PostgreSQL and Valkey unless the environment names others, and restarts them should they end; brings the schema
up to date, then runs the API, the workers and their schedule as child processes. A process that ends is restarted,
unless it ended as soon as it was first started: then everything stops.
"""

import errno
import os
import shlex
import signal
import socket
import sys
import time
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, NamedTuple

from services.application.access.authenticate import Scope, hash_secret
from services.bootstrap import Container, build_container
from services.data_folder import ADMIN_PASSWORD, AGENT_KEY
from services.embedded.backends import Backends, open_backends
from services.embedded.errors import AddressChanged, CannotStart
from services.embedded.keeper import receive_signals, wake_on_signals
from services.prepare import FIRST_LOGIN, FIRST_TENANT, ensure_database, issue_key, issue_login
from services.processes import ROOT, ExitedAtOnce, describe_exit, run_processes
from services.queue.dispatcher import JOBS_QUEUE, JOURNAL_QUEUE
from services.settings import Settings
from tradewind.errors import InvalidValue, TradewindError

POLL_S = 0.2
LOG = "service.log"
REVIVAL_PAUSE_S = 5.0
PYTHON = (sys.executable, "-P", "-m")
# Celery warns root of pickled messages; ours are JSON, and root serves only where there is no other account to use.
CELERY = (*PYTHON[:-1], "-Wignore::UserWarning:celery.platforms", "-m", "celery", "-q", "-A", "workers.app")
METRICS_PORT = "TRADEWIND_WORKER_METRICS_PORT"
# In an API process the folder would turn its own metrics into files; and no two workers can listen on one port.
OF_WORKERS = ("PROMETHEUS_MULTIPROC_DIR", "PROMETHEUS_MULTIPROC_DIR_FILE", METRICS_PORT, f"{METRICS_PORT}_FILE")


def main(arguments: Sequence[str] = ()) -> int:
    """Serve; return 0 when asked to stop, 1 if a part failed, 2 for wrong settings."""
    ArgumentParser(
        prog="python -m services.serve",
        description=__doc__,
        epilog="Settings are variables of the environment: docs/reference/settings.md.",
        formatter_class=RawDescriptionHelpFormatter,
    ).parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        settings = Settings.from_environment(os.environ, data_folder=ROOT / "var")
        check_place(settings)
        if settings.database_url is None or settings.redis_url is None:
            _say("starting PostgreSQL and Valkey …")
        with open_backends(
            settings.data_folder,
            database_url=settings.database_url,
            admin_database_url=settings.admin_database_url,
            redis_url=settings.redis_url,
        ) as found:
            return run_service(settings, found)
    except InvalidValue as error:
        return _fail(error, 2)
    except TradewindError as error:
        return _fail(error, 1)
    except KeyboardInterrupt:
        return 0


def check_place(settings: Settings) -> None:
    """Create the data folder, and check that it and the port can be used, before anything is started.

    Raises
    ------
    InvalidValue : its field is the variable's name.
    """
    folder = settings.data_folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidValue("TRADEWIND_DATA", f"cannot make the folder {folder}: {error.strerror}") from error
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        raise InvalidValue("TRADEWIND_DATA", f"cannot write to the folder {folder}")
    place = f"{settings.host}:{settings.port}"
    try:
        found = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise InvalidValue("TRADEWIND_HOST", f"no address of {settings.host}: {error.strerror}") from error
    for family, kind, protocol, _, address in found:
        with suppress(OSError), socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the server does
            try:
                probe.bind(address)
            except OSError as error:
                if error.errno in {errno.EADDRINUSE, errno.EACCES}:
                    reason = f"cannot listen on {place} ({error.strerror}); set TRADEWIND_PORT to another port"
                    raise InvalidValue("TRADEWIND_PORT", reason) from error


def run_service(settings: Settings, found: Backends) -> int:
    """Run the processes of the service until a signal asks to stop, or one ends as soon as it is first started."""
    _say("bringing the schema up to date …")
    database_url = ensure_database(
        settings, database_url=found.database_url, admin_database_url=found.admin_database_url
    )
    with build_container(database_url=database_url, redis_url=found.redis_url) as parts:
        key = ensure_first_key(parts, settings.data_folder / AGENT_KEY)
        login = ensure_first_login(parts, settings.data_folder / ADMIN_PASSWORD)
    environment = {**os.environ, "DATABASE_URL": database_url, "REDIS_URL": found.redis_url}
    for variable in OF_WORKERS:
        environment.pop(variable, None)
    _say("starting the API and the workers …")
    with (
        open_log(settings.data_folder) as log,
        run_processes(
            list_commands(settings), environment, own=list_worker_environments(settings), output=log
        ) as processes,
    ):
        wake = wake_on_signals()
        is_announced = False
        revival = Revival(found)
        while not {signal.SIGTERM, signal.SIGINT} & set(receive_signals(wake, POLL_S)):
            for name, code in processes.revive().items():
                _say(f"{name} had ended {describe_exit(code)}, and was started again")
            revival.look(_say)
            if not is_announced and _is_listening(settings):
                announce(settings, key, login, elsewhere=find_folders_elsewhere(found, settings.data_folder))
                is_announced = True
    return 0


@contextmanager
def open_log(data_folder: Path) -> Iterator[IO[bytes] | None]:
    """Yield the file that the processes write to where this is started at a terminal, which is for what a user needs.

    The log of the start before stays as ``service.log.1``. Elsewhere, ``None``: what collects the output of this
    process collects that of the others, too.
    """
    if not (sys.stdout.isatty() and sys.stderr.isatty()):
        yield None
        return
    file = data_folder / LOG
    try:
        with suppress(FileNotFoundError):
            file.replace(file.with_name(f"{LOG}.1"))
        file.touch(mode=0o600)
        log = file.open("ab")
    except OSError as error:
        raise InvalidValue("TRADEWIND_DATA", f"cannot write to {file}: {error.strerror}") from error
    _say(f"log: {file}")
    with log:
        try:
            yield log
        except ExitedAtOnce as ended:
            raise ExitedAtOnce(f"{ended}; {file} says why") from ended


class FirstKey(NamedTuple):
    """The key of this machine; `is_new` at the start that made it, the only one that shows it."""

    secret: str
    is_new: bool


def announce(settings: Settings, key: FirstKey, login: str, *, elsewhere: Sequence[Path] = ()) -> None:
    """Say where the service answers; the key that may do everything only at the start that made it.

    ``elsewhere`` : folders of embedded servers that could not reach their place in the data folder.
    """
    address, file = f"http://{settings.host}:{settings.port}", settings.data_folder / AGENT_KEY
    _say(f"API: {address}")
    if key.is_new:
        _say(f"agent key: {key.secret}   (may do everything: make others for others; stored in {file})")
    else:
        _say(f"the agent key of the first start is in {file}")
    _say(f"pages: {address}/admin")
    _say(f"sign in as: {login}")
    # By standard input: an argument would show the key to every user of this machine.
    _say(f"first: .venv/bin/tradewind login {address} --key - < {shlex.quote(str(file))}")
    _say(f"data: {', '.join(map(str, (settings.data_folder, *elsewhere)))}   stop: Ctrl-C")


def find_folders_elsewhere(backends: Backends, data_folder: Path) -> Sequence[Path]:
    """Return the folders of embedded servers that are not in the data folder, as their account cannot reach it."""
    inside = data_folder.resolve()
    return [server.folder for server in backends.embedded if not server.folder.is_relative_to(inside)]


class Revival:
    """Restarts embedded servers that have ended; one that does not start, as on a full disk, is tried again and
    again.
    """

    def __init__(self, backends: Backends) -> None:
        self._backends = backends
        self._last_error: str | None = None
        self._next_try_s = 0.0

    def look(self, say: Callable[[str], None]) -> None:
        """Restart servers that have ended.

        Raises
        ------
        AddressChanged : a server has another address than the others know.
        """
        if time.monotonic() < self._next_try_s:
            return
        try:
            revived = self._backends.revive()
        except AddressChanged:
            raise
        except CannotStart as error:
            self._next_try_s = time.monotonic() + REVIVAL_PAUSE_S
            if str(error) != self._last_error:
                self._last_error = str(error)
                say(f"{error}; trying again")
            return
        for server in revived:
            say(f"{server} had ended, and was started again")
            self._last_error = None


def ensure_first_key(parts: Container, file: Path) -> FirstKey:
    """Return a key with every scope for the tenant of this machine, created and stored in a file on first use."""
    if file.exists():
        secret = file.read_text(encoding="utf-8").strip()
        if parts.store.registry.find_key(hash_secret(secret)) is not None:
            return FirstKey(secret, is_new=False)
    created = issue_key(parts, tenant=FIRST_TENANT, name="this machine", scopes=tuple(Scope))
    file.touch(mode=0o600)
    file.write_text(f"{created.secret}\n", encoding="utf-8")
    return FirstKey(created.secret, is_new=True)


def ensure_first_login(parts: Container, file: Path) -> str:
    """Return how to sign in: with the first user's password, until the user has chosen another.

    The password is stored in a file, so that it can be shown until then.
    """
    found = parts.store.registry.find_user(FIRST_LOGIN)
    if found is None:
        password = issue_login(parts, tenant=FIRST_TENANT, login=FIRST_LOGIN)
        file.unlink(missing_ok=True)
        file.touch(mode=0o600)
        file.write_text(f"{password}\n", encoding="utf-8")
        return f"{FIRST_LOGIN}, password {password} (the pages ask for another one first)"
    with parts.store.unit_of_work(found.tenant_id) as uow:
        waiting = uow.users.get(found.id).must_change_password
    if waiting and file.exists():
        return (
            f"{FIRST_LOGIN}, password {file.read_text(encoding='utf-8').strip()} (the pages ask for another one first)"
        )
    file.unlink(missing_ok=True)
    return f"{FIRST_LOGIN}, with the password that you chose (a new one: {format_login_command(file.parent)})"


def format_login_command(data_folder: Path) -> str:
    """Return the shell command that prints a new password for the first user of a service with this data folder."""
    python = Path(sys.executable)
    with suppress(ValueError):
        python = python.relative_to(ROOT)  # shorter, as the other commands that are printed
    setting, program = (shlex.quote(str(path)) for path in (data_folder.absolute(), python))
    return f"TRADEWIND_DATA={setting} {program} -m services.prepare login"


def list_commands(settings: Settings) -> Mapping[str, Sequence[str]]:
    """Return the service's processes, name → command."""
    schedule = settings.data_folder / "celerybeat-schedule"
    return {
        "api": [
            *(*PYTHON, "services.api_process", f"--forwarded-allow-ips={settings.proxies}"),
            *(f"--host={settings.host}", f"--port={settings.port}", f"--processes={settings.api_workers}"),
        ],
        "workers": [*CELERY, "worker", f"--queues={JOBS_QUEUE}", f"--concurrency={settings.task_workers}"],
        "journal": [*CELERY, "worker", f"--queues={JOURNAL_QUEUE}", "--hostname=journal@%h", "--concurrency=1"],
        "schedule": [*CELERY, "beat", f"--schedule={schedule}", "--pidfile="],
    }


def list_worker_environments(settings: Settings) -> Mapping[str, Mapping[str, str]]:
    """Return each process's own variables for metrics: all workers count, and one of them serves the sums."""
    if settings.worker_metrics_port is None:
        return {}
    folder = settings.worker_metrics_folder or settings.data_folder / "worker-metrics"
    return {
        "workers": {"PROMETHEUS_MULTIPROC_DIR": str(folder), METRICS_PORT: str(settings.worker_metrics_port)},
        "journal": {"PROMETHEUS_MULTIPROC_DIR": str(folder / "journal")},
    }


def _is_listening(settings: Settings) -> bool:
    with suppress(OSError), socket.create_connection((settings.host, settings.port), timeout=1.0):
        return True
    return False


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _fail(reason: object, code: int) -> int:
    sys.stderr.write(f"serve: {reason}\n")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
