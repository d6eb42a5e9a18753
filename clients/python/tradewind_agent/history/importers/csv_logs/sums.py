"""Rows of a CSV log that sum up those before them without saying so in their first cell."""

import re
from collections.abc import Sequence

from tradewind.errors import InvalidValue
from tradewind_agent.history.importers.csv_logs.times import TimeColumns

_TOTAL = re.compile(r"(?:grand |sub-?)?totals?|sums?|overall|all|summe|gesamt|somme|totale|suma|[Σ∑]", re.IGNORECASE)
_LEAST_ROWS = 2
_ROUNDED = 1e-3
"""Share by which a sum may differ from what it sums up, as rows are rounded."""


class RunningSums:
    """Sums of bytes and durations over the rows so far; a row that holds both, and no start, is no transfer."""

    def __init__(self, times: TimeColumns) -> None:
        self._times = times
        self._read = frozenset(times.columns.place.values())
        self._rows, self._bytes, self._duration_s = 0, 0, 0.0
        self._filled: set[int] | None = None

    def require_own(self, row: Sequence[str], total_bytes: int, duration_s: float) -> None:
        """Refuse a row that is the sum of those before, where it lacks what they have, or says that it is one.

        Raises
        ------
        InvalidValue : says so.
        """
        filled = {place for place, text in enumerate(row) if text.strip()}
        is_sum = (
            self._rows >= _LEAST_ROWS and _is_near(total_bytes, self._bytes) and _is_near(duration_s, self._duration_s)
        )
        if is_sum and not self._times.read_text(list(row)) and self._differs(row, filled):
            raise InvalidValue(
                "row", "is the sum of the rows before it; leave it out, or give it a start if it is none"
            )
        self._filled = filled if self._filled is None else self._filled & filled
        self._rows, self._bytes, self._duration_s = (
            self._rows + 1,
            self._bytes + total_bytes,
            self._duration_s + duration_s,
        )

    def _differs(self, row: Sequence[str], filled: set[int]) -> bool:
        """Return whether a row lacks a cell that all rows before it have, or one that is not read says total."""
        if self._filled is not None and self._filled - filled:
            return True
        return any(
            _TOTAL.fullmatch(text.strip(" :.\"'")) is not None
            for place, text in enumerate(row)
            if place not in self._read
        )


def _is_near(value: float, total: float) -> bool:
    return abs(value - total) <= _ROUNDED * total
