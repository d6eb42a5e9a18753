"""The service as `./run serve` runs it, on durable servers of its own; each part may be killed and come back."""

import os
import random
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import httpx
import psutil

from benchmarks.demo.stack import free_port
from benchmarks.faults.waiting import until
from services.embedded.errors import CannotStart
from services.embedded.postgres import EmbeddedPostgres
from services.embedded.valkey import EmbeddedValkey
from services.persistence.migrate import prepare_database
from services.processes import NICENESS, run_processes
from services.serve import list_commands
from services.settings import Settings

POSTGRES, VALKEY = "postgres", "valkey"
API, WORKERS, JOURNAL, SCHEDULE = "api", "workers", "journal", "schedule"
"""Processes, by their names in ``services.serve``."""

END_PATIENCE_S = 30.0
ANSWER_PATIENCE_S = 5.0


@dataclass
class Service:
    """A running service; ``kill`` ends a part as ``kill -9`` does, ``bring_back`` starts it again on the same data.

    Attributes
    ----------
    environment : of its processes, beside the addresses of their servers.
    niceness : of its processes, by name.
    output : where they write what they say.
    instead : other commands of processes than those of the service, by their name.
    """

    postgres: EmbeddedPostgres
    valkey: EmbeddedValkey
    database_url: str
    settings: Settings
    stack: ExitStack
    environment: Mapping[str, str] = field(default_factory=dict)
    niceness: Mapping[str, int] = field(default_factory=lambda: NICENESS)
    output: IO[bytes] | None = None
    instead: Mapping[str, Sequence[str]] = field(default_factory=dict)
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def address(self) -> str:
        return f"http://{self.settings.host}:{self.settings.port}"

    def start(self, *names: str, **variables: str) -> None:
        """Start processes, with ``variables`` of their own."""
        every = {**list_commands(self.settings), **self.instead}
        urls = {"DATABASE_URL": self.database_url, "REDIS_URL": self.valkey.url()}
        environment = {**os.environ, **self.environment, **urls, **variables}
        begun = run_processes(
            {name: every[name] for name in names}, environment, output=self.output, niceness=self.niceness
        )
        self.processes |= self.stack.enter_context(begun)

    def is_ready(self) -> bool:
        """Whether the API answers and has its database and its store of sessions."""
        try:
            answer = httpx.get(f"{self.address}/readyz", timeout=ANSWER_PATIENCE_S)
            return bool(answer.json().get("status") == "ready")  # not ``degraded``
        except httpx.TransportError:
            return False

    def ended(self) -> tuple[str, ...]:
        """Parts that have ended, whoever ended them."""
        servers: tuple[tuple[str, EmbeddedPostgres | EmbeddedValkey], ...] = (
            (POSTGRES, self.postgres),
            (VALKEY, self.valkey),
        )
        processes = [name for name, process in self.processes.items() if process.poll() is not None]
        return (*(name for name, server in servers if not server.is_running()), *processes)

    def kill(self, name: str) -> None:
        """End a process with its children, or a server with all its processes, at once."""
        match name:
            case "postgres":
                postmaster = psutil.Process(self.postgres.process_id)
                _kill([postmaster, *postmaster.children(recursive=True)])
            case "valkey":
                keeper = psutil.Process(int((self.valkey.folder / "keeper.lock").read_text()))
                _kill(keeper.children())
            case _:
                os.killpg(self.processes[name].pid, signal.SIGKILL)
                self.processes.pop(name).wait()

    def kill_one_that_answers(self, draw: random.Random) -> None:
        """End one of the API's processes, which the one that made it makes anew."""
        _kill([draw.choice(self._answering())])

    def restart(self, name: str, **variables: str) -> None:
        """End a part and start it with ``variables``; the API as an upgrade does, once the new one answers."""
        if name != API:
            self.kill(name)
            self.bring_back(name, **variables)
            return
        before = self.processes.pop(API)
        self.start(API, **variables)
        until(lambda: len(self._answering()) == self.settings.api_workers, "the new API to listen")
        os.killpg(before.pid, signal.SIGKILL)
        before.wait()

    def _answering(self) -> list[psutil.Process]:
        """Those of the API that listen."""
        made = psutil.Process(self.processes[API].pid).children()
        return [each for each in made if _listens(each)]

    def await_ready(self) -> None:
        """Return when the API answers and has all that it needs."""
        until(self.is_ready, "the API to be ready")

    def lose(self, name: str) -> None:
        """Remove what a killed Valkey has on disk."""
        assert name == VALKEY
        shutil.rmtree(self.valkey.folder / "data")

    def bring_back(self, name: str, **variables: str) -> None:
        """Start a part again; return when it answers, of what answers."""
        match name:
            case "postgres":
                until(lambda: _revived(self.postgres), "PostgreSQL to come back")
            case "valkey":
                until(lambda: _revived(self.valkey), "Valkey to come back")
            case "api":
                self.start(name, **variables)
                self.await_ready()
            case _:
                self.start(name, **variables)


def _revived(server: EmbeddedPostgres | EmbeddedValkey) -> bool:
    """Whether it had ended and runs again; a start that fails is tried again, as a supervisor would."""
    try:
        return server.revive()
    except CannotStart:
        return False


def _listens(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return any(each.status == psutil.CONN_LISTEN for each in process.net_connections("tcp"))
    return False


def _kill(processes: Sequence[psutil.Process]) -> None:
    for process in processes:
        process.kill()
    psutil.wait_procs(processes, timeout=END_PATIENCE_S)


@contextmanager
def run_service(
    folder: Path,
    *,
    parts: Sequence[str],
    api_processes: int = 1,
    host: str = "127.0.0.1",
    environment: Mapping[str, str] | None = None,
    output: IO[bytes] | None = None,
    niceness: Mapping[str, int] = NICENESS,
) -> Iterator[Service]:
    """A service with these processes; all that it and its servers write is in ``folder``.

    ``api_processes`` : so many of the API, on one port.
    """
    folder.mkdir(exist_ok=True)
    with ExitStack() as stack:
        postgres = stack.enter_context(EmbeddedPostgres(folder / "postgres", tcp=True))
        valkey = stack.enter_context(EmbeddedValkey(folder / "valkey"))
        database_url = prepare_database(postgres.url())
        settings = Settings(host=host, data_folder=folder, port=free_port(), api_workers=api_processes)
        whole = Service(postgres, valkey, database_url, settings, stack, environment or {}, niceness, output)
        whole.start(*parts)
        whole.await_ready()
        yield whole
