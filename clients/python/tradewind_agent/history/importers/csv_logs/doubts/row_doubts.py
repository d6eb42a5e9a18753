"""Rows of a CSV log that say in an unread column that they failed, or that not all of their bytes were moved."""

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from tradewind.errors import InvalidValue
from tradewind.units import format_bytes
from tradewind_agent.history.importers.csv_logs.columns import Columns
from tradewind_agent.history.importers.csv_logs.counts import counts_done_files, list_words
from tradewind_agent.history.importers.csv_logs.doubts.unclear_columns import (
    SIZES,
    is_of_compressed_size,
    list_unread,
    parse_plain,
)
from tradewind_agent.history.importers.csv_logs.names import find_quantity
from tradewind_agent.history.importers.csv_logs.status import StatusReader, find_verdict_title
from tradewind_agent.history.importers.csv_logs.units_inference import SIZE_UNITS
from tradewind_agent.history.importers.csv_words.checksums import differ, find_algorithm
from tradewind_agent.history.importers.csv_words.remarks import names_failure
from tradewind_agent.history.importers.fields import UNKNOWN_TEXTS

_REMARKS = frozenset(
    {
        "remark", "remarks", "comment", "comments", "note", "notes", "message", "messages", "msg", "reason",
        "observation", "observations", "annotation",
    }
)  # fmt: skip
"""A description, or details, may be of the data."""

_CHECKSUMS = frozenset({"md", "sha", "crc", "adler", "checksum", "hash"})
_WENT_ON = frozenset({"resumed", "restarted", "continued"})
_RESUMED = _WENT_ON | {"resume", "restart"}
_PLACES = frozenset({"offset", "from", "at", "position", "pos", "byte", "bytes", "point", "marker", "size"})
_LEFT_OUT = frozenset({"deduplicated", "deduped", "unchanged", "skipped"})
_PRESENT = frozenset({"already", "existing", "skipped", "present", "cached"})
_TO_FOLLOW = frozenset({"remaining", "left"})
"""Of files that follow in rows of their own, where a row is of one."""

_MISSING = _TO_FOLLOW | frozenset({"missing", "failed", "unsent"})
_MAY_BE_MISSING = frozenset({"byte", "bytes", "size", "files"})
_UNIT_WORDS: Mapping[str, str] = MappingProxyType({unit.lower(): unit for unit in SIZE_UNITS} | {"bytes": "B"})
_UNITS = _UNIT_WORDS.keys() | {"is", "was", "start", "in"}
_YES = frozenset({"yes", "y", "true", "t", "ja", "oui", "si", "✓", "✔"})
_PART = re.compile(r"(?:from |at )?(?:0+-)?(\d[\d.,' ]*)([kmgtp]?i?b|bytes?|%)?", re.IGNORECASE)
"""From where a transfer went on, also as a range of bytes; times and dates are none."""

_BOTH_ENDS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "source": frozenset({"source", "src", "local", "original", "before", "expected"}),
        "destination": frozenset(
            {"destination", "dest", "dst", "target", "remote", "copy", "after", "actual", "received", "stored"}
        ),
    }
)
_STATING = frozenset({"status", "success", "exit_code", "response_code"})
_SAYING_HOW_MUCH = _STATING | {"failure", "progress"}
"""Kinds of columns next to which a row that moved less than its size may have done all that it had to."""

_SHARE_MOVED = 0.95
"""Of the size: sizes are rounded, and may be in powers of 1024 under a title in powers of 1000."""

_ADVICE = "no column says how transfers ended; add a column status"


