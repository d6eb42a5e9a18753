"""Changes of a path at given times, made while transfers run."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from benchmarks.testbed.path_spec import PathSpec


@dataclass(frozen=True, slots=True)
class Step:
    """From ``at_s`` after the schedule's start on, the path is ``path``."""

    at_s: float
    path: PathSpec


class Schedule:
    """A running schedule; ``made`` lists the steps made so far with the time of each since the start."""

    def __init__(self, change: Callable[[PathSpec], None], steps: Sequence[Step]) -> None:
        self.made: list[tuple[float, Step]] = []
        self._change = change
        self._steps = sorted(steps, key=lambda step: step.at_s)
        self._stopped = threading.Event()
        self._failure: BaseException | None = None
        self._started_s = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="testbed-schedule")

    def start(self) -> None:
        self._started_s = time.monotonic()
        self._thread.start()

    def stop(self) -> None:
        """Stop making steps.

        Raises
        ------
        EmulationBroke : a step could not be made.
        """
        self._stopped.set()
        self._thread.join()
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        try:
            for step in self._steps:
                if self._stopped.wait(max(self._started_s + step.at_s - time.monotonic(), 0.0)):
                    return
                self._change(step.path)
                self.made.append((time.monotonic() - self._started_s, step))
        except BaseException as failure:  # noqa: BLE001 -- handed to the thread that waits for it
            self._failure = failure


@contextmanager
def run_schedule(change: Callable[[PathSpec], None], steps: Sequence[Step]) -> Iterator[Schedule]:
    """Make the steps in the background of the block, such as with `Testbed.change`."""
    schedule = Schedule(change, steps)
    schedule.start()
    try:
        yield schedule
    finally:
        schedule.stop()
