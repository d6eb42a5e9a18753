"""Columns of a CSV log that hold no known quantity, and for which a file is refused: a setting, a direction, a size.

Left unread, they would make wrong records; what they mean is for the user to say.
"""

import re
from collections.abc import Sequence

from tradewind.errors import InvalidValue
from tradewind.transfer import Direction
from tradewind_agent.history.importers.csv_logs.columns import Columns, is_tuned
from tradewind_agent.history.importers.csv_logs.counts import list_words, may_number_files
from tradewind_agent.history.importers.csv_logs.names import find_quantity, is_identity
from tradewind_agent.history.importers.csv_logs.units_inference import SIZE_UNITS
from tradewind_agent.history.importers.csv_verdicts import FTP_COMMANDS, find_commanded_direction, normalise
from tradewind_agent.history.importers.fields import UNKNOWN_TEXTS
from tradewind_agent.history.importers.ports import ImportReport

_AT_ONCE = frozenset(
    {
        "threads", "thread", "workers", "worker", "connections", "conns", "sockets", "flows", "sessions", "transfers",
        "jobs", "processes", "procs", "instances", "concurrent", "simultaneous", "stream", "streams",
    }
)  # fmt: skip
"""What a setting may count."""

_MEASURED = frozenset({"requests", "tasks", "copies", "uploads", "downloads", "depth"})
"""What a setting may limit, and a transfer be made of: a title has to say that it is a limit."""

_LIMITS = frozenset({"max", "maximum", "parallel", "active", "open", "once", "queue", "concurrent", "simultaneous"})
_ALONE = frozenset({"thread", "worker", "stream"})
_NUMBERED = frozenset({"n", "num", "number", "no", "nr", "#"})
"""Behind one alone, as in ``thread no``, they say which one a row is of."""

_PROTOCOLS = frozenset({"tcp", "http", "https", "ftp", "ssh"})
_AROUND_SETTINGS = (
    _LIMITS
    | _NUMBERED
    | _PROTOCOLS
    | frozenset(
        {
            "of", "min", "count", "total", "multi", "per", "file", "files", "host", "client", "server", "network",
            "used", "set", "level", "at", "parts", "part", "chunk", "chunks",
        }
    )
)  # fmt: skip
_NUMBER = re.compile(r"(\d+)(?:\.0*)?(?: *[a-z]+)?", re.IGNORECASE)
"""A setting, also as spreadsheets write it, or with what it counts: ``8.0`` and ``8 threads``."""

_MOST_AT_ONCE = 1024
"""Larger numbers are of something else, such as the jobs themselves."""

_STATED = re.compile(
    r"(?<![^\W_])(?:(?:concurrency|parallelism|pipelining)[\"']?(?: *[=:] *|[ _-]?)[\"']?|--transfers[= ]|-cc |cc="
    r"|cc(?=\d+[ _;,-]p\d))(\d{1,4})(?![^\W_]|\.\d)",
    re.IGNORECASE,
)
"""A setting in a text, such as a command line: ``--transfers 16``, ``cc=2;p=4``, ``cc2_p4``.

``-p`` may be a port, ``cc7`` a system, ``pp200`` an experiment, and ``transfers 12`` any of them.
"""

_SETTINGS = frozenset({"parallelism", "concurrency", "pipelining"})
_TOGETHER = re.compile(r"[/+&,×]| x ")
_SCALED = re.compile(
    r"(?P<head>.*?)[\s_]*[(\[](?:in |[x×*])? *(?:'?0{3}s?|10{2,}s?|1[ ,.'_]0{3}s?|10\^?\d|hundreds?|thousands?"
    r"|millions?|billions?|k|mio\.?|tsd\.?)[)\]]",
    re.IGNORECASE,
)
"""Counts in multiples."""

_OPPOSITES = tuple(
    frozenset(pair.split())
    for pair in ("tx rx", "out in", "outbound inbound", "outgoing incoming", "egress ingress", "up down", "ul dl",
                 "upstream downstream", "push pull", "sent received", "send recv", "write read", "export import",
                 "forward reverse", "-> <-", "→ ←")
)  # fmt: skip
_FROM_TO = re.compile(r" *(?:->|=>|→| to ) *")
_DIRECTION_OR_FOLDER = frozenset({"dir", "way"})
"""Titles of directions; next to other words, as in ``output dir``, of something else."""

