"""Which column of a CSV log holds what, as its header says, and how the fields of its rows are split."""

import csv
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from tradewind.errors import InvalidValue
from tradewind.units import format_count
from tradewind_agent.history.importers.csv_logs.counts import counts_done_files
from tradewind_agent.history.importers.csv_logs.names import (
    DECLARED_UNITS,
    GENERIC,
    LOCAL,
    find_quantity,
    is_zone,
    to_plain,
)
from tradewind_agent.history.importers.csv_titles import find_verdict_quantity
from tradewind_agent.history.importers.fields import UNKNOWN_TEXTS

DELIMITERS = (",", ";", "\t", "|")

_ONE_WAY = frozenset({"bytessent", "bytesreceived", "sentbytes", "receivedbytes", "txbytes", "rxbytes"})
_BEHIND_NAME = re.compile(r"[\s_]*[(\[]")
_TEXT_OF_EXCEL = re.compile(r'^="([^"]*)"$')
"""A cell that spreadsheets are to take as a text."""
_HALF_KNOWN_SHOWN = 2
_VERDICTS = frozenset({"status", "success", "exit_code", "response_code", "failure", "progress"})
_TIMES = frozenset({"start", "end", "time"})
_UNITS_OF_TIMES = frozenset({None, *DECLARED_UNITS["start"].values()})
_NEEDED = frozenset({"throughput", "duration", "start", "end", "file_size", "total_size", "moved_size"})
_SETTINGS = ("parallelism", "concurrency", "pipelining")


@dataclass(frozen=True, slots=True)
class Columns:
    """Places of the known quantities in a row, the header as seen, and the units that it declares.

    ``given`` : quantities whose unit the user named.
    ``constants`` : by place, what each row has to hold, such as the unit of another column.
    ``starts_are_ends`` : rows say when they ended alone; these times are in the place of starts.
    ``lines_above`` : titles and comments before the header.
    ``has_row_names`` : names of rows stand before the others, without a title of their own.
    ``notations`` : by place, how to read a number or a duration that is not written as a plain number.
    """

    header: tuple[str, ...]
    delimiter: str
    place: Mapping[str, int]
    declared: Mapping[str, str] = field(default_factory=dict)
    notations: Mapping[int, Callable[[str], str]] = field(default_factory=dict)
    given: frozenset[str] = frozenset()
    constants: Mapping[int, str] = field(default_factory=dict)
    starts_are_ends: bool = False
    lines_above: tuple[str, ...] = ()
    has_row_names: bool = False

    def find_title(self, quantity: str) -> str:
        """Return the column's own name, for reports."""
        return self.header[self.place[quantity]] if quantity in self.place else quantity

    @property
    def unread(self) -> list[str]:
        """Titles of the columns that hold no known quantity, or one that an earlier column holds."""
        read = set(self.place.values())
        return [title for index, title in enumerate(self.header) if index not in read and title]

    def split_fields(self, line: str) -> list[str]:
        """Return the fields of a row, as many as the header has; empty ones behind them are dropped.

        Raises
        ------
        InvalidValue : the line is no CSV row, or has another number of fields.
        """
        row, width = self.split(line), len(self.header)
        if len(row) != width and (len(row) < width or any(field.strip() for field in row[width:])):
            raise InvalidValue("row", f"has {format_count(len(row), 'field')} where the header has {width}")
        for place, text in self.constants.items():
            if row[place].strip() != text and row[place].strip().lower() not in UNKNOWN_TEXTS:
                raise InvalidValue(self.header[place], f"is {row[place].strip()[:20]!r} where other rows have {text!r}")
        for place, to_plain_number in self.notations.items():
            row[place] = to_plain_number(row[place])
        return row[:width]

    def split(self, line: str) -> list[str]:
        """Split a row into fields; a quoted one may hold line breaks.

        Raises
        ------
        InvalidValue : the line is no CSV row.
        """
        if '"' not in line:
            return line.split(self.delimiter)
        try:
            lines = line.splitlines(keepends=True)
            cells = next(csv.reader(lines, delimiter=self.delimiter, skipinitialspace=True), [])
        except csv.Error as broken:
            raise InvalidValue("row", f"is no CSV row: {broken}") from None
        return [_TEXT_OF_EXCEL.sub(r"\1", cell) for cell in cells] if '="' in line else cells


