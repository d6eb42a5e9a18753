"""Whether other work of this machine spoiled what was measured on a testbed during a block, or during several."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import psutil

from benchmarks.support.processes import Share, Shared
from benchmarks.testbed.path_spec import PathCounters
from benchmarks.testbed.soundness import complaint
from benchmarks.testbed.testbed import Testbed


class Watched:
    """Judges the machine by what path and processors saw of it while something was measured, and at no other time.

    ``ahead`` : of whatever else the machine does.
    """

    def __init__(self, bed: Testbed, *, ahead: bool) -> None:
        self._bed, self._ahead = bed, ahead and bed.link.is_ahead
        self._carried: PathCounters | None = None
        self._shares: list[tuple[float, Share]] = []

    @contextmanager
    def measuring(self) -> Iterator[None]:
        """Of this block it is told, too; of one that fails nothing is."""
        shared, began_s = Shared(psutil.Process()), time.monotonic()
        before = self._bed.counters()
        yield
        lasted_s = time.monotonic() - began_s
        now = self._bed.counters()
        # What was carried before counts as if it had been carried since: the pause between falls out.
        self._carried = now.since(before if self._carried is None else before.since(self._carried))
        self._shares.append((lasted_s, shared.until_now()))

    @property
    def wrong(self) -> str | None:
        """What was wrong with the machine; ``None`` where it was good enough, or nothing was measured."""
        if self._carried is None:
            return None
        share = _together(self._shares)
        return complaint(self._carried, share, rtt_s=self._bed.path.rtt_s, ahead=self._ahead)


@contextmanager
def watched(bed: Testbed, *, ahead: bool) -> Iterator[Watched]:
    """All of a block."""
    told = Watched(bed, ahead=ahead)
    with told.measuring():
        yield told


def _together(shares: Sequence[tuple[float, Share]]) -> Share:
    """Shares of several times, each by how long it was."""
    whole_s = sum(lasted_s for lasted_s, _ in shares)

    def mean(name: str) -> float:
        return sum(lasted_s * float(getattr(share, name)) for lasted_s, share in shares) / whole_s

    return Share(waited=mean("waited"), others=mean("others"), stolen=mean("stolen"))
