"""Whether the last line of a log, if it has no line end, is complete: a cut number is another number.

A line of JSON is complete if it can be parsed. Of text a format says how its lines end. Of a CSV row the other rows
show how its last cell ends; where they do not, the row is refused: many programs write no last line end, and many logs
are cut off.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from tradewind.errors import InvalidValue
from tradewind_agent.history.importers.reading.lines import Line
from tradewind_agent.history.importers.reading.quoted import is_object
from tradewind_agent.history.importers.servers.dcache import LINE as BILLING
from tradewind_agent.history.importers.servers.gridftp import USUAL, restore_keys
from tradewind_agent.history.importers.servers.vsftpd import LINE as VSFTPD
from tradewind_agent.history.importers.servers.xferlog import LINE as XFERLOG
from tradewind_agent.history.importers.servers.xferlog import STATS as PURE_FTPD

_ADVICE = "end the file with a line break if it is complete"

_MOST_TEXTS = 1000
"""Different cells of the last column that are remembered."""

_FRACTION = re.compile(r"-?[\d.,' ]*\d?[.,](\d+)$")
_UNIT = re.compile(r"[\d.,:' ]*\d\s*([A-Za-zµ/]+)")
_ENDS_IN_LETTER = re.compile(r"[^\W\d_]$")
_CLOCK = re.compile(r".*\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?$")
_TIMES = frozenset({"start", "end", "stated_end", "date", "end_date", "time"})
_CHECKED = frozenset({"throughput", "duration", "file_size", "total_size", "moved_size"})
"""Quantities that a row has twice where throughput · duration is its size."""


def _ends_a_run(text: str) -> bool:
    return re.fullmatch(r"\s*Elapsed time:\s+\S*\d(?:s|ms|µs)", text) is not None


_COMPLETE: Mapping[str, Callable[[str], bool]] = MappingProxyType(
    {
        "gridftp": lambda text: (plain := restore_keys(text))[-9:-3] == " CODE=" and USUAL.fullmatch(plain) is not None,
        "xferlog": lambda text: (
            PURE_FTPD.fullmatch(text) is not None
            or ((found := XFERLOG.fullmatch(text.strip())) is not None and found["end"] is not None)
        ),
        "vsftpd": lambda text: VSFTPD.fullmatch(text.strip()) is not None,
        "dcache": lambda text: (found := BILLING.fullmatch(text)) is not None and found["rest"].rstrip().endswith('"}'),
        "rclone": _ends_a_run,
        "aria2": lambda text: re.fullmatch(r"\w+\|\w+ *\|[^|]*\|.+", text) is not None,
        "htcondor": lambda text: re.fullmatch(r"\*\*\*.*|.*=\s*(?:\"[^\"]*\"|true|false)\s*;?|\s*\]", text) is not None,
    }
)
"""Of formats whose lines can be read without their ends: which lines are complete nevertheless."""


def make_judge(format_name: str) -> Callable[[Line], Line]:
    """Return what gives a last line without a line end a fault, if it may be cut off."""
    is_complete = _COMPLETE.get(format_name)

    def judge(line: Line) -> Line:
        if is_complete is None or line.fault is not None or not line.text:
            return line
        if is_complete(line.text) or is_object(line.text):
            return line
        return line._replace(fault=InvalidValue("row", f"has no line end and may be cut off; {_ADVICE}"))

    return judge


@dataclass(slots=True)
class LastColumn:
    """How the cells of the last column of a CSV log end, by which its last row is judged.

    ``quantity`` : what the column holds, ``None`` if that is not read.
    """

    title: str
    place: int
    quantity: str | None
    texts: set[str] = field(default_factory=set)

    def note(self, row: list[str]) -> None:
        """Look at a row that has a line end."""
        if len(self.texts) < _MOST_TEXTS:
            self.texts.add(row[self.place].strip())

    def require_complete(self, text: str, cells: list[str], *, is_checked: bool) -> None:
        """Refuse a row without a line end whose last cell may be cut off.

        Parameters
        ----------
        cells : of the row as it is written.
        is_checked : throughput · duration is the size in the rows of this file.

        Raises
        ------
        InvalidValue : nothing shows that the cell is complete.
        """
        if text.endswith('"') and len(cells) > self.place:
            return
        if len(cells) > self.place + 1 or self.quantity is None or (is_checked and self.quantity in _CHECKED):
            return
        cell = cells[self.place].strip() if len(cells) > self.place else ""
        if not self._is_complete(cell, cells):
            raise InvalidValue(self.title, f"may be cut off, for the row has no line end: {cell[:40]!r}; {_ADVICE}")

    def _is_complete(self, cell: str, cells: list[str]) -> bool:
        others = self.texts - {""}
        if self.quantity in _TIMES:
            others = others or {each.strip() for each in cells[: self.place] if _CLOCK.fullmatch(each.strip())}
            return bool(cell and others) and {len(each) for each in others} == {len(cell)}
        return bool(cell and others) and self._ends_like(cell, others)

    def _ends_like(self, cell: str, others: set[str]) -> bool:
        """Return whether a cell ends as all others do, in a way that none of its beginnings does."""
        if (fraction := _FRACTION.fullmatch(cell)) is not None:
            return {_count_decimals(each) for each in others} == {len(fraction[1])}
        if (unit := _UNIT.fullmatch(cell)) is not None:
            return {found and found[1] for found in map(_UNIT.fullmatch, others)} == {unit[1]}
        if self.quantity == "duration" and _CLOCK.fullmatch(cell) is not None:
            return all(_CLOCK.fullmatch(each) is not None and _count_decimals(each) is None for each in others)
        is_word = _ENDS_IN_LETTER.search(cell) is not None and cell in others
        return is_word and not any(each != cell and each.startswith(cell) for each in others)


def _count_decimals(text: str) -> int | None:
    found = _FRACTION.fullmatch(text)
    return None if found is None else len(found[1])
