"""Detect the format of a log by its content, whatever the name of the file.

Each line at the beginning may be evidence of one format; the format with most lines wins. A table is a CSV if its
header names what a log of transfers needs. Where two formats have about as much evidence, the user decides.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from tradewind.errors import InvalidValue
from tradewind_agent.history.importers.advice import find_advice, find_advice_on_message
from tradewind_agent.history.importers.csv_logs.columns import require_transfers
from tradewind_agent.history.importers.csv_logs.header import find_header, find_unknown_table, has_transfers
from tradewind_agent.history.importers.ports import EmptyLog
from tradewind_agent.history.importers.rclone_logs.evidence import is_message_of_rclone, is_text_of_rclone
from tradewind_agent.history.importers.servers.dcache import BILLING
from tradewind_agent.history.importers.servers.gridftp import is_object_of_gridftp, is_transfer_of_gridftp
from tradewind_agent.history.importers.servers.vsftpd import LINE as VSFTPD_TRANSFER
from tradewind_agent.history.importers.servers.vsftpd import MESSAGE as VSFTPD
from tradewind_agent.history.importers.servers.xferlog import LINE as XFERLOG
from tradewind_agent.history.importers.servers.xferlog import STATS as PURE_FTPD
from tradewind_agent.history.importers.servers.xrootd import is_monitoring
from tradewind_agent.history.importers.services.fts_files import is_file_of_job
from tradewind_agent.history.importers.services.htcondor import is_ad, is_history
from tradewind_agent.history.importers.services.rucio import is_message_of_rucio
from tradewind_agent.history.importers.tools.aria2 import require_sizes
from tradewind_agent.history.importers.tools.azcopy import EVIDENCE as AZCOPY
from tradewind_agent.history.importers.tools.iperf3 import is_test
from tradewind_agent.history.importers.tools.wget import BRIEF, REQUEST

FORMATS = (
    "gridftp", "rclone", "fts", "aria2", "aws", "s5cmd", "xferlog", "vsftpd", "globus", "curl", "wget", "azcopy",
    "iperf3", "dcache", "xrootd", "rucio", "htcondor", "csv", "ndjson",
)  # fmt: skip
"""That are read line by line; a HAR is one document, see `tradewind_agent.har.upload`."""

_LINES_LOOKED_AT = 200
_LEAST_COLUMNS = 3
_CLEAR_LEAD = 3
"""Times the lines of the next format that the first must have."""

_ARIA2 = re.compile(r"\[#[0-9a-f]{6} |\d\d/\d\d \d\d:\d\d:\d\d \[[A-Z]+\] |gid\s*\|stat\s*\|avg speed")
_AWS = re.compile(
    r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} - \S+ - awscli\.|(?:upload|download|copy|move): \S.* to \S"
    r"|Completed [\d.]+ \w+/~?[\d.]+ \w+ .*remaining"
)
_WGET = re.compile("|".join(pattern.pattern for pattern in (REQUEST, BRIEF)))
_PATTERNS = (
    ("aria2", _ARIA2), ("aws", _AWS), ("xferlog", XFERLOG), ("xferlog", PURE_FTPD), ("vsftpd", VSFTPD),
    ("azcopy", AZCOPY), ("dcache", BILLING), ("wget", _WGET),
)  # fmt: skip
_HAR = re.compile(r'\s*\{\s*"log"\s*:\s*\{')
_SHOWN_MEMBERS = 12


def detect(sample: str) -> str:
    """Return the name of the format of a log that begins with ``sample``.

    Raises
    ------
    EmptyLog : it has no line.
    InvalidValue : of no known format, or of several; says what was seen and which option decides.
    """
    lines = [line for line in sample.split("\n")[:_LINES_LOOKED_AT] if line.strip()]
    if not lines:
        raise EmptyLog
    if _HAR.match(sample):
        raise InvalidValue("log", "is a browser's log (HAR): `logs upload` takes it, `logs watch` does not")
    formats = [find_format_of_line(line) for line in lines]
    scores = Counter(found for found in formats if found is not None)
    if scores:
        chosen = _choose(scores)
        _reject_table_among(chosen, [line for line, found in zip(lines, formats, strict=True) if found is None])
        return chosen
    _reject_known_without_transfers(lines)
    table = find_header(lines)
    if table is not None and has_transfers(table.columns):
        return "csv"
    if (advice := find_advice(lines)) is not None:
        raise InvalidValue("log", advice)
    if table is not None and len(table.columns.header) >= _LEAST_COLUMNS:
        require_transfers(table.columns)
    if (unknown := find_unknown_table(lines)) is not None:
        require_transfers(unknown)
    raise InvalidValue("--format", f"cannot be detected from the content; name one of {', '.join(FORMATS)}, har")


def _reject_table_among(chosen: str, others: Sequence[str]) -> None:
    """Refuse a table of transfers among the lines of another format: its rows would be taken for messages.

    Raises
    ------
    InvalidValue : there is one.
    """
    table = find_header(others) if others else None
    if table is not None and has_transfers(table.columns):
        raise InvalidValue("--format", f"cannot be detected: there are lines of {chosen} and a table; split the file")


def _choose(scores: Counter[str]) -> str:
    (first, most), *others = scores.most_common(2)
    if others and most < _CLEAR_LEAD * others[0][1]:
        second, fewer = others[0]
        seen = f"{most} lines of {first} and {fewer} of {second}"
        raise InvalidValue("--format", f"cannot be detected: there are {seen}; name the one to read")
    return first


def _reject_known_without_transfers(lines: Sequence[str]) -> None:
    """Refuse logs that are known to lack what a record needs, and JSON of other programs.

    Raises
    ------
    InvalidValue : says what to keep instead; of JSON it names the members, not what they hold.
    """
    require_sizes(lines)
    is_known_output = find_advice(lines[:1]) is not None
    if lines[0].lstrip().startswith(("{", "[")) and not is_known_output:
        message = next((found for line in lines if (found := _parse_object(line)) is not None), {})
        if (advice := find_advice_on_message(message)) is not None:
            raise InvalidValue("log", advice)
        members = ", ".join(name[:40] for name in list(message)[:_SHOWN_MEMBERS])
        seen = f"its members are {members}" if members else "it is cut off or damaged"
        raise InvalidValue("--format", f"cannot be detected: it is JSON or logfmt, but of no known log; {seen}")


def _parse_object(line: str) -> Mapping[str, object] | None:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None


_TRANSFER = re.compile(r"\{|.*[Nn][Bb][Yy][Tt][Ee][Ss]=|.*\[pool:|\w{3} \w{3} [ \d]?\d \d\d:\d\d:\d\d \d{4} ")
"""How lines begin that are a transfer by themselves."""


def find_transfer_format(line: str) -> str | None:
    """Return the format in which a single line is a transfer, ``None`` of one that is none, or in no known format."""
    if line.startswith(('{"time"', '{"level"')) and '"msg"' in line:  # rclone's, mostly, which take the shortest way
        return "rclone" if '"stats"' in line else None
    if _TRANSFER.match(line) is None:
        return None
    name = find_format_of_line(line)
    if name == "rclone":
        return name if '"stats"' in line else None
    if name == "aws" or (name == "dcache" and ":transfer]" not in line):
        return None
    if name == "vsftpd" and VSFTPD_TRANSFER.fullmatch(line) is None:
        return None
    return name


def find_format_of_line(line: str) -> str | None:
    """Return the format that a single line is evidence of, ``None`` if it could be of any."""
    if is_transfer_of_gridftp(line):
        return "gridftp"
    for name, pattern in _PATTERNS:
        if pattern.match(line):
            return name
    if is_history(line):
        return "htcondor"
    if is_text_of_rclone(line):
        return "rclone"
    if line.lstrip().startswith("{"):
        message = _parse_object(line)
        return None if message is None else _find_format_of_message(message)
    return None


def _find_format_of_message(message: Mapping[str, object]) -> str | None:
    return next((name for name, is_one in _MESSAGES if is_one(message)), None)


def _is_message_of_fts(message: Mapping[str, object]) -> bool:
    inner = message.get("data")
    return "tr_id" in message or (isinstance(inner, dict) and "tr_id" in inner) or is_file_of_job(message)


def _is_message_of_globus(message: Mapping[str, object]) -> bool:
    return message.get("DATA_TYPE") in ("task", "event") or {"bytes_transferred", "request_time"} <= message.keys()


def _has(*members: str) -> Callable[[Mapping[str, object]], bool]:
    """Return whether a message has all of some members."""
    return lambda message: message.keys() >= set(members)


_MESSAGES: Sequence[tuple[str, Callable[[Mapping[str, object]], bool]]] = (
    ("fts", _is_message_of_fts),
    ("gridftp", is_object_of_gridftp),
    ("ndjson", _has("outcome", "dataset")),
    ("s5cmd", lambda message: "operation" in message and ("success" in message or "error" in message)),
    ("globus", _is_message_of_globus),
    ("curl", _has("size_download", "time_total", "speed_download")),
    ("azcopy", _has("MessageType", "MessageContent", "TimeStamp")),
    ("dcache", _has("msgType", "cellName", "pnfsid")),
    ("iperf3", is_test),
    ("rucio", is_message_of_rucio),
    ("htcondor", is_ad),
    ("xrootd", is_monitoring),
    ("rclone", is_message_of_rclone),
)
"""How messages of each format are recognised; the first that fits."""
