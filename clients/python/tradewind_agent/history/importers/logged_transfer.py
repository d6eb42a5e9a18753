"""What a log says of one transfer, and the record that it makes."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from functools import lru_cache
from urllib.parse import urlsplit

from tradewind.dataset import DataSet
from tradewind.errors import InvalidValue
from tradewind.parameters import UNKNOWN_PARAMETERS, Parameters
from tradewind.path import UNKNOWN_PATH, Path
from tradewind.quick_init import add_quick_init
from tradewind.transfer import Direction, LinkKey, Mover, Status, TransferOutcome, TransferRecord
from tradewind.units import compute_throughput_bps
from tradewind.wire.base import EARLIEST_INSTANT, END_OF_INSTANTS
from tradewind_agent.history.importers.endpoints import is_unknown_address, name_endpoint
from tradewind_agent.history.importers.fields import check_instant, check_name, to_utc
from tradewind_agent.history.importers.identity import compute_record_id
from tradewind_agent.history.importers.instants import SHOWN_TWICE, compute_twice_s, parse_epoch
from tradewind_agent.history.importers.log_text import Line
from tradewind_agent.history.importers.ports import ImportContext, ImportReport

TWO_IN_ONE = "is cut off, and another line begins within it: two processes wrote at once, or the disk was full"
"""Why a line that holds two is refused: parts of both would make one wrong transfer."""

_REMEMBERED = 4096
"""Distinct settings and paths of a log."""


@add_quick_init
@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedTransfer:
    """One transfer in the values of the record; it ended after it started, within 1990 to 2100.

    ``mover`` : its program, unless the user names another.
    ``files_done`` : all files of a success and none of a failure, where the log does not count them.
    ``rate_bps`` : where the log has a better one than bytes over duration.
    ``identity`` : a text that no other transfer of its program has, "" where nothing is known to be.
    """

    started_at: datetime
    ended_at: datetime
    source: str
    destination: str
    mover: str
    direction: Direction
    status: Status
    moved_bytes: int
    total_bytes: int
    protocol: str = "unknown"
    version: str | None = None
    file_count: int = 1
    files_done: int | None = None
    rate_bps: float | None = None
    retransmitted_bytes: int | None = None
    path: Path = UNKNOWN_PATH
    parameters: Parameters = UNKNOWN_PARAMETERS
    store: str | None = None
    identity: str = ""

    def __post_init__(self) -> None:
        if EARLIEST_INSTANT <= self.started_at < self.ended_at < END_OF_INSTANTS:
            return
        check_instant("started_at", self.started_at)
        check_instant("ended_at", self.ended_at)
        raise InvalidValue("ended_at", "is not after started_at")

    def compute_rate_bps(self) -> float:
        """Return the rate as the log has it, or else bytes over duration."""
        if self.rate_bps is not None:
            return self.rate_bps
        return compute_throughput_bps(self.moved_bytes, (self.ended_at - self.started_at).total_seconds())

    def to_record(self, line: Line, context: ImportContext, *, concurrency: int | None = None) -> TransferRecord:
        """Return the record of a transfer whose last line, or only one, is ``line``.

        Parameters
        ----------
        concurrency : as other lines show it; ``None`` leaves that of the parameters.
        """
        succeeded = self.status is Status.SUCCEEDED
        done = (self.file_count if succeeded else 0) if self.files_done is None else self.files_done
        mover = _make_mover(context.mover or self.mover, self.version)
        return TransferRecord(
            id=compute_record_id(LinkKey(self.source, self.destination, context.network, mover.name), line),
            started_at=to_utc(self.started_at),
            ended_at=to_utc(self.ended_at),
            source=self.source,
            destination=self.destination,
            mover=mover,
            protocol=self.protocol,
            direction=self.direction,
            dataset=DataSet(file_count=self.file_count, total_bytes=self.total_bytes),
            outcome=TransferOutcome(
                status=self.status,
                bytes_moved=self.moved_bytes,
                files_done=done,
                files_failed=0 if succeeded else max(self.file_count - done, 0),
                throughput_bps=self.compute_rate_bps(),
                retransmitted_bytes=self.retransmitted_bytes,
            ),
            path=complete_path(self.path, context.path),
            parameters=self.parameters if concurrency is None else set_concurrency(self.parameters, concurrency),
            store=self.store,
            network=context.network,
        )


_make_mover = lru_cache(_REMEMBERED)(Mover)


@lru_cache(_REMEMBERED)
def set_concurrency(parameters: Parameters, concurrency: int) -> Parameters:
    """Return parameters with another concurrency; logs repeat a few."""
    return replace(parameters, concurrency=concurrency)


def complete_path(path: Path, given: Path) -> Path:
    """Return a path with what the user gives of it."""
    return path if given is UNKNOWN_PATH else _complete_path(path, given)


_complete_path = lru_cache(_REMEMBERED)(Path.complete_from)


def name_end(end: str, found: str, context: ImportContext) -> str:
    """Return the name of an end as the log has it, or as the user gives it where the log has none.

    Parameters
    ----------
    end : "source" or "destination".

    Raises
    ------
    InvalidValue : neither names it, or no name can be made of it.
    """
    if found.strip() and not is_unknown_address(found):
        return check_name(end, name_endpoint(found, context.aliases))
    given = context.source if end == "source" else context.destination
    if given is None:
        raise InvalidValue(end, f"is not in the log; give it with --{end}")
    return check_name(end, given)


def is_local_copy(protocol: str) -> bool:
    """Return whether a protocol only copies within a host, or only in a test, so that no network is crossed."""
    return protocol.lower() in ("file", "mock")


def name_server_and_client(client: str, context: ImportContext, *, is_sent: bool) -> tuple[str, str]:
    """Return source and destination of a line that names the client alone; the server is what the user names.

    Raises
    ------
    InvalidValue : the user does not name the server.
    """
    server_end, client_end = ("source", "destination") if is_sent else ("destination", "source")
    given = context.source if is_sent else context.destination
    if given is None:
        raise InvalidValue(server_end, f"is the server, which the line does not name; give it with --{server_end}")
    server, name = check_name(server_end, given), name_end(client_end, client, context)
    return (server, name) if is_sent else (name, server)


def find_url_part(url: str, part: str) -> str:
    """Return a part of an address, such as its ``hostname``; "" where it has none."""
    try:
        return getattr(urlsplit(url), part) or ""
    except ValueError:
        return ""


def parse_moment(name: str, text: str, zone: tzinfo = UTC) -> datetime:
    """Parse a time in any notation that logs of services use: ISO 8601, or s, ms, µs or ns since 1970.

    Raises
    ------
    InvalidValue : it is missing, or no time.
    """
    stripped = text.strip()
    if (at := parse_epoch(stripped)) is not None:
        return at
    try:
        at = datetime.fromisoformat(stripped)
    except ValueError:
        raise InvalidValue(name, _explain_no_time(stripped)) from None
    # As UTC: Python takes times of one zone from each other as its clock shows them, though it was changed in between.
    return (at if at.utcoffset() is not None else at.replace(tzinfo=zone)).astimezone(UTC)


def _explain_no_time(text: str) -> str:
    if not text:
        return "is missing"
    if text.replace(".", "", 1).isdecimal():
        return f"is no time: {text[:40]!r}; numbers are s, ms, µs or ns since 1970, from 2001 to 2065"
    return f"is no time: {text[:40]!r}"


def assume_first_time(at: datetime, context: ImportContext, report: ImportReport) -> None:
    """Report that a time without a zone is one that clocks of ``--timezone`` showed twice, if it is."""
    if context.timezone is not None and compute_twice_s(at.astimezone(context.zone)):
        report.assume(SHOWN_TWICE)


def add_year(at: datetime, context: ImportContext, report: ImportReport) -> datetime:
    """Return a time whose log writes no year, with the year of ``--start``, or else by when the file was written to.

    Raises
    ------
    InvalidValue : nothing dates it, or it does not exist in that year.
    """
    if context.started_at is not None:
        year = context.started_at.astimezone(context.zone).year
    elif context.written_at is not None:
        latest = context.written_at.astimezone(context.zone)
        year = latest.year - (1 if (at.month, at.day) > (latest.month, latest.day) else 0)
        report.assume(f"the year is {year}, by when the file was last written to; --start names another")
    else:
        raise InvalidValue("ended_at", "has no year; give --start")
    try:
        return at.replace(year=year)
    except ValueError:
        raise InvalidValue("ended_at", f"does not exist in {year}") from None
