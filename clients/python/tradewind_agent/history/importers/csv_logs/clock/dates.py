"""In which order a CSV log writes day, month and year: decided by dates that exist in one order alone, never by habit.

``03/01/2026`` may be in March or in January, ``14/03/16`` in 2014 or in 2016. All rows of a log are looked at, not
samples of them: a single day above 12 settles it.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from functools import lru_cache
from itertools import combinations
from types import MappingProxyType

from tradewind.errors import InvalidValue
from tradewind_agent.history.importers.csv_logs.columns import Columns
from tradewind_agent.history.importers.instants import FIRST_OF_CENTURY, spell_out, write_plainly
from tradewind_agent.history.importers.ports import DateOrder, ImportReport

NUMERIC_DATE = re.compile(r"(\d{1,4})[-/.](\d{1,2})[-/.](\d{1,4})(?!\d)")

_PLACES: Mapping[DateOrder, tuple[int, int, int]] = MappingProxyType(
    {DateOrder.YMD: (0, 1, 2), DateOrder.MDY: (2, 0, 1), DateOrder.DMY: (2, 1, 0)}
)
"""Where year, month and day stand."""

_WORDS: Mapping[DateOrder, str] = MappingProxyType(
    {DateOrder.YMD: "year, month and day", DateOrder.MDY: "month, day and year", DateOrder.DMY: "day, month and year"}
)
_SLACK_DAYS = 2
"""Lines are written when transfers end, so that starts may go back a little in a log that is in order."""

_LEAST_DATES = 4
"""Different dates in a row, at least, whose order may decide."""

_REMEMBERED = 4096


def find_date(text: str) -> re.Match[str] | None:
    """Return the date in numbers that a text begins with, brackets aside; ``None`` for other notations."""
    return NUMERIC_DATE.match(text) or NUMERIC_DATE.match(spell_out(write_plainly(text)))


def read_date(found: re.Match[str], order: DateOrder) -> date | None:
    """Return a date in an order, ``None`` if it does not exist so; a year of four digits is one wherever it stands."""
    return _read_date(found[1], found[2], found[3], order)


@lru_cache(_REMEMBERED)
def _read_date(first: str, second: str, third: str, order: DateOrder) -> date | None:
    parts = first, second, third
    if len(first) > 2:
        order = DateOrder.YMD
    elif order is DateOrder.YMD and (len(third) > 2 or len(first) < 2):
        return None
    year, month, day = (parts[place] for place in _PLACES[order])
    if len(day) > 2:
        return None
    full_year = int(year)
    if len(year) <= 2:
        full_year += 1900 if full_year >= FIRST_OF_CENTURY else 2000
    try:
        return date(full_year, int(month), int(day))
    except ValueError:
        return None


@dataclass(slots=True)
class _Course:
    """Whether the dates of a log go forward, back, or both, in one order."""

    lowest: date = date.max
    highest: date = date.min
    rises: bool = False
    falls: bool = False

    def note(self, day: date) -> None:
        slack = timedelta(days=_SLACK_DAYS)
        self.rises = self.rises or (self.lowest != date.max and day - self.lowest > slack)
        self.falls = self.falls or (self.highest != date.min and self.highest - day > slack)
        self.lowest, self.highest = min(self.lowest, day), max(self.highest, day)


@dataclass(slots=True)
class DateEvidence:
    """What all dates of a log say of their order.

    Parameters
    ----------
    starts, others : columns of the starts, the first that has a date counts for the order of rows, and of other times.
    written_at : when the log was last written to; no transfer is of a later year.
    """

    starts: tuple[int, ...]
    others: tuple[int, ...]
    written_at: datetime | None = None
    possible: set[DateOrder] = field(default_factory=lambda: set(DateOrder))
    examples: dict[DateOrder, str] = field(default_factory=dict)
    differing: dict[tuple[DateOrder, DateOrder], str] = field(default_factory=dict)
    has_dots: bool = True
    courses: dict[DateOrder, _Course] = field(default_factory=lambda: {order: _Course() for order in DateOrder})
    dates: int = 0
    last_text: str = ""
    text_rises: bool = False
    text_falls: bool = False

    @classmethod
    def of_columns(cls, columns: Columns, written_at: datetime | None) -> "DateEvidence":
        """Return the empty evidence of a log with these columns."""

        def list_places(*quantities: str) -> tuple[int, ...]:
            return tuple(columns.place[each] for each in quantities if each in columns.place)

        others = list_places("end", "stated_end", "end_date", "duration")
        return cls(list_places("start", "date"), others, written_at)

    def note(self, row: list[str]) -> None:
        """Look at the dates of a row."""
        is_first = True
        for place in self.starts:
            is_first = not self._note_date(row[place], in_course=is_first) and is_first
        for place in self.others:
            self._note_date(row[place], in_course=False)

    def _note_date(self, cell: str, *, in_course: bool) -> bool:
        text = cell.strip()
        if text[4:5] == "-" or text.isalnum():  # mostly: the year first, or no date
            return False
        found = find_date(text)
        if found is None or len(found[1]) > 2:
            return False
        days = self._drop_later({each: day for each in DateOrder if (day := read_date(found, each)) is not None})
        if days:  # one that exists in no order is damaged
            self._compare(found[0], days)
            if in_course:
                self._follow(found[0], days)
        return bool(days)

    def _drop_later(self, days: dict[DateOrder, date]) -> dict[DateOrder, date]:
        """Return the readings of a date that are not of a later year than the log, all if they all are."""
        if self.written_at is None:
            return days
        latest = self.written_at.year
        return {order: day for order, day in days.items() if day.year <= latest} or days

    def _compare(self, text: str, days: Mapping[DateOrder, date]) -> None:
        self.has_dots = self.has_dots and "." in text
        for order in DateOrder:
            if order not in days:
                self.possible.discard(order)
                self.examples.setdefault(order, text)
        for one, other in combinations(days, 2):
            if days[one] != days[other]:
                self.differing.setdefault((one, other), text)

    def _follow(self, text: str, days: Mapping[DateOrder, date]) -> None:
        if text == self.last_text:
            return
        self.dates += 1
        if self.last_text:
            self.text_rises, self.text_falls = (
                self.text_rises or text > self.last_text,
                self.text_falls or text < self.last_text,
            )
        self.last_text = text
        for order, day in days.items():
            self.courses[order].note(day)

    def decide(self, title: str, report: ImportReport) -> DateOrder:
        """Return the order of the dates.

        Raises
        ------
        InvalidValue : they may be read in several orders, or fit none; names the option that settles it.
        """
        if not self.possible:
            seen = " and ".join(dict.fromkeys(self.examples.values()))
            raise InvalidValue(
                title, f"has dates in several orders, {seen}; {_name_options(DateOrder)} says which counts"
            )
        left = [order for order in DateOrder if order in self.possible]
        if self.has_dots and DateOrder.DMY in left and DateOrder.MDY in left:
            left.remove(DateOrder.MDY)
            if (DateOrder.MDY, DateOrder.DMY) in self.differing or (DateOrder.DMY, DateOrder.MDY) in self.differing:
                report.assume("dates with dots are day.month.year; --date-order names another order")
        unlike = {pair: text for pair, text in self.differing.items() if pair[0] in left and pair[1] in left}
        if not unlike:
            return left[0]
        if (settled := self._find_only_course(left)) is not None:
            report.assume(f"dates are {_WORDS[settled]}: only so are the rows in the order of time")
            return settled
        orders = list(dict.fromkeys(order for pair in unlike for order in pair))
        meanings = " or ".join(_WORDS[order] for order in orders)
        example = next(iter(unlike.values()))
        raise InvalidValue(title, f"has dates such as {example}, which may be {meanings}; give {_name_options(orders)}")

    def _find_only_course(self, orders: list[DateOrder]) -> DateOrder | None:
        """Return the only order in which the rows follow each other in time.

        Rows that are sorted by the date as a text are so in one order whatever it means.
        """
        if self.dates < _LEAST_DATES or not (self.text_rises and self.text_falls):
            return None
        steady = [order for order in orders if not (self.courses[order].rises and self.courses[order].falls)]
        return steady[0] if len(steady) == 1 else None


def _name_options(orders: Iterable[DateOrder]) -> str:
    return " or ".join(f"--date-order {order}" for order in orders)
