"""Tell whether other work on this machine disturbed what was measured on a testbed, in one block or several."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import psutil

from benchmarks.support.processes import ProcessorShare, ProcessorWatch
from benchmarks.testbed.path_spec import PathCounters
from benchmarks.testbed.soundness import find_disturbance
from benchmarks.testbed.testbed import Testbed


class DisturbanceWatch:
    """Watches path and processors while something is measured, and at no other time.

    ``prioritised`` : whether the measured programs run before whatever else the machine does.
    """

    def __init__(self, bed: Testbed, *, prioritised: bool) -> None:
        self._bed, self._prioritised = bed, prioritised and bed.link.is_real_time
        self._carried: PathCounters | None = None
        self._shares: list[tuple[float, ProcessorShare]] = []

    @contextmanager
    def watch_block(self) -> Iterator[None]:
        """Watch during this block too; a block that fails is not counted."""
        shared, started_s = ProcessorWatch(psutil.Process()), time.monotonic()
        before = self._bed.read_counters()
        yield
        lasted_s = time.monotonic() - started_s
        now = self._bed.read_counters()
        # Shift the earlier counters to the start of this block, so that the pause between the blocks drops out.
        self._carried = now.subtract(before if self._carried is None else before.subtract(self._carried))
        self._shares.append((lasted_s, shared.measure_share()))

    @property
    def disturbance(self) -> str | None:
        """Why the measurement does not count; ``None`` where the machine was good enough, or nothing was measured."""
        if self._carried is None:
            return None
        share = _compute_weighted_mean(self._shares)
        return find_disturbance(self._carried, share, rtt_s=self._bed.path.rtt_s, prioritised=self._prioritised)


@contextmanager
def watch_disturbance(bed: Testbed, *, prioritised: bool) -> Iterator[DisturbanceWatch]:
    """Watch all of a block."""
    watch = DisturbanceWatch(bed, prioritised=prioritised)
    with watch.watch_block():
        yield watch


def _compute_weighted_mean(shares: Sequence[tuple[float, ProcessorShare]]) -> ProcessorShare:
    """Return the mean of several shares, weighted by how long each lasted."""
    total_s = sum(lasted_s for lasted_s, _ in shares)

    def compute_mean(name: str) -> float:
        return sum(lasted_s * float(getattr(share, name)) for lasted_s, share in shares) / total_s

    return ProcessorShare(waited=compute_mean("waited"), others=compute_mean("others"), stolen=compute_mean("stolen"))