_REVERSED = frozenset({"reverse", "reversed"})
_PARTS = frozenset({"stream", "substream", "chunk"})
"""Of one transfer; parts may be files of their own."""

_SECOND = re.compile(r"\d{4}-\d\d-\d\d.\d\d:\d\d:\d\d|\d{10}")
"""A date with a time to the second, or an epoch: transfers that begin apart may have the same of any other."""

_COMPRESSED = frozenset({"compressed", "uncompressed", "deflated", "gzipped", "zipped"})
SIZES = frozenset({"size", "bytes", "length"})
"""Words of titles of sizes."""

_SAME = 1e-3
"""Share by which one size in two units differs, both being rounded."""


def list_unread(columns: Columns) -> list[tuple[int, str]]:
    """List place and title of the columns that hold no known quantity."""
    read = set(columns.place.values())
    return [(place, title) for place, title in enumerate(columns.header) if place not in read]


def is_of_compressed_size(title: str) -> bool:
    """Return whether a column is the size before or after a compression."""
    words = set(list_words(title))
    return bool(words & _COMPRESSED) and bool(words & SIZES)


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
    _reject_parts(columns, rows)


def _reject_unclear_settings(columns: Columns, rows: Sequence[Sequence[str]]) -> None:
    """Refuse a table whose only setting is a number of threads, connections, or the like.

    They may be files at once, or streams of each; without a setting, the overlap of the rows would decide.

    Raises
    ------
    InvalidValue : names the column.
    """
    for _, title in list_unread(columns):
        if _is_scaled_count(columns, title):
            raise InvalidValue(title, "counts in multiples; write plain numbers, and call the column by what it counts")
    if is_tuned(columns):
        return
    for place, title in list_unread(columns):
        if len(settings := {find_quantity(part)[0] for part in _TOGETHER.split(title)}) > 1 and settings <= _SETTINGS:
            raise InvalidValue(title, "holds several settings; give each a column of its own")
        if not is_identity(title) and (text := next(filter(_states_setting, (row[place] for row in rows)), None)):
            advice = "give each a column of its own, or leave this one out"
            raise InvalidValue(title, f"holds settings: {text.strip()[:40]!r}; {advice}")
        if not _may_be_setting(title):
            continue
        texts = {text for row in rows if (text := row[place].strip()).lower() not in UNKNOWN_TEXTS}
        numbers = [int(found[1]) for found in map(_NUMBER.fullmatch, texts) if found is not None]
        if 0 not in numbers and any(1 < number <= _MOST_AT_ONCE for number in numbers):
            advice = "call it concurrency or parallelism, or note if it is neither"
            raise InvalidValue(title, f"may count files at once, or streams of each file; {advice}")


def _states_setting(text: str) -> bool:
    """Return whether a text states a setting above 1, which the overlap of the rows would not show."""
    return any(1 < int(number) <= _MOST_AT_ONCE for number in _STATED.findall(text))


def _is_scaled_count(columns: Columns, title: str) -> bool:
    """Return whether a title is of a count in other than ones, such as ``files (thousands)``."""
    found = _SCALED.fullmatch(title.strip())
    quantity = None if found is None else find_quantity(found["head"])[0]
    return quantity in _SETTINGS | {"file_count"} and quantity not in columns.place


def _may_be_setting(title: str) -> bool:
    """Return whether a title may be of a setting; ``thread`` and ``worker no`` say which one, and 0 is no setting."""
    listed = [word for word in list_words(title) if word not in _PROTOCOLS]
    words = set(listed)
    if listed and listed[0] in _ALONE and words <= {listed[0]} | _NUMBERED:
        return False
    is_limit = bool(words & _AT_ONCE) or (bool(words & _MEASURED) and bool(words & _LIMITS))
    return is_limit and words <= _AT_ONCE | _MEASURED | _AROUND_SETTINGS