def read_header(line: str, delimiters: Sequence[str] = DELIMITERS) -> Columns:
    """Read the columns of a header line, by the delimiter under which most of them are known."""
    return max((_build_columns(line, delimiter) for delimiter in delimiters), key=lambda columns: len(columns.place))


@lru_cache(1024)
def is_title(cell: str) -> bool:
    """Return whether a cell is the title of a known quantity."""
    return not cell[:1].isdigit() and find_quantity(cell)[0] is not None


def _build_columns(line: str, delimiter: str) -> Columns:
    try:
        header = next(csv.reader([line], delimiter=delimiter, skipinitialspace=True), [])
    except csv.Error:
        header = []
    while header and not header[-1].strip():
        header.pop()  # each row of such a file ends with a delimiter
    place: dict[str, int] = {}
    declared: dict[str, str] = {}
    for index, title in enumerate(header):
        quantity, unit = find_quantity(title)
        if quantity is None:
            continue
        rank = _rank(quantity, title, unit)
        if quantity not in place or rank < _rank(quantity, header[place[quantity]], declared.get(quantity)):
            place[quantity] = index
            declared.pop(quantity, None)
            if unit is not None:
                declared[quantity] = unit
    starts_are_ends = _settle_places(header, place, declared)
    titles = tuple(title.strip() for title in header)
    return Columns(titles, delimiter, place, declared, starts_are_ends=starts_are_ends)


def _settle_places(header: Sequence[str], place: dict[str, int], declared: dict[str, str]) -> bool:
    """Settle what columns mean next to each other; return whether rows say when they ended alone."""
    if "start" in place and not {"end", "duration", "throughput"} & place.keys() and _is_completed(header, place):
        place["end"] = place.pop("success")
    if "moved_size" in place and not {"file_size", "total_size"} & place.keys():
        place["total_size"] = place["moved_size"]
        declared["total_size"] = declared["moved_size"] = declared.get("moved_size", "B")
    _take_count_of_all(header, place)
    starts_are_ends = "end" in place and not {"start", "date"} & place.keys() and _has_span(place)
    if starts_are_ends:
        place["start"] = place.pop("end")
        if "end" in declared:
            declared["start"] = declared.pop("end")
    has_both = "end" in place and ("start" in place or {"date", "time"} <= place.keys())
    if has_both and "duration" not in place:
        declared["duration"] = "s"  # from one to the other
    elif has_both:
        place["stated_end"] = place.pop("end")
    else:
        place.pop("end", None)
    return starts_are_ends


def _take_count_of_all(header: Sequence[str], place: dict[str, int]) -> None:
    """Take the count of all files rather than of those that were done, where no column says how transfers ended.

    The two then say of each row whether it was complete.
    """
    at = place.get("file_count")
    if at is None or not counts_done_files(header[at]) or any(map(_says_how_it_ended, header)):
        return
    counts = (other for other, title in enumerate(header) if find_quantity(title)[0] == "file_count")
    place["file_count"] = next((other for other in counts if not counts_done_files(header[other])), at)


def _says_how_it_ended(title: str) -> bool:
    return (find_quantity(title)[0] or find_verdict_quantity(title)) in _VERDICTS


def _has_span(place: Mapping[str, int]) -> bool:
    return not {"duration", "throughput"}.isdisjoint(place)


def _rank(quantity: str, title: str, unit: str | None) -> tuple[bool, bool, bool]:
    """Return the rank of a column: of those of one quantity the least counts, or else the first.

    UTC goes before other zones, and before the clock of a host; when a row was written is no start next to one.
    """
    if quantity not in _TIMES:
        return False, False, False
    is_generic = quantity == "start" and to_plain(title) in GENERIC
    return unit == LOCAL, is_generic, unit not in _UNITS_OF_TIMES and is_zone(unit)


def _is_completed(header: Sequence[str], place: Mapping[str, int]) -> bool:
    """Return whether a table without other ends has a column that is called completed."""
    return "success" in place and to_plain(header[place["success"]]) == "completed"


