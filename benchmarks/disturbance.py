"""Whether other work of this machine spoiled what was measured on a testbed during a block."""

from collections.abc import Iterator
from contextlib import contextmanager

import psutil

from benchmarks.processes import Shared
from benchmarks.testbed.soundness import complaint
from benchmarks.testbed.testbed import Testbed


class Watched:
    """``wrong`` : with the machine during the block, known after it; ``None`` where it was good enough."""

    def __init__(self) -> None:
        self.wrong: str | None = None


@contextmanager
def watched(bed: Testbed, *, ahead: bool) -> Iterator[Watched]:
    """Judge the machine by what the path and the processors saw of it; ``ahead`` : of whatever else it does."""
    told, before, shared = Watched(), bed.counters(), Shared(psutil.Process())
    yield told
    told.wrong = complaint(
        bed.counters().since(before), shared.until_now(), rtt_s=bed.path.rtt_s, ahead=ahead and bed.link.is_ahead
    )