def _reject_unclear_counts(columns: Columns, rows: Sequence[Sequence[str]]) -> None:
    """Refuse numbers that may count the files of each row, or say which file it is of.

    Raises
    ------
    InvalidValue : names the column.
    """
    if "file_count" in columns.place or "file_size" not in columns.place:
        return
    for place, title in list_unread(columns):
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
    if {"source", "destination"} <= columns.place.keys():
        return
    advice = "add columns source and destination, or split the file by it"
    for place, title in enumerate(columns.header):
        if _has_opposites(columns, place, {row[place].strip().lower() for row in rows}):
            raise InvalidValue(title, f"has both directions, whose ends are each other's reverse; {advice}")
    at = columns.place.get("operation")
    if at is None:
        return
    commands = {normalise(row[at]) for row in rows}
    directions = {find_commanded_direction(command) for command in commands} - {None}
    title = columns.header[at]
    if len(directions) < len((Direction.UPLOAD, Direction.DOWNLOAD)):
        return
    if not commands.isdisjoint(FTP_COMMANDS):
        report.assume(f"{title} names both directions: all rows are recorded between the same ends, as they are given")
        return
    raise InvalidValue(title, f"has uploads and downloads, whose ends are each other's reverse; {advice}")


def _has_opposites(columns: Columns, place: int, values: set[str]) -> bool:
    """Return whether a column names two opposite directions, or says that some rows are reversed."""
    known, words = values - UNKNOWN_TEXTS, set(list_words(columns.header[place]))
    is_direction = place == columns.place.get("operation")
    may_be_one = "direction" in words or words <= _DIRECTION_OR_FOLDER
    if is_direction or (place not in columns.place.values() and may_be_one):
        ways = {tuple(_FROM_TO.split(value)) for value in known}
        has_way_back = any(way[::-1] in ways for way in ways if len(way) > 1 and way != way[::-1])
        return has_way_back or any(pair <= known and (is_direction or pair == known) for pair in _OPPOSITES)
    return not words.isdisjoint(_REVERSED) and words <= _REVERSED | {"is", "mode"} and len(known) > 1


def _reject_parts(columns: Columns, rows: Sequence[Sequence[str]]) -> None:
    """Refuse rows that are parts of a transfer, such as its streams or chunks: as transfers they would be several.

    Raises
    ------
    InvalidValue : names the column that numbers them.
    """
    keys = [[place] for place, title in enumerate(columns.header) if is_identity(title)]
    if not keys and "start" in columns.place:
        keys = [[columns.place[each] for each in ("start", "source", "destination") if each in columns.place]]
        rows = [row for row in rows if _SECOND.match(row[columns.place["start"]].strip()) is not None]
    for place, title in list_unread(columns):
        words = set(list_words(title))
        if words.isdisjoint(_PARTS) or not words <= _PARTS | _NUMBERED | {"id", "index", "idx"}:
            continue
        numbered = [row for row in rows if row[place].strip().isdecimal()]
        for key in keys:
            parts = {(tuple(row[at].strip() for at in key), row[place].strip()) for row in numbered}
            if len(parts) > len({transfer for transfer, _ in parts}):
                advice = "add them up to a row a transfer, or call it parallelism or chunk_size if it is a setting"
                raise InvalidValue(title, f"numbers parts of one {columns.header[key[0]]}; {advice}")


def _reject_compressed_sizes(columns: Columns, rows: Sequence[Sequence[str]]) -> None:
    """Refuse a size next to a compressed one: either may be what crossed the network.

    Raises
    ------
    InvalidValue : names both columns.
    """
    at = columns.place.get("file_size", columns.place.get("total_size"))
    if at is None or "moved_size" in columns.place:
        return
    for place, title in list_unread(columns):
        if is_of_compressed_size(title) and any(_differs(row[place], row[at]) for row in rows):
            advice = "call the one that was sent bytes_moved, and add a column status"
            raise InvalidValue(title, f"may be what crossed the network, or {columns.header[at]}; {advice}")


def _differs(text: str, other: str) -> bool:
    """Return whether a size above 0 is another, in whatever units the two are."""
    number, size = parse_plain(text), parse_plain(other)
    if number is None:
        return any(letter.isdigit() for letter in text) and text.strip() != other.strip() and not _is_zero(text)
    if not number or not size:
        return bool(number)
    scales = SIZE_UNITS.values()
    return not any(abs(number * scale / (size * each) - 1) < _SAME for scale in scales for each in scales)


def _is_zero(text: str) -> bool:
    return not any(letter in "123456789" for letter in text)


def parse_plain(text: str) -> float | None:
    """Return a number ≥ 0 in plain digits; ``None`` for other texts."""
    plain = text.strip()
    return float(plain) if plain.replace(".", "", 1).isdecimal() else None
