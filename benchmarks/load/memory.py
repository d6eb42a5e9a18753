"""Measure the memory of a service's parts while it works: how much, and whether it grows."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import psutil
from scipy.stats import theilslopes

from benchmarks.support.background import repeat_until_stopped
from tradewind.units import KIB, MIB

LOOK_EVERY_S = 5.0
MINUTE_S = 60.0


class Look(NamedTuple):
    """Memory at a time, MiB by part."""

    at_s: float
    by_part: Mapping[str, float]


class Memory:
    """Measures the memory of processes again and again.

    What several processes share is counted once. The buffers that PostgreSQL's processes share are left out: they are
    taken at its start and filled by what is read, up to their fixed size.

    Parameters
    ----------
    parts : by name, the first process of each, as they are now; their descendants count with them.
    """

    def __init__(self, parts: Callable[[], Mapping[str, int]]) -> None:
        self._parts = parts
        self.looks: list[Look] = []

    def compute_growth(self, since_s: float) -> Mapping[str, float]:
        """Return MiB a minute by part: the slope of a straight line through the looks since a time."""
        return self._compute_slopes(since_s, compute_slope)

    def compute_steady_growth(self, since_s: float) -> Mapping[str, float]:
        """Return MiB a minute by part: the median of the slopes between any two looks since a time (Theil and Sen).

        Memory that is taken once, such as a new release's models, changes few of them unless it comes in the middle.
        """
        return self._compute_slopes(since_s, compute_median_slope)

    def _compute_slopes(
        self, since_s: float, of: Callable[[Sequence[tuple[float, float]]], float]
    ) -> Mapping[str, float]:
        later = [look for look in self.looks if look.at_s >= since_s]
        names = later[0].by_part if later else {}
        return {name: of([(look.at_s / MINUTE_S, look.by_part[name]) for look in later]) for name in names}

    def run(self, stopping: threading.Event) -> None:
        """Measure until the event is set."""
        for _ in repeat_until_stopped(stopping, LOOK_EVERY_S):
            with suppress(psutil.NoSuchProcess):
                found = {name: measure_family_mb(first) for name, first in self._parts().items()}
                self.looks.append(Look(time.monotonic(), found))


def measure_family_mb(first: int) -> float:
    """Return the MiB of a process and its descendants."""
    process = psutil.Process(first)
    return sum(map(_measure_own_mb, [first, *(each.pid for each in process.children(recursive=True))]))


def _measure_own_mb(process_id: int) -> float:
    with suppress(OSError):  # it has ended since it was listed
        lines = dict(_parse_smaps(Path(f"/proc/{process_id}/smaps_rollup").read_text(encoding="ascii")))
        return (lines["Pss"] - lines.get("Pss_Shmem", 0)) * KIB / MIB
    return 0.0


def _parse_smaps(text: str) -> Iterator[tuple[str, int]]:
    for line in text.splitlines()[1:]:
        name, _, rest = line.partition(":")
        yield name, int(rest.split()[0])


def compute_slope(points: Sequence[tuple[float, float]]) -> float:
    """Return the slope of the straight line of least squares through points; 0 through fewer than two."""
    if len(points) < 2:
        return 0.0
    middle_x, middle_y = (sum(values) / len(points) for values in zip(*points, strict=True))
    spread = sum((x - middle_x) ** 2 for x, _ in points)
    return sum((x - middle_x) * (y - middle_y) for x, y in points) / spread if spread else 0.0


def compute_median_slope(points: Sequence[tuple[float, float]]) -> float:
    """Return the median of the slopes between any two points; 0 through fewer than two."""
    if len(points) < 2:
        return 0.0
    x, y = zip(*points, strict=True)
    return float(theilslopes(y, x).slope)
