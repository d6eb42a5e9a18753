"""Transfer log of the GridFTP server: a line a file, ``DATE=… HOST=… START=… NBYTES=… STREAMS=… DEST=[…] TYPE=…``.

STREAMS is parallelism; concurrency follows from overlapping lines. The server writes UTC, and older ones the fraction
of a second as microseconds without leading zeros (``.2102`` is 2,102 µs). STOR is a file that came to HOST from DEST,
RETR one that went from HOST to DEST.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from functools import lru_cache
from typing import NamedTuple

from tradewind.errors import InvalidValue
from tradewind.parameters import Parameters
from tradewind.path import Path
from tradewind.transfer import Direction, Status
from tradewind_agent.history.importers.endpoints import is_unknown_address, name_endpoint
from tradewind_agent.history.importers.fields import check_name, parse_count, parse_setting
from tradewind_agent.history.importers.json_messages import find_message, find_text
from tradewind_agent.history.importers.log_text import Line, LogText
from tradewind_agent.history.importers.logged_transfer import TWO_IN_ONE, LoggedTransfer
from tradewind_agent.history.importers.ports import ImportContext, ImportedRow, ImportReport, RefusedRow
from tradewind_agent.history.importers.sessions import read_sessions

_BEFORE_FILE = ("DATE", "HOST", "PROG", "NL.EVNT", "START", "USER", "FILE")
_AFTER_FILE = ("BUFFER", "BLOCK", "NBYTES", "VOLUME", "STREAMS", "STRIPES", "DEST", "TYPE", "CODE", "TASKID", "retrans")
_KEY = re.compile(rf"(?:^|\s)({'|'.join(re.escape(key) for key in (*_BEFORE_FILE, *_AFTER_FILE))})=")
_ANY_CASE = re.compile(
    rf"(?<![^\s])({'|'.join(re.escape(key) for key in (*_BEFORE_FILE, *_AFTER_FILE))})=", re.IGNORECASE
)
_KEYS = {key.lower(): key for key in (*_BEFORE_FILE, *_AFTER_FILE)}
_NEEDED = frozenset({"DATE", "HOST", "START", "NBYTES", "STREAMS", "DEST", "TYPE", "CODE"})
_OTHER_KEYS = re.compile(r"(?:\s+[\w.]+=\S*)+")
USUAL = re.compile(
    r"DATE=(\S+) HOST=(\S+) PROG=\S+ NL\.EVNT=\S+ START=(\S+) USER=[^\s=]* FILE=[^=]* BUFFER=(\d+) BLOCK=(\d+) "
    r"NBYTES=(\d+) VOLUME=[^\s=]* STREAMS=(\d+) STRIPES=\d+ DEST=(\[[^\]=]*\]) TYPE=(\w+) CODE=(\d+)"
    r"(?: TASKID=([^\s=]+))?(?: retrans=[\d,]*)?"
)
"""The line of today's servers, where no name holds a ``=``; its groups are the fields of `_Values`."""

_EVENT = " NL.EVNT=FTP_INFO START="
_MOMENT = re.compile(r"[0-9]{14}(?:\.[0-9]{1,6})?")
_PEER = re.compile(r"[0-9]*\[(\[[^\]]*\](?::\d+)?|[^\]]*)\]")
_COMPLETE = frozenset({"226", "250"})
"""Replies after a transfer that was completed (RFC 959)."""

_RECEIVED = frozenset({"STOR", "ESTO", "APPE"})
_SENT = frozenset({"RETR", "ERET"})
_TRANSFERS = _RECEIVED | _SENT
_TRANSFER_WITHIN = re.compile(r"\bDATE=\d{14}\S* .*\bNBYTES=\d")
"""A transfer that text around it makes unreadable."""

_REMEMBERED = 4096
"""Distinct settings and pairs of ends of a log."""

_MOST_TASKS = 10_000
"""Tasks whose peers are remembered."""


class _Values(NamedTuple):
    """Values of a line as it writes them; "" where it has none, but ``None`` for no ``code``."""

    date: str
    host: str
    start: str
    buffer: str
    block: str
    moved: str
    streams: str
    peer: str
    command: str
    code: str | None
    task: str


