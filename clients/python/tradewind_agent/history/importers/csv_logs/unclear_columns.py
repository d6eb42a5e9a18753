"""What columns of a CSV log may say that hold no known quantity: a setting, a failure, bytes that were there before.

Left unread, they would make wrong records; what they mean is for the user to say.
"""

from collections.abc import Sequence

from tradewind.errors import InvalidValue
from tradewind.transfer import Direction, Status
from tradewind.units import format_bytes
from tradewind_agent.history.importers.csv_logs.columns import Columns, is_tuned
from tradewind_agent.history.importers.csv_logs.counts import list_words, may_number_files
from tradewind_agent.history.importers.csv_logs.status import StatusReader
from tradewind_agent.history.importers.csv_verdicts import find_commanded_direction, normalise
from tradewind_agent.history.importers.csv_words.phrases import find_word
from tradewind_agent.history.importers.fields import UNKNOWN_TEXTS
from tradewind_agent.history.importers.ports import ImportReport

_AT_ONCE = frozenset(
    {
        "threads", "thread", "workers", "worker", "connections", "conns", "sockets", "flows", "sessions", "transfers",
        "jobs", "processes", "procs", "tasks", "requests", "uploads", "downloads", "copies", "depth", "instances",
        "concurrent", "simultaneous", "stream", "streams",
    }
)  # fmt: skip
"""What a setting may count."""

_AROUND_SETTINGS = frozenset(
    {
        "n", "num", "number", "no", "nr", "of", "max", "maximum", "min", "tcp", "http", "https", "ftp", "ssh", "s3",
        "parallel", "open", "active", "count", "total", "multi", "queue", "per", "file", "files", "host", "client",
        "server", "network", "used", "set", "level", "at", "once", "parts", "part", "chunk", "chunks",
    }
)  # fmt: skip
_MOST_AT_ONCE = 1024
"""Larger numbers are of something else, such as the jobs themselves."""

_REMARKS = frozenset(
    {
        "remark", "remarks", "comment", "comments", "note", "notes", "message", "messages", "msg", "info", "detail",
        "details", "description", "reason", "observation", "observations", "annotation",
    }
)  # fmt: skip
_RESUMED = frozenset({"resume", "resumed", "restart", "restarted", "continued"})
_PLACES = frozenset({"offset", "from", "at", "position", "pos", "byte", "bytes", "point", "marker", "size"})
_PRESENT = frozenset({"already", "existing", "skipped", "present", "cached"})
_UNITS = frozenset({"b", "kb", "mb", "gb", "kib", "mib", "gib", "is", "was", "start", "in"})
_COMPRESSED = frozenset({"compressed", "uncompressed", "deflated", "gzipped", "zipped"})
_SIZES = frozenset({"size", "bytes", "length"})
_DONE = frozenset(
    {"transferred", "copied", "done", "completed", "ok", "succeeded", "successful", "moved", "uploaded", "downloaded"}
)
_CHECKSUMS = frozenset({"md5", "sha", "crc", "adler", "checksum", "hash", "md", "crcc"})
_BOTH_ENDS = {
    "source": frozenset({"source", "src", "local", "original", "before", "expected"}),
    "destination": frozenset(
        {"destination", "dest", "dst", "target", "remote", "copy", "after", "actual", "received", "stored"}
    ),
}
_NONE = frozenset({"0", "none", "false", "no", "n", "f", "never"})

_FTP_COMMANDS = frozenset({"retr", "eret", "stor", "esto", "appe", "stou"})

_SHARE_MOVED = 0.95
"""Of the size: sizes are rounded, and may be in powers of 1024 under a title in powers of 1000."""


def _list_unread(columns: Columns) -> list[tuple[int, str]]:
    read = set(columns.place.values())
    return [(place, title) for place, title in enumerate(columns.header) if place not in read]


def reject_unclear_columns(columns: Columns, rows: Sequence[Sequence[str]], report: ImportReport) -> None:
    """Refuse a file with a column that may be a setting, a direction or a size, and is none that is known.

    Raises
    ------
    InvalidValue : names the column, and what to do.
    """
    _reject_unclear_settings(columns, rows)
    _reject_unclear_counts(columns, rows)
    _reject_opposite_ends(columns, rows, report)
    _reject_compressed_sizes(columns, rows)


