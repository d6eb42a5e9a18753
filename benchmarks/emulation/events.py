"""Run events in the order of model time."""

import heapq
import itertools
from collections.abc import Callable

Action = Callable[[float], None]


class EventQueue:
    """Actions to run at their time; each gets the time that it belongs to, not the time at which it runs."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Action]] = []
        self._order = itertools.count()

    @property
    def next_s(self) -> float | None:
        return self._heap[0][0] if self._heap else None

    def schedule(self, time_s: float, action: Action) -> None:
        heapq.heappush(self._heap, (time_s, next(self._order), action))

    def run_until(self, now_s: float) -> None:
        """Run all actions that are due up to ``now_s``, and those that they add."""
        while self._heap and self._heap[0][0] <= now_s:
            time_s, _, action = heapq.heappop(self._heap)
            action(time_s)
