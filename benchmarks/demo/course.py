"""Record how a copy went: the bytes it had moved at each moment, comparable between processes."""

import json
import time
from bisect import bisect_right
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tradewind.units import compute_throughput_bps


@dataclass(frozen=True, slots=True)
class Progress:
    """Bytes moved at a moment of the monotonic clock, which all processes of a machine share."""

    at_s: float
    moved_bytes: int

    def to_line(self) -> str:
        return json.dumps([self.at_s, self.moved_bytes]) + "\n"


class Course:
    """The bytes that a copy had moved, in order of time."""

    def __init__(self, points: Sequence[Progress] = ()) -> None:
        self._points = list(points)

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read what another process wrote by `Progress.to_line`; skip a line that it was stopped in."""
        points = []
        for line in path.read_text().splitlines():
            with suppress(ValueError, TypeError):
                points.append(Progress(*json.loads(line)))
        return cls(points)

    def record(self, moved_bytes: int) -> Progress:
        """Record and return what has been moved until now."""
        point = Progress(time.monotonic(), moved_bytes)
        self._points.append(point)
        return point

    def interpolate_moved_bytes(self, at_s: float) -> int:
        """Return the bytes moved until then; between two records they grow evenly, which may be seconds apart on a busy
        machine.
        """
        after = bisect_right(self._points, at_s, key=lambda each: each.at_s)
        if after == 0:
            return 0
        before = self._points[after - 1]
        if after == len(self._points):
            return before.moved_bytes
        later = self._points[after]
        share = (at_s - before.at_s) / (later.at_s - before.at_s)
        return before.moved_bytes + round(share * (later.moved_bytes - before.moved_bytes))

    def compute_mean_bps(self, since_s: float, until_s: float) -> float:
        """Return the mean rate between two moments, bit/s; 0 where there is no time between them."""
        if until_s <= since_s:
            return 0.0
        return compute_throughput_bps(
            self.interpolate_moved_bytes(until_s) - self.interpolate_moved_bytes(since_s), until_s - since_s
        )
