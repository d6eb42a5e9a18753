"""Transfer log of the GridFTP server: a line a file, ``DATE=… HOST=… START=… NBYTES=… STREAMS=… DEST=[…] TYPE=…``.

STREAMS is parallelism; concurrency follows from overlapping lines. The server writes UTC, and older ones the fraction
of a second as microseconds without leading zeros (``.2102`` is 2,102 µs). STOR is a file that came to HOST from DEST,
RETR one that went from HOST to DEST.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache

from tradewind.errors import InvalidValue
from tradewind.parameters import Parameters
from tradewind.path import Path
from tradewind.transfer import Direction, Status
from tradewind_agent.history.importers.endpoints import is_unknown_address, name_endpoint
from tradewind_agent.history.importers.fields import (
    check_name,
    parse_number,
    parse_setting,
    round_within,
    to_utc,
)
from tradewind_agent.history.importers.log_text import Line, LogText
from tradewind_agent.history.importers.logged_transfer import LoggedTransfer
from tradewind_agent.history.importers.ports import ImportContext, ImportedRow, ImportReport, RefusedRow
from tradewind_agent.history.importers.sessions import read_sessions

_BEFORE_FILE = ("DATE", "HOST", "PROG", "NL.EVNT", "START", "USER", "FILE")
_AFTER_FILE = ("BUFFER", "BLOCK", "NBYTES", "VOLUME", "STREAMS", "STRIPES", "DEST", "TYPE", "CODE", "TASKID", "retrans")
_KEY = re.compile(rf"(?:^|\s)({'|'.join(re.escape(key) for key in (*_BEFORE_FILE, *_AFTER_FILE))})=")
_USUAL_KEYS = (
    "DATE", "HOST", "START", "FILE", "BUFFER", "BLOCK", "NBYTES", "STREAMS", "DEST", "TYPE", "CODE", "TASKID",
)  # fmt: skip
_USUAL = re.compile(
    r"DATE=(\S+) HOST=(\S+) PROG=\S+ NL\.EVNT=\S+ START=(\S+) USER=[^\s=]* FILE=([^=]*) BUFFER=(\d+) BLOCK=(\d+) "
    r"NBYTES=(\d+) VOLUME=[^\s=]* STREAMS=(\d+) STRIPES=\d+ DEST=(\[[^\]=]*\]) TYPE=(\w+) CODE=(\d+)"
    r"(?: TASKID=([^\s=]+))?(?: retrans=[\d,]*)?"
)
"""The line of today's servers, where no name holds a ``=``."""

_MOMENT = re.compile(r"[0-9]{14}(?:\.[0-9]{1,6})?")
_PEER = re.compile(r"[0-9]*\[([^\]]*)\]")
_COMPLETE = "226"
_RECEIVED = frozenset({"STOR", "ESTO", "APPE"})
_SENT = frozenset({"RETR", "ERET"})
_REMEMBERED = 4096
"""Distinct settings of a log."""

_MOST_TASKS = 10_000
"""Tasks whose peers are remembered."""


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
        pools = _Pools(report)
        return read_sessions(text, lambda line: _read_record(line, context, report, pools), context, report)


@dataclass(slots=True)
class _Pools:
    """Sees whether one task moved files with several addresses of a pool of movers."""

    report: ImportReport
    peers: dict[str, str] = field(default_factory=dict)

    def note(self, values: Mapping[str, str], peer: str) -> None:
        task = values.get("TASKID") or "none"
        if task == "none" or len(self.peers) >= _MOST_TASKS:
            return
        if (other := self.peers.setdefault(task, peer)) != peer:
            self.report.assume(
                f"addresses that one task used, such as {min(other, peer)} and {max(other, peer)}, are endpoints of "
                "their own; --alias 'PATTERN=NAME' joins them"
            )


