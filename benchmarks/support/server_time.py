"""Measure the service's processor time for a request: of the API's process and of its database backends.

Unlike the wall time, it does not depend on what else the machine does.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import psutil

from services.persistence.roles import APP

NS_A_SECOND = 1e9


@dataclass(frozen=True, slots=True)
class ServerTime:
    """Wall time and processor time, s."""

    wall_s: float
    cpu_s: float


@dataclass(frozen=True, slots=True)
class ServiceProcesses:
    """The API's process, and the server of its database."""

    api_id: int
    database_id: int

    def measure(self, work: Callable[[], object]) -> ServerTime:
        """Return what ``work`` took of the service; nobody else may use the service meanwhile."""
        before, started = self._read_ran_ns(), perf_counter()
        work()
        wall_s = perf_counter() - started
        after = self._read_ran_ns()
        return ServerTime(wall_s, sum(ran - before.get(thread, 0) for thread, ran in after.items()) / NS_A_SECOND)

    def _read_ran_ns(self) -> dict[int, int]:
        """Return how long each thread ran, ns."""
        return {
            int(schedule.parent.name): int(schedule.read_text(encoding="ascii").split()[0])
            for process_id in (self.api_id, *self._list_backends())
            for schedule in Path(f"/proc/{process_id}/task").glob("*/schedstat")
        }

    def _list_backends(self) -> Iterator[int]:
        """Yield the application's backends only: vacuum, writer and checkpointer also work off earlier requests."""
        for backend in psutil.Process(self.database_id).children():
            with suppress(psutil.NoSuchProcess):  # it ended since it was listed
                if f": {APP} " in " ".join(backend.cmdline()):
                    yield backend.pid
