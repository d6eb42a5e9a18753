"""Events in order of model time."""

import heapq
import itertools
from collections.abc import Callable

Action = Callable[[float], None]


class EventQueue:
    """Actions to be run at their time; each is given the time it belongs to, not the time it is run at."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Action]] = []
        self._order = itertools.count()

    @property
    def next_s(self) -> float | None:
        return self._heap[0][0] if self._heap else None

    def at(self, time_s: float, action: Action) -> None:
        heapq.heappush(self._heap, (time_s, next(self._order), action))

    def run_until(self, now_s: float) -> None:
        """Run all that is due, and what it brings about, up to ``now_s``."""
        while self._heap and self._heap[0][0] <= now_s:
            time_s, _, action = heapq.heappop(self._heap)
            action(time_s)
