"""Rows of a CSV log that sum up those before them without saying so in their first cell."""

import re
from collections.abc import Sequence

from tradewind.errors import InvalidValue
from tradewind_agent.history.importers.csv_logs.clock.times import TimeColumns
from tradewind_agent.history.importers.csv_logs.rows import SUMS, SURE_SUMS

_TOTAL = re.compile(rf"{SUMS}|overall|all|[Σ∑]", re.IGNORECASE)
_SURE_TOTAL = re.compile(SURE_SUMS, re.IGNORECASE)
_LEAST_ROWS = 2
_ROUNDED = 1e-3
"""Share by which a sum may differ from what it sums up, as rows are rounded."""


class RunningSums:
    """Sums of bytes and durations over the rows so far, which rows without a title may hold, too."""

    def __init__(self, times: TimeColumns) -> None:
        self._times = times
        self._read = frozenset(times.columns.place.values())
        self._rows, self._bytes, self._duration_s = 0, 0, 0.0
        self._filled: set[int] | None = None

    def require_own(self, row: Sequence[str], total_bytes: int, duration_s: float, *, is_last: bool) -> None:
        """Refuse a row that is the sum of those before, and says so or lacks what they have.

        Parameters
        ----------
        is_last : no row follows; before others, a row that says nothing of a sum may be twice as large by chance.

        Raises
        ------
        InvalidValue : says so.
        """
        filled = {place for place, text in enumerate(row) if text.strip()}
        if self._rows >= _LEAST_ROWS and _is_near(total_bytes, self._bytes):
            has_start = bool(self._times.read_text(list(row)))
            if has_start and self._says(row, _SURE_TOTAL):  # from the first start to the last end
                raise InvalidValue("row", "is the sum of the rows before it; leave it out")
            is_sum = not has_start and _is_near(duration_s, self._duration_s)
            lacks_cell = self._filled is not None and bool(self._filled - filled)
            may_be_sum = is_last and (lacks_cell or self._says(row, _TOTAL))
            if is_sum and (may_be_sum or self._says(row, _SURE_TOTAL)):
                raise InvalidValue(
                    "row", "is the sum of the rows before it; leave it out, or give it a start if it is none"
                )
        self._filled = filled if self._filled is None else self._filled & filled
        self._rows, self._bytes, self._duration_s = (
            self._rows + 1,
            self._bytes + total_bytes,
            self._duration_s + duration_s,
        )

    def _says(self, row: Sequence[str], word: re.Pattern[str]) -> bool:
        """Return whether a cell that is not read is a word of sums."""
        return any(
            word.fullmatch(text.strip(" :.\"'")) is not None
            for place, text in enumerate(row)
            if place not in self._read
        )


def _is_near(value: float, total: float) -> bool:
    return abs(value - total) <= _ROUNDED * total
