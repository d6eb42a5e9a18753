"""Run the service as `./run serve` does, on durable servers of its own; each part may be killed and come back."""

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

from benchmarks.demo.stack import find_free_port
from benchmarks.faults.waiting import wait_until
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
    """A running service; ``kill`` stops a part as ``kill -9`` does, ``bring_back`` starts it again on the same data.

    Attributes
    ----------
    environment : of its processes, in addition to the addresses of their servers.
    niceness : of its processes, by name.
    output : file of their output.
    instead : commands that replace those of the service, by name.
    """

    postgres: EmbeddedPostgres
    valkey: EmbeddedValkey
    database_url: str
    settings: Settings
    stack: ExitStack
    environment: Mapping[str, str] = field(default_factory=dict)
    niceness: Mapping[str, int] = field(default_factory=lambda: NICENESS)
    output: IO[bytes] | None = None
    replacements: Mapping[str, Sequence[str]] = field(default_factory=dict)
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def address(self) -> str:
        return f"http://{self.settings.host}:{self.settings.port}"

    def start(self, *names: str, **variables: str) -> None:
        """Start processes, with ``variables`` of their own."""
        commands = {**list_commands(self.settings), **self.replacements}
        urls = {"DATABASE_URL": self.database_url, "REDIS_URL": self.valkey.url()}
        environment = {**os.environ, **self.environment, **urls, **variables}
        started = run_processes(
            {name: commands[name] for name in names}, environment, output=self.output, niceness=self.niceness
        )
        self.processes |= self.stack.enter_context(started)

    def is_ready(self) -> bool:
        """Return whether the API answers and has its database and its store of sessions."""
        try:
            answer = httpx.get(f"{self.address}/readyz", timeout=ANSWER_PATIENCE_S)
            return bool(answer.json().get("status") == "ready")  # not ``degraded``
        except httpx.TransportError:
            return False

    def list_stopped(self) -> tuple[str, ...]:
        """Return the parts that have stopped, for whatever reason."""
        servers: tuple[tuple[str, EmbeddedPostgres | EmbeddedValkey], ...] = (
            (POSTGRES, self.postgres),
            (VALKEY, self.valkey),
        )
        processes = [name for name, process in self.processes.items() if process.poll() is not None]
        return (*(name for name, server in servers if not server.is_running()), *processes)

    def kill(self, name: str) -> None:
        """Kill a process with its children, or a server with all its processes, at once."""
        match name:
            case "postgres":
                postmaster = psutil.Process(self.postgres.process_id)
                _kill_all([postmaster, *postmaster.children(recursive=True)])
            case "valkey":
                keeper = psutil.Process(int((self.valkey.folder / "keeper.lock").read_text()))
                _kill_all(keeper.children())
            case _:
                os.killpg(self.processes[name].pid, signal.SIGKILL)
                self.processes.pop(name).wait()

    def kill_one_answering(self, draw: random.Random) -> None:
        """Kill one of the API's processes, which its parent starts again."""
        _kill_all([draw.choice(self._list_answering())])

    def restart(self, name: str, **variables: str) -> None:
        """Stop a part and start it with ``variables``; the API as an upgrade does, once the new one answers."""
        if name != API:
            self.kill(name)
            self.bring_back(name, **variables)
            return
        before = self.processes.pop(API)
        self.start(API, **variables)
        wait_until(lambda: len(self._list_answering()) == self.settings.api_workers, "the new API to listen")
        os.killpg(before.pid, signal.SIGKILL)
        before.wait()

    def _list_answering(self) -> list[psutil.Process]:
        """Return the processes of the API that listen."""
        made = psutil.Process(self.processes[API].pid).children()
        return [each for each in made if _is_listening(each)]

    def wait_until_ready(self) -> None:
        """Return when the API answers and has all that it needs."""
        wait_until(self.is_ready, "the API to be ready")

    def lose(self, name: str) -> None:
        """Remove what a killed Valkey has on disk."""
        assert name == VALKEY
        shutil.rmtree(self.valkey.folder / "data")

    def bring_back(self, name: str, **variables: str) -> None:
        """Start a part again; a part that answers does so when this returns."""
        match name:
            case "postgres":
                wait_until(lambda: _has_revived(self.postgres), "PostgreSQL to come back")
            case "valkey":
                wait_until(lambda: _has_revived(self.valkey), "Valkey to come back")
            case "api":
                self.start(name, **variables)
                self.wait_until_ready()
            case _:
                self.start(name, **variables)


def _has_revived(server: EmbeddedPostgres | EmbeddedValkey) -> bool:
    """Return whether the server had stopped and runs again; a failed start is repeated, as a supervisor would."""
    try:
        return server.revive()
    except CannotStart:
        return False


def _is_listening(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return any(each.status == psutil.CONN_LISTEN for each in process.net_connections("tcp"))
    return False


def _kill_all(processes: Sequence[psutil.Process]) -> None:
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
    """Run a service with these processes; all that it and its servers write is in ``folder``.

    ``api_processes`` : number of the API's processes, on one port.
    """
    folder.mkdir(exist_ok=True)
    with ExitStack() as stack:
        postgres = stack.enter_context(EmbeddedPostgres(folder / "postgres", tcp=True))
        valkey = stack.enter_context(EmbeddedValkey(folder / "valkey"))
        database_url = prepare_database(postgres.url())
        settings = Settings(host=host, data_folder=folder, port=find_free_port(), api_workers=api_processes)
        service = Service(postgres, valkey, database_url, settings, stack, environment or {}, niceness, output)
        service.start(*parts)
        service.wait_until_ready()
        yield service