class RowDoubts:
    """Finds rows that say in an unread column that not all of their bytes were moved, or that they failed."""

    def __init__(self, columns: Columns, statuses: StatusReader, size_unit: str) -> None:
        kinds = _list_kinds_read(columns, statuses)
        says_how_it_ended = bool(statuses.stating) or not kinds.isdisjoint(_STATING) or "failure" in columns.place
        counts_moved = "moved_size" in columns.place
        unread = [(at, title) for at, title in list_unread(columns) if at not in statuses.readers]
        self._remarks = [] if says_how_it_ended else [(at, title) for at, title in unread if _is_remark(title)]
        self._resumed = [] if counts_moved else [(at, title) for at, title in unread if _is_of_resumed(title)]
        self._partial = [] if says_how_it_ended else [(at, title) for at, title in unread if _is_of_parts(title)]
        self._is_moved_sure = says_how_it_ended or not kinds.isdisjoint(_SAYING_HOW_MUCH)
        self._compressed = [at for at, title in unread if is_of_compressed_size(title)]
        self._left_out = [at for at, title in unread if _is_of_resumed(title) or _is_of_left_out(title)]
        self._size_at = columns.place.get("file_size", columns.place.get("total_size"))
        self._count_at = columns.place.get("file_count")
        self._stored = [] if says_how_it_ended else list(_list_stored(columns, unread, size_unit, self._size_at))
        self._done = [] if says_how_it_ended else [(at, title) for at, title in unread if counts_done_files(title)]
        planned = [(at, title) for at, title in unread if _is_of_planned_files(title)]
        self._planned = [] if says_how_it_ended else planned
        self._missing = [] if says_how_it_ended else list(_list_missing(columns, unread))
        self._expected = [] if says_how_it_ended else list(_list_expected(columns, size_unit))
        self._unnamed = {columns.header[at] for at in statuses.readers}
        sums = [(at, title) for at, title in unread if not _CHECKSUMS.isdisjoint(_list_words(title))]
        algorithms = {find_algorithm(title) for _, title in sums} - {None}
        is_pair = len(sums) == len(_BOTH_ENDS) and all(_find_end(title) for _, title in sums) and len(algorithms) < 2
        self._sums = [] if says_how_it_ended or not is_pair else sums

    def list_unread(self, columns: Columns) -> list[str]:
        """List the titles of columns that hold no quantity, and are read neither for states nor for doubts."""
        counts = (*self._done, *self._planned, *self._missing)
        pairs = (*self._remarks, *self._resumed, *counts, *self._sums, *self._partial)
        read = {title for _, title in pairs} | {title for _, title, _ in (*self._stored, *self._expected)}
        read |= self._unnamed
        return [title for title in columns.unread if title not in read]

    def require_none(self, row: Sequence[str]) -> None:
        """Refuse a row without a failure whose remark is one, that went on with an earlier transfer, or copied less.

        Raises
        ------
        InvalidValue : names the column, and what to do.
        """
        for place, title in self._remarks:
            if names_failure(row[place]):
                advice = "add a column status, or call this one error if it is of the transfer"
                raise InvalidValue(
                    title, f"says {row[place].strip()[:40]!r}, and no column how transfers ended; {advice}"
                )
        for place, title in self._resumed:
            if _names_part(title, row[place]):
                advice = "add a column bytes_moved with what this one moved, and a column status"
                raise InvalidValue(title, f"is {row[place].strip()[:40]!r}: a part was there before; {advice}")
        self._require_all(row)
        self._require_same(row)

    def _require_all(self, row: Sequence[str]) -> None:
        """Refuse a row that counts bytes or files that did not arrive, or less than were to be moved.

        Raises
        ------
        InvalidValue : names the column.
        """
        for place, title in self._partial:
            if row[place].strip().lower() in {*_YES, "1"}:
                raise InvalidValue(title, f"is {row[place].strip()}, and {_ADVICE}")
        for place, title in self._missing:
            number = parse_plain(row[place].replace(",", ""))
            if number is not None and number > 0:
                raise InvalidValue(title, f"is {row[place].strip()}, and {_ADVICE}")
        if self._size_at is not None:
            for place, title, scale in self._expected:
                if _is_less(row[self._size_at], row[place], scale):
                    raise InvalidValue(
                        title, f"is {row[place].strip()}, not {row[self._size_at].strip()}, and {_ADVICE}"
                    )

    def _require_same(self, row: Sequence[str]) -> None:
        """Refuse a row that counts less at the destination than at the source, or another sum.

        Raises
        ------
        InvalidValue : names the column.
        """
        if self._size_at is not None:
            for place, title, scale in self._stored:
                if _is_less(row[place], row[self._size_at], scale):
                    raise InvalidValue(title, f"is {row[place].strip()} of {row[self._size_at].strip()}, and {_ADVICE}")
        if self._count_at is not None:
            for place, title in self._done:
                if _is_less(row[place], row[self._count_at], 1.0):
                    raise InvalidValue(
                        title, f"is {row[place].strip()} of {row[self._count_at].strip()}, and {_ADVICE}"
                    )
            for place, title in self._planned:
                if _is_less(row[self._count_at], row[place], 1.0):
                    raise InvalidValue(
                        title, f"is {row[place].strip()}, not {row[self._count_at].strip()}, and {_ADVICE}"
                    )
        if self._sums and differ(*(row[place] for place, _ in self._sums)):
            raise InvalidValue(self._sums[-1][1], f"differs from {self._sums[0][1]}, and {_ADVICE}")

    def require_moved(self, row: Sequence[str], moved_bytes: int, total_bytes: int) -> None:
        """Refuse a transfer that moved less than its size where no column says how transfers ended.

        What was compressed, or there before, may explain the difference: then the two columns add up.

        Raises
        ------
        InvalidValue : names both.
        """
        if self._is_moved_sure or moved_bytes >= _SHARE_MOVED * total_bytes:
            return
        if any(_is_size(row[at], moved_bytes) for at in self._compressed):
            return
        if any(_is_size(row[at], total_bytes - moved_bytes) for at in self._left_out):
            return
        found = f"is {format_bytes(moved_bytes)} of {format_bytes(total_bytes)}, and no column says how transfers ended"
        raise InvalidValue(
            "outcome.bytes_moved", f"{found}: it failed, or a part was there before; add a column status"
        )