def is_transfer_of_gridftp(text: str) -> bool:
    """Return whether a line has the keys of a transfer, in whatever case a collector wrote them."""
    if "NBYTES=" in text:
        return "START=" in text and "DATE=" in text
    lower = text.lower()
    return all(key in lower for key in ("nbytes=", "start=", "date=")) and _KEY.search(restore_keys(text)) is not None


def is_object_of_gridftp(message: Mapping[str, object]) -> bool:
    """Return whether a JSON object has the keys of a transfer, as a collector parsed its line."""
    return {"DATE", "START", "NBYTES"} <= {name.upper() for name in message}


def restore_keys(text: str) -> str:
    """Return a line with its keys in the case that the server writes them in."""
    return _ANY_CASE.sub(lambda found: f"{_KEYS[found[1].lower()]}=", text)


class GridFtpImporter:
    """Transfer logs of globus-gridftp-server and of servers that write the same line."""

    name = "gridftp"

    def read_rows(
        self, text: LogText, context: ImportContext, report: ImportReport
    ) -> Iterator[ImportedRow | RefusedRow]:
        """Yield a record a file; otherwise as ``Importer.read_rows``."""
        if context.timezone is None:
            report.assume("times are UTC, as the server writes them")
        report.assume("a file stored is an upload and one retrieved a download; that a third party asked is not logged")
        return read_sessions(text, _make_reader(context, report), context, report)


@dataclass(slots=True)
class _Pools:
    """Sees whether one task moved files with several addresses of a pool of movers."""

    report: ImportReport
    peers: dict[str, str] = field(default_factory=dict)

    def note(self, task: str, peer: str) -> None:
        if task in ("", "none") or len(self.peers) >= _MOST_TASKS:
            return
        if (other := self.peers.setdefault(task, peer)) != peer:
            self.report.assume(
                f"addresses that one task used, such as {min(other, peer)} and {max(other, peer)}, are endpoints of "
                "their own; --alias 'PATTERN=NAME' joins them"
            )


def _make_reader(context: ImportContext, report: ImportReport) -> Callable[[Line], LoggedTransfer | None]:
    """Return the function that reads the lines of one log; it remembers ends, which repeat."""
    pools = _Pools(report)
    zone = context.zone

    @lru_cache(_REMEMBERED)
    def read_ends(command: str, host: str, peer: str) -> tuple[Direction, str, str]:
        return _read_ends(command, host, peer, context)

    def read(line: Line) -> LoggedTransfer | None:
        values = _find_values(line.text)
        if values is None:
            if _TRANSFER_WITHIN.search(line.text):
                raise InvalidValue("row", "holds a transfer within another format; take off what is around it")
            report.skip("messages of the server")
            return None
        if values.command not in _TRANSFERS and values.command and values.code is not None:
            report.skip("listings and other commands")
            return None
        is_complete = values.code in _COMPLETE
        if is_complete and values.moved == "0":
            report.skip("empty files")
            return None
        direction, source, destination = read_ends(values.command, values.host, values.peer)
        started_at = _parse_moment("started_at", values.start, zone)
        ended_at = _parse_moment("ended_at", values.date, zone)
        moved = parse_count("outcome.bytes_moved", values.moved)
        pools.note(values.task, destination if direction is Direction.DOWNLOAD else source)
        return LoggedTransfer(
            started_at=started_at,
            ended_at=ended_at,
            source=source,
            destination=destination,
            mover="gridftp",
            protocol="gridftp",
            direction=direction,
            status=Status.SUCCEEDED if is_complete else Status.FAILED,
            moved_bytes=moved,
            total_bytes=moved,
            path=_read_path(values.buffer),
            parameters=_read_parameters(values.streams, values.block),
            identity=line.text if "." in values.date else "",
        )

    return read


@lru_cache(_REMEMBERED)
def _read_path(buffer: str) -> Path:
    return Path(buffer_bytes=_parse_size("path.buffer_bytes", buffer))