def _read_record(line: Line, context: ImportContext, report: ImportReport, pools: _Pools) -> LoggedTransfer | None:
    """Return the transfer of a line; ``None`` for lines of no transfer, which are counted.

    Raises
    ------
    InvalidValue : a line of a transfer that is damaged, or lacks an end.
    """
    values = _build_values(line.text)
    if not {"DATE", "START", "NBYTES"} & values.keys():
        report.skip("messages of the server")
        return None
    if (command := values.get("TYPE", "")) and command not in _RECEIVED | _SENT and "CODE" in values:
        report.skip("listings and other commands")
        return None
    if values.get("CODE") == _COMPLETE and values.get("NBYTES") == "0":
        report.skip("empty files")
        return None
    direction, source, destination = _read_ends(values, context)
    started_at = _parse_moment("started_at", values.get("START", ""), context)
    ended_at = _parse_moment("ended_at", values.get("DATE", ""), context)
    complete = values.get("CODE") == _COMPLETE
    moved = round_within("outcome.bytes_moved", parse_number("outcome.bytes_moved", values.get("NBYTES", "")), 0)
    pools.note(values, destination if direction is Direction.DOWNLOAD else source)
    return LoggedTransfer(
        started_at=started_at,
        ended_at=ended_at,
        source=source,
        destination=destination,
        mover="gridftp",
        protocol="gridftp",
        direction=direction,
        status=Status.SUCCEEDED if complete else Status.FAILED,
        moved_bytes=moved,
        total_bytes=moved,
        path=_read_path(values.get("BUFFER", "0")),
        parameters=_read_parameters(values.get("STREAMS", ""), values.get("BLOCK", "0")),
    )


@lru_cache(_REMEMBERED)
def _read_path(buffer: str) -> Path:
    return Path(buffer_bytes=_parse_size("path.buffer_bytes", buffer))


@lru_cache(_REMEMBERED)
def _read_parameters(streams: str, block: str) -> Parameters:
    return Parameters(
        parallelism=parse_setting("parameters.parallelism", streams),
        io_block_bytes=_parse_size("parameters.io_block_bytes", block),
    )


def _build_values(text: str) -> Mapping[str, str]:
    """Return the values by key.

    A file name may hold blanks and even ``KEY=``: of keys after it the last counts, of others the first.
    """
    usual = _USUAL.fullmatch(text)
    if usual is not None:
        return dict(zip(_USUAL_KEYS, usual.groups(""), strict=True))
    found = list(_KEY.finditer(text))
    values: dict[str, str] = {}
    ends = [*(match.start() for match in found[1:]), len(text)]
    for match, end in zip(found, ends, strict=False):
        value = text[match.end() : end].strip()
        if match[1] in _AFTER_FILE or match[1] not in values:
            values[match[1]] = value
    return values


def _parse_moment(name: str, text: str, context: ImportContext) -> datetime:
    if _MOMENT.fullmatch(text) is None:
        raise InvalidValue(name, "is missing" if not text else f"is no time: {text[:40]!r}")
    try:
        at = datetime(
            int(text[:4]), int(text[4:6]), int(text[6:8]), int(text[8:10]), int(text[10:12]), int(text[12:14]),
            int(text[15:] or 0), tzinfo=context.timezone or UTC,
        )  # fmt: skip
    except ValueError:
        raise InvalidValue(name, f"does not exist: {text[:40]!r}") from None
    return to_utc(at)


def _parse_size(name: str, text: str) -> int | None:
    """Size in bytes; the server writes 0 for what it left to the system."""
    return round_within(name, parse_number(name, text), 0) or None


def _read_ends(values: Mapping[str, str], context: ImportContext) -> tuple[Direction, str, str]:
    command = values.get("TYPE", "")
    if command not in _RECEIVED | _SENT:
        raise InvalidValue("direction", f"is no transfer of a file: TYPE is {command[:20]!r}")
    match = _PEER.fullmatch(values.get("DEST", ""))
    peer = match[1].strip() if match else ""
    host = check_name(
        "source" if command in _SENT else "destination", name_endpoint(values.get("HOST", ""), context.aliases)
    )
    if command in _SENT:
        return Direction.DOWNLOAD, host, _find_peer("destination", peer, context.destination, context)
    return Direction.UPLOAD, _find_peer("source", peer, context.source, context), host


def _find_peer(end: str, address: str, given: str | None, context: ImportContext) -> str:
    """Return the other end; the server writes 0.0.0.0 or 0::0 where it does not know it."""
    if not is_unknown_address(address):
        return check_name(end, name_endpoint(address, context.aliases))
    if given is None:
        raise InvalidValue(end, f"is not in the line (DEST is {address or 'missing'}); give it with --{end}")
    return check_name(end, given)