def _reject_unclear_settings(columns: Columns, rows: Sequence[Sequence[str]]) -> None:
    """Refuse a table whose only setting is a number of threads, connections, or the like.

    They may be files at once, or streams of each; without a setting, the overlap of the rows would decide.

    Raises
    ------
    InvalidValue : names the column.
    """
    if is_tuned(columns):
        return
    for place, title in _list_unread(columns):
        words = set(list_words(title))
        if not words & _AT_ONCE or not words <= _AT_ONCE | _AROUND_SETTINGS:
            continue
        counts = {text for row in rows if (text := row[place].strip()).lower() not in UNKNOWN_TEXTS}
        is_setting = all(count.isdecimal() and int(count) <= _MOST_AT_ONCE for count in counts)
        if is_setting and any(int(count) > 1 for count in counts):
            advice = "call it concurrency or parallelism, or note if it is neither"
            raise InvalidValue(title, f"may count files at once, or streams of each file; {advice}")


def _reject_unclear_counts(columns: Columns, rows: Sequence[Sequence[str]]) -> None:
    """Refuse numbers that may count the files of each row, or say which file it is of.

    Raises
    ------
    InvalidValue : names the column.
    """
    if "file_count" in columns.place or "file_size" not in columns.place:
        return
    for place, title in _list_unread(columns):
        numbers = [row[place].strip() for row in rows] if may_number_files(title) else []
        is_repeated = len(set(numbers)) < len(numbers) or len(numbers) == 1
        if numbers and is_repeated and all(map(str.isdecimal, numbers)) and max(map(int, numbers)) > 1:
            advice = "call it file_count or file_id"
            raise InvalidValue(title, f"may count the files of a row, or say which one it is of; {advice}")


def _reject_opposite_ends(columns: Columns, rows: Sequence[Sequence[str]], report: ImportReport) -> None:
    """Refuse uploads next to downloads where the user names the ends: those of one are the reverse of the other's.

    Logs of an FTP server have both for whatever clients; the report says then that the direction alone differs.

    Raises
    ------
    InvalidValue : names the column.
    """
    at = columns.place.get("operation")
    if at is None or {"source", "destination"} <= columns.place.keys():
        return
    commands = {normalise(row[at]) for row in rows}
    directions = {find_commanded_direction(command) for command in commands} - {None}
    title = columns.header[at]
    if len(directions) < len((Direction.UPLOAD, Direction.DOWNLOAD)):
        return
    if not commands.isdisjoint(_FTP_COMMANDS):
        report.assume(f"{title} names both directions: all rows are recorded between the same ends, as they are given")
        return
    advice = "add columns source and destination, or split the file by it"
    raise InvalidValue(title, f"has uploads and downloads, whose ends are each other's reverse; {advice}")


def _reject_compressed_sizes(columns: Columns, rows: Sequence[Sequence[str]]) -> None:
    """Refuse a size next to a compressed one: either may be what crossed the network.

    Raises
    ------
    InvalidValue : names both columns.
    """
    at = columns.place.get("file_size", columns.place.get("total_size"))
    if at is None or "moved_size" in columns.place:
        return
    for place, title in _list_unread(columns):
        words = set(list_words(title))
        if words & _COMPRESSED and words & _SIZES and any(_differs(row[place], row[at]) for row in rows):
            advice = "call the one that was sent bytes_moved"
            raise InvalidValue(title, f"may be what crossed the network, or {columns.header[at]}; {advice}")


def _differs(text: str, other: str) -> bool:
    return text.strip().lower() not in UNKNOWN_TEXTS and text.strip() != other.strip()