@lru_cache(_REMEMBERED)
def _read_parameters(streams: str, block: str) -> Parameters:
    return Parameters(
        parallelism=parse_setting("parameters.parallelism", streams),
        io_block_bytes=_parse_size("parameters.io_block_bytes", block),
    )


def _find_values(text: str) -> _Values | None:
    """Return the values of a line, or ``None`` of one that is about no transfer.

    A file name may hold blanks and even ``KEY=``: of keys after it the last counts, of others the first.

    Raises
    ------
    InvalidValue : another line begins within it.
    """
    usual = USUAL.fullmatch(text)
    if usual is not None:
        return _Values._make(usual.groups(""))
    if text.startswith("{"):
        message = find_message(text)
        return _build_values({_KEYS.get(name.lower(), name): find_text(message, name).strip() for name in message})
    if text.count(_EVENT) > 1 or restore_keys(text).count(_EVENT) > 1:
        raise InvalidValue("row", TWO_IN_ONE)
    values = _split_values(text)
    if not values.keys() >= _NEEDED:
        values = _split_values(restore_keys(text)) | values
    return _build_values(values)


def _split_values(text: str) -> dict[str, str]:
    found = list(_KEY.finditer(text))
    values: dict[str, str] = {}
    ends = [*(match.start() for match in found[1:]), len(text)]
    for match, end in zip(found, ends, strict=False):
        value = text[match.end() : end]
        if match[1] in _AFTER_FILE:
            values[match[1]] = _OTHER_KEYS.sub("", value).strip()
        else:
            values.setdefault(match[1], value.strip())
    return values


def _build_values(values: Mapping[str, str]) -> _Values | None:
    if not {"DATE", "START", "NBYTES"} & values.keys():
        return None
    return _Values(
        date=values.get("DATE", ""),
        host=values.get("HOST", ""),
        start=values.get("START", ""),
        buffer=values.get("BUFFER", "0"),
        block=values.get("BLOCK", "0"),
        moved=values.get("NBYTES", ""),
        streams=values.get("STREAMS", ""),
        peer=values.get("DEST", ""),
        command=values.get("TYPE", ""),
        code=values.get("CODE"),
        task=values.get("TASKID", ""),
    )


def _parse_moment(name: str, text: str, zone: tzinfo) -> datetime:
    if _MOMENT.fullmatch(text) is None:
        raise InvalidValue(name, "is missing" if not text else f"is no time: {text[:40]!r}")
    try:
        at = datetime.fromisoformat(f"{text[:8]}T{text[8:14]}.{text[15:]:0>6}Z")
        return at if zone is UTC else at.replace(tzinfo=zone).astimezone(UTC)
    except (ValueError, OverflowError):
        raise InvalidValue(name, f"does not exist: {text[:40]!r}") from None


def _parse_size(name: str, text: str) -> int | None:
    """Size in bytes; the server writes 0 for what it left to the system."""
    return parse_count(name, text) or None


def _read_ends(command: str, host: str, dest: str, context: ImportContext) -> tuple[Direction, str, str]:
    if command not in _TRANSFERS:
        raise InvalidValue("direction", f"is no transfer of a file: TYPE is {command[:20]!r}")
    match = _PEER.fullmatch(dest)
    peer = match[1].strip() if match else ""
    server = check_name("source" if command in _SENT else "destination", name_endpoint(host, context.aliases))
    if command in _SENT:
        return Direction.DOWNLOAD, server, _find_peer("destination", peer, context.destination, context)
    return Direction.UPLOAD, _find_peer("source", peer, context.source, context), server


def _find_peer(end: str, address: str, given: str | None, context: ImportContext) -> str:
    """Return the other end; the server writes 0.0.0.0 or 0::0 where it does not know it."""
    if not is_unknown_address(address):
        return check_name(end, name_endpoint(address, context.aliases))
    if given is None:
        raise InvalidValue(end, f"is not in the line (DEST is {address or 'missing'}); give it with --{end}")
    return check_name(end, given)