def reject_repeated_titles(columns: Columns, rows: Iterable[Sequence[str]]) -> None:
    """Refuse a file in which two columns of one title have different values, or one counts bytes each way: nothing
    says which one counts.

    Raises
    ------
    InvalidValue : names the title.
    """
    repeated = [
        (place, other)
        for place in sorted(set(columns.place.values()))
        for other in range(place + 1, len(columns.header))
        if columns.header[other].lower() == columns.header[place].lower()
    ]
    both_ways = [place for place, title in enumerate(columns.header) if to_plain(title) in _ONE_WAY]
    if len(both_ways) > 1 and not set(both_ways).isdisjoint(columns.place.values()):
        titles = " and ".join(columns.header[place] for place in both_ways)
        raise InvalidValue("csv", f"has {titles}; rename the one that counts to bytes, and the other to something else")
    if not repeated:
        return
    for row in rows:
        for place, other in repeated:
            if row[place].strip() != row[other].strip():
                title = columns.header[place]
                raise InvalidValue(title, "is the title of two columns with different values; rename one of them")


def declare_units(columns: Columns, units: Mapping[str, str]) -> Columns:
    """Return the columns with units that the user names, by the title of a column or by its quantity.

    Raises
    ------
    InvalidValue : no such column, or no unit of it.
    """
    declared, given = dict(columns.declared), set(columns.given)
    for name, unit in units.items():
        quantity = next(
            (each for each in columns.place if name.lower() in (columns.find_title(each).lower(), each)), None
        )
        quantity = "end" if quantity == "stated_end" else quantity
        known = DECLARED_UNITS.get(quantity or "", {}).values()
        if quantity is None or not known:
            raise InvalidValue("--unit", f"names no column with a unit: {name[:40]!r}")
        if unit not in known:
            raise InvalidValue(
                "--unit", f"of {name[:40]} is one of {', '.join(dict.fromkeys(known))}; got {unit[:20]!r}"
            )
        at = columns.place.get(quantity, columns.place.get("stated_end"))
        for same in {quantity, *(each for each, place in columns.place.items() if place == at)}:
            declared[same] = unit
            given.add(same)
    return replace(columns, declared=declared, given=frozenset(given))


def is_tuned(columns: Columns) -> bool:
    """Return whether rows have a setting; otherwise only their overlap says how many transfers ran at once."""
    return any(setting in columns.place for setting in _SETTINGS)


def has_start(columns: Columns) -> bool:
    """Return whether rows say when their transfer started."""
    return "start" in columns.place or {"date", "time"} <= columns.place.keys()


def list_missing(columns: Columns) -> list[str]:
    """List in words what a log of transfers needs and these columns lack."""
    known = columns.place.keys()
    needs: Sequence[tuple[str, bool]] = (
        ("throughput, duration, or start and end", bool({"throughput", "duration", "end"} & known)),
        ("file size or total size", bool({"file_size", "total_size"} & known)),
        ("one of parallelism, concurrency and pipelining, or the start", is_tuned(columns) or has_start(columns)),
    )
    return [need for need, met in needs if not met]


def require_transfers(columns: Columns) -> None:
    """Refuse a CSV file that is no log of transfers.

    Raises
    ------
    InvalidValue : names the columns seen and what is missing.
    """
    missing = list_missing(columns)
    if missing:
        seen = ", ".join(title[:40] or "(no name)" for title in columns.header[:40])
        if any(title.lstrip().startswith(("{", "[")) or '{"' in title for title in columns.header):  # may be private
            raise InvalidValue("csv", "is JSON, not CSV; leave --format out, or name another")
        unclear = "".join(
            f"; what stands behind {head} in {title[:40]!r} is no known unit"
            for title, head in _list_half_known(columns)
        )
        raise InvalidValue("csv", f"is of no known family: columns are {seen}; missing: {'; '.join(missing)}{unclear}")


def _list_half_known(columns: Columns) -> list[tuple[str, str]]:
    """List the titles that begin as one of a quantity that is missing, such as ``bytes (millions)``, and how."""
    found = []
    for place, title in enumerate(columns.header):
        head = _BEHIND_NAME.split(title.strip(), maxsplit=1)[0]
        quantity = find_quantity(head)[0] if head != title.strip() else None
        if place not in columns.place.values() and quantity in _NEEDED and quantity not in columns.place:
            found.append((title, head))
    return found[:_HALF_KNOWN_SHOWN]