def _list_kinds_read(columns: Columns, statuses: StatusReader) -> set[str]:
    """List the quantities of all columns that say how a transfer ended, with whatever title."""
    quantity_at = {place: quantity for quantity, place in columns.place.items()}
    kinds = {quantity_at.get(at) or find_verdict_title(columns.header[at]) for at in statuses.readers}
    return {kind for kind in kinds if kind is not None}


def _list_stored(
    columns: Columns, unread: Sequence[tuple[int, str]], size_unit: str, size_at: int | None
) -> Iterator[tuple[int, str, float]]:
    """Yield the columns of the size at the destination: place, title, and their unit in that of the size."""
    size_title = "" if size_at is None else columns.header[size_at]
    has_unit = _find_size_unit(size_title) is not None
    for at, title in unread:
        unit = _find_size_unit(title)
        if _is_of_stored(title) and (unit is not None or not has_unit):
            yield at, title, 1.0 if unit is None else SIZE_UNITS[unit] / SIZE_UNITS[size_unit]


def _list_expected(columns: Columns, size_unit: str) -> Iterator[tuple[int, str, float]]:
    """Yield further columns of the size that was to be moved: place, title, and the size's unit in their unit."""
    if {"file_size", "file_count"} <= columns.place.keys():  # of a file, and of all
        return
    for at, title in list_unread(columns):
        unit = _find_size_unit(title) or ("B" if size_unit == "B" else None)
        if "expected" in _list_words(title) and find_quantity(title)[0] == "total_size" and unit is not None:
            yield at, title, SIZE_UNITS[size_unit] / SIZE_UNITS[unit]


def _list_words(title: str) -> list[str]:
    """List the words of a title; ``GiB`` is one."""
    return list_words(title.replace("iB", "ib"))