class RowDoubts:
    """Finds rows that say elsewhere that not all of their bytes were moved, or that they failed."""

    def __init__(self, columns: Columns, statuses: StatusReader) -> None:
        self._columns = columns
        says_how_it_ended = bool(statuses.stating) or "failure" in columns.place
        counts_moved = "moved_size" in columns.place
        unread = [(place, title) for place, title in _list_unread(columns) if place not in statuses.readers]
        self._remarks = [] if says_how_it_ended else [(at, title) for at, title in unread if _is_remark(title)]
        self._resumed = [] if counts_moved else [(at, title) for at, title in unread if _is_of_resumed(title)]
        self._is_moved_sure = says_how_it_ended
        self._size_at = columns.place.get("file_size", columns.place.get("total_size"))
        self._count_at = columns.place.get("file_count")
        size_title = "" if self._size_at is None else columns.header[self._size_at]
        stored = [(at, title) for at, title in unread if _is_of_stored(title, size_title)]
        self._stored = [] if says_how_it_ended or len(stored) != 1 else stored
        self._done = [] if says_how_it_ended else [(at, title) for at, title in unread if _is_of_done_files(title)]
        sums = [(at, title) for at, title in unread if _CHECKSUMS & set(list_words(title))]
        is_pair = len(sums) == len(_BOTH_ENDS) and all(_find_end(title) for _, title in sums)
        self._sums = [] if says_how_it_ended or not is_pair else sums

    def require_none(self, row: Sequence[str]) -> None:
        """Refuse a row without a failure whose remark names one, or that went on with an earlier transfer.

        Raises
        ------
        InvalidValue : names the column, and what to do.
        """
        self._require_same(row)
        for place, title in self._remarks:
            if find_word(row[place]) in (Status.FAILED, Status.CANCELLED):
                advice = "add a column status, or call this one error if it is of the transfer"
                raise InvalidValue(
                    title, f"says {row[place].strip()[:40]!r}, and no column how transfers ended; {advice}"
                )
        for place, title in self._resumed:
            text = normalise(row[place].strip())
            if row[place].strip().lower() in UNKNOWN_TEXTS or text.strip("0") == "" or text in _NONE:
                continue
            advice = "add a column bytes_moved with what this one moved"
            raise InvalidValue(title, f"is {row[place].strip()[:40]!r}: a part was there before; {advice}")

    def _require_same(self, row: Sequence[str]) -> None:
        """Refuse a row that counts less at the destination than at the source, or another sum.

        Raises
        ------
        InvalidValue : names the column.
        """
        advice = "no column says how transfers ended; add a column status"
        for at, others in ((self._size_at, self._stored), (self._count_at, self._done)):
            for place, title in others if at is not None else ():
                if at is not None and _is_less(row[place].strip(), row[at].strip()):
                    raise InvalidValue(title, f"is {row[place].strip()} of {row[at].strip()}, and {advice}")
        sums = [row[place].strip().lower() for place, _ in self._sums]
        if len(set(sums)) > 1 and all(text not in UNKNOWN_TEXTS for text in sums):
            raise InvalidValue(self._sums[-1][1], f"differs from {self._sums[0][1]}, and {advice}")

    def require_moved(self, moved_bytes: int, total_bytes: int) -> None:
        """Refuse a transfer that moved less than its size where no column says how transfers ended.

        Raises
        ------
        InvalidValue : names both.
        """
        if self._is_moved_sure or moved_bytes >= _SHARE_MOVED * total_bytes:
            return
        found = f"is {format_bytes(moved_bytes)} of {format_bytes(total_bytes)}, and no column says how transfers ended"
        raise InvalidValue(
            "outcome.bytes_moved", f"{found}: it failed, or a part was there before; add a column status"
        )


def _is_less(text: str, other: str) -> bool:
    return text.isdecimal() and other.isdecimal() and int(text) < int(other)


def _find_end(title: str) -> set[str]:
    words = set(list_words(title))
    return {name for name, others in _BOTH_ENDS.items() if words & others}


def _is_of_stored(title: str, size_title: str) -> bool:
    """Return whether a column is the size at the destination, in the unit of the size."""
    words, ends = set(list_words(title)), _BOTH_ENDS["destination"]
    is_size = bool(words & _SIZES) and bool(words & ends) and words <= _SIZES | ends | _UNITS | {"file", "object"}
    return is_size and words & _UNITS == set(list_words(size_title)) & _UNITS


def _is_of_done_files(title: str) -> bool:
    words = set(list_words(title))
    return (
        "files" in words
        and bool(words & _DONE)
        and words <= _DONE | {"files", "num", "number", "of", "n", "count", "#"}
    )


def _is_remark(title: str) -> bool:
    words = list_words(title)
    return bool(words) and words[-1] in _REMARKS


def _is_of_resumed(title: str) -> bool:
    """Return whether a column says from where a transfer went on, or whether it did; ``resumes`` counts how often."""
    words = set(list_words(title))
    if words & _RESUMED:
        return words <= _RESUMED | _PLACES | _UNITS
    if words & _PRESENT:
        return bool(words & {"byte", "bytes", "size"}) and words <= _PRESENT | _PLACES | _UNITS
    return "offset" in words and words <= {"offset", "file", "start", "byte", "bytes", "resume", "restart"} | _UNITS
