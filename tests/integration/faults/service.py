"""The service as `./run serve` runs it, on durable servers of its own; each part may be killed and come back."""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psutil

from services.embedded.postgres import EmbeddedPostgres
from services.embedded.valkey import EmbeddedValkey
from services.persistence.store import prepare_database
from services.serve import commands, running
from services.settings import Settings
from tests.conditions import eventually
from tests.ports import free_port

END_PATIENCE_S = 30.0


@dataclass
class Service:
    """A running service; ``kill`` ends a part as ``kill -9`` does, ``bring_back`` starts it again on the same data."""

    postgres: EmbeddedPostgres
    valkey: EmbeddedValkey
    database_url: str
    settings: Settings
    stack: ExitStack
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.settings.port}"

    def start(self, *names: str) -> None:
        """Start processes by their names in ``services.serve``."""
        every = commands(self.settings)
        environment = os.environ | {"DATABASE_URL": self.database_url, "REDIS_URL": self.valkey.url()}
        self.processes |= self.stack.enter_context(running({name: every[name] for name in names}, environment))

    def is_ready(self) -> bool:
        """Whether the API answers and has its database."""
        try:
            return httpx.get(f"{self.address}/readyz").status_code == httpx.codes.OK
        except httpx.TransportError:
            return False

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

    def lose(self, name: str) -> None:
        """Remove what a killed Valkey has on disk."""
        assert name == "valkey"
        shutil.rmtree(self.valkey.folder / "data")

    def bring_back(self, name: str) -> None:
        """Start a part again; return when it answers."""
        match name:
            case "postgres":
                eventually(self.postgres.revive)
            case "valkey":
                eventually(self.valkey.revive)
            case "api":
                self.start(name)
                eventually(self.is_ready)
            case _:
                self.start(name)


def _kill(processes: Sequence[psutil.Process]) -> None:
    for process in processes:
        process.kill()
    psutil.wait_procs(processes, timeout=END_PATIENCE_S)


@contextmanager
def service(folder: Path) -> Iterator[Service]:
    """A service with everything that heartbeats pass through; ``folder`` is for what its processes write."""
    with ExitStack() as stack:
        postgres = stack.enter_context(EmbeddedPostgres.temporary())
        valkey = stack.enter_context(EmbeddedValkey.temporary())
        database_url = prepare_database(postgres.url())
        settings = Settings(data_folder=folder, port=free_port())
        whole = Service(postgres, valkey, database_url, settings, stack)
        whole.start("api", "journal", "schedule")
        eventually(whole.is_ready)
        yield whole