def _find_size_unit(title: str) -> str | None:
    return next((_UNIT_WORDS[word] for word in reversed(_list_words(title)) if word in _UNIT_WORDS), None)


def _is_less(text: str, other: str, scale: float) -> bool:
    """Return whether a number is less than another; in other units or decimals, by more than rounding."""
    number, size = parse_plain(text), parse_plain(other)
    if number is None or size is None:
        return False
    is_same_notation = scale == 1 and _count_decimals(text) == _count_decimals(other)
    return number < size if is_same_notation else number * scale < _SHARE_MOVED * size


def _count_decimals(text: str) -> int:
    return len(text.strip().partition(".")[2])


def _is_size(text: str, size_bytes: int) -> bool:
    """Return whether a number is a size in some unit."""
    number = parse_plain(text)
    low, high = _SHARE_MOVED * size_bytes, size_bytes / _SHARE_MOVED
    return number is not None and any(low <= number * scale <= high for scale in SIZE_UNITS.values())


def _is_remark(title: str) -> bool:
    words = _list_words(title)
    return bool(words) and words[-1] in _REMARKS


def _find_end(title: str) -> set[str]:
    words = set(_list_words(title))
    return {name for name, others in _BOTH_ENDS.items() if words & others}


def _is_of_stored(title: str) -> bool:
    """Return whether a column is the size at the destination."""
    words, ends = set(_list_words(title)), _BOTH_ENDS["destination"]
    around = {"file", "object", "on", "at", "of", "the"}
    return bool(words & SIZES) and bool(words & ends) and words <= SIZES | ends | _UNITS | around


def _is_of_resumed(title: str) -> bool:
    """Return whether a column says from where a transfer went on, or whether it did; ``resumes`` counts how often."""
    words = set(_list_words(title))
    if words & _RESUMED:
        return words <= _RESUMED | _PLACES | _UNITS and bool(words & (_WENT_ON | _PLACES))
    if words & _PRESENT:
        return bool(words & {"byte", "bytes", "size"}) and words <= _PRESENT | _PLACES | _UNITS
    return "offset" in words and words <= {"offset", "file", "start", "byte", "bytes", "resume", "restart"} | _UNITS


def _is_of_parts(title: str) -> bool:
    words = set(_list_words(title))
    return "partial" in words and words <= {"partial", "is", "was", "transfer", "file", "only"}


def _is_of_planned_files(title: str) -> bool:
    words = set(_list_words(title))
    return "files" in words and bool(words & {"expected", "planned"}) and words <= {"files", "expected", "planned"}


def _list_missing(columns: Columns, unread: Sequence[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Yield the columns that count what did not arrive: place and title."""
    around = _MAY_BE_MISSING | _UNITS | {"to", "go", "num", "number", "of", "n", "count", "total"}
    for at, title in unread:
        words = set(_list_words(title))
        if "files" in words and words & _TO_FOLLOW and "file_count" not in columns.place:
            continue
        if words & _MISSING and words & _MAY_BE_MISSING and words <= _MISSING | around:
            yield at, title


def _is_of_left_out(title: str) -> bool:
    words = set(_list_words(title))
    return bool(words & _LEFT_OUT) and bool(words & SIZES)


def _names_part(title: str, text: str) -> bool:
    """Return whether a cell says that a part was there before; a fraction without a unit is a time."""
    plain = text.strip().lower()
    if plain in UNKNOWN_TEXTS or plain.strip("0.") == "":
        return False
    words = set(_list_words(title))
    if plain in _YES:
        return bool(words & _WENT_ON)
    found = _PART.fullmatch(plain)
    if found is None or not any(digit in "123456789" for digit in found[1]):
        return False
    has_unit = found[2] is not None or not words.isdisjoint(_UNIT_WORDS)
    return has_unit or parse_plain(found[1]) is None or float(found[1]).is_integer()
