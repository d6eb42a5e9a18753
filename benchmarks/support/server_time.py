"""Processor time of the service for a request: of the API's process and of the database's backends that serve it.

It tells what a request costs whatever else the machine does, beside the time that passes, which grows with that.
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
class Took:
    """s that passed, and s of processors."""

    wall_s: float
    cpu_s: float


@dataclass(frozen=True, slots=True)
class Service:
    """The API's process, and the server of its database."""

    api_id: int
    database_id: int

    def timed(self, work: Callable[[], object]) -> Took:
        """What the work took of the service, of which nobody else asks anything meanwhile."""
        before, began = self._ran_ns(), perf_counter()
        work()
        wall_s = perf_counter() - began
        after = self._ran_ns()
        return Took(wall_s, sum(ran - before.get(thread, 0) for thread, ran in after.items()) / NS_A_SECOND)

    def _ran_ns(self) -> dict[int, int]:
        """Of each thread: how long it ran."""
        return {
            int(schedule.parent.name): int(schedule.read_text(encoding="ascii").split()[0])
            for process_id in (self.api_id, *self._backends())
            for schedule in Path(f"/proc/{process_id}/task").glob("*/schedstat")
        }

    def _backends(self) -> Iterator[int]:
        """Of the application alone: those that vacuum, write and checkpoint go on with what was before."""
        for each in psutil.Process(self.database_id).children():
            with suppress(psutil.NoSuchProcess):  # it ended since it was listed
                if f": {APP} " in " ".join(each.cmdline()):
                    yield each.pid
