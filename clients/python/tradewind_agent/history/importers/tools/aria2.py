"""Console log of aria2c: progress summaries, notices and the table of results at the end; a file is a record.

The table gives the mean rate, a summary the size and the connections (CN, parallelism), the number of files in one
summary the concurrency. Sizes are rounded to two or three digits by aria2 itself.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import MappingProxyType

from tradewind.errors import InvalidValue
from tradewind.parameters import Parameters
from tradewind.transfer import Direction, Status, TransferRecord
from tradewind.units import BITS_PER_BYTE, parse_bps, parse_bytes
from tradewind_agent.history.importers.fields import (
    MAX_SETTING,
    check_instant,
    require_possible_rate,
    round_within,
)
from tradewind_agent.history.importers.log_text import Line, LogText
from tradewind_agent.history.importers.logged_transfer import LoggedTransfer, add_year
from tradewind_agent.history.importers.ports import (
    ImportContext,
    ImportedRow,
    ImportReport,
    RefusedRow,
    refuse_row,
    require_ends,
)

_SIZE = r"[0-9.]{1,12}(?:[KMGTP]i)?B"
_PROGRESS = re.compile(rf"#([0-9a-f]{{6}}) ({_SIZE})/({_SIZE})(?:\([0-9]+%\))?(?: CN:([0-9]{{1,5}}))?")
_SEEDING = re.compile(r"#([0-9a-f]{6}) SEED\(")
"""A torrent that is complete; its notice comes when the seeding has ended, too."""

_NOTICE = re.compile(
    r"(?:([0-9]{4})-([0-9]{2})-([0-9]{2})|([0-9]{2})/([0-9]{2})) ([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.[0-9]+)? "
    r"\[[A-Z]+\] (?:\[[^\]]*\] )?(.*)"
)
_SUMMARY = re.compile(
    r"\*\*\* Download Progress Summary as of \w{3} (\w{3}) +([0-9]{1,2}) ([0-9]{2}):([0-9]{2}):([0-9]{2}) ([0-9]{4})"
)
_RESULT = re.compile(rf"([0-9a-f]{{6}})\|(\w+) *\| *({_SIZE})/s\|(?: *[0-9-]+\|)?(.*)")
_OF_SEVERAL = re.compile(r" \(\d+more\)$")
"""Behind the first path of a download of several files, in the table of results alone."""

_LOG_FILE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ \[[A-Z]+\] \[\w+\.cc:\d+\] ")
_OF_PATH = re.compile(r".*?[:：] ?(.+)")
"""Notices that name a file at their end are of its completion, or of its failure, in any language."""
_MONTHS: Mapping[str, int] = MappingProxyType(
    {
        name: 1 + index
        for index, name in enumerate(
            ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        )
    }
)
_STATUS: Mapping[str, Status] = MappingProxyType(
    {"OK": Status.SUCCEEDED, "ERR": Status.FAILED, "INPR": Status.CANCELLED, "RM": Status.CANCELLED}
)
_MOST_FILES = 10_000
"""Files under way or awaiting the table of results that are kept track of."""

_LONGEST_S = 1e8
_ROUNDED = 0.15
"""Share by which size over rate may be too long, as both are rounded to two digits."""

_LAST_LINES = "Status Legend"
"""What the last lines of a run begin with."""

_FIRST_NOTICE_S = 5.0
"""By which the first notice may be later than the first byte: its time is in full seconds."""


@dataclass(slots=True)
class _Download:
    """What summaries said of one file."""

    line: Line
    done_text: str = "0B"
    total_text: str = "0B"
    connections: int = 0
    concurrent: int = 1


@dataclass(slots=True)
class _Log:
    """What the lines so far leave to be known."""

    context: ImportContext
    report: ImportReport
    downloads: dict[str, _Download] = field(default_factory=dict)
    completed: dict[str, tuple[int | None, datetime]] = field(default_factory=dict)
    in_summary: set[str] = field(default_factory=set)
    seeding: dict[str, datetime] = field(default_factory=dict)
    latest: datetime | None = None
    first_notice: tuple[int | None, datetime] | None = None

    def read_progress(self, line: Line) -> None:
        if line.text.startswith(_LAST_LINES):
            self.first_notice = None
        found = _PROGRESS.findall(line.text)
        for gid in _SEEDING.findall(line.text):
            if self.latest is not None and len(self.seeding) < _MOST_FILES:
                self.seeding.setdefault(gid, self.latest)
        self.in_summary.update(gid for gid, *_ in found)
        for gid, done, total, connections in found:
            if gid not in self.downloads and len(self.downloads) < _MOST_FILES:
                self.downloads[gid] = _Download(line)
            if (download := self.downloads.get(gid)) is not None:
                download.done_text, download.total_text = done, total
                download.connections = max(download.connections, int(connections or 0))
        for gid in self.in_summary & self.downloads.keys():
            self.downloads[gid].concurrent = max(self.downloads[gid].concurrent, len(self.in_summary))
        if len(self.in_summary) > _MOST_FILES:
            self.in_summary.clear()

    def read_summary(self, match: re.Match[str]) -> None:
        self.in_summary.clear()
        day, hour, minute, second, year = (int(match[index]) for index in range(2, 7))
        try:
            self.latest = datetime(year, _MONTHS.get(match[1], 0), day, hour, minute, second, tzinfo=self.context.zone)
        except ValueError:
            raise InvalidValue("ended_at", f"does not exist: {match[0][-24:]!r}") from None

    def read_notice(self, match: re.Match[str]) -> None:
        named = _OF_PATH.fullmatch(match[9].strip())
        if len(self.completed) >= _MOST_FILES or (named is None and self.first_notice is not None):
            return
        year = int(match[1]) if match[1] else None
        month, day = int(match[2] or match[4]), int(match[3] or match[5])
        try:
            at = datetime(  # 2000 is a leap year and stands in for the one that is not written
                year or 2000, month, day, int(match[6]), int(match[7]), int(match[8]), tzinfo=self.context.zone
            )
        except ValueError:
            raise InvalidValue("ended_at", f"does not exist: {match[0][:20]!r}") from None
        if named is None:
            self.first_notice = self.first_notice or (year, at)
        else:
            self.completed[named[1].strip()] = (year, at)

    def find_end(self, path: str) -> datetime:
        """Return when a file was complete, or the latest summary's time; console notices have no year, summaries do."""
        year, at = self.completed.pop(path, (None, None))
        if at is None:
            if self.latest is None:
                raise InvalidValue("ended_at", "is not in the log: there is neither a notice nor a summary")
            return self.latest
        return at if year is not None else self._date(at)

    def require_possible_start(self, started_at: datetime, duration_s: float) -> None:
        """Refuse a download that lasted for longer than its run: an earlier run had moved a part of it.

        Raises
        ------
        InvalidValue : its size over its rate leads to before the first notice, by more than rounded sizes explain.
        """
        if self.first_notice is None:
            return
        year, at = self.first_notice
        before_s = ((at if year is not None else self._date(at)) - started_at).total_seconds()
        if before_s > _ROUNDED * duration_s + _FIRST_NOTICE_S:
            reason = "is not in the log: a part of the file was there before this run of aria2"
            raise InvalidValue("outcome.bytes_moved", reason)

    def _date(self, at: datetime) -> datetime:
        """Return a time with its year: that of the latest summary, or what else dates the log."""
        latest = self.latest
        if latest is None:
            return add_year(at, self.context, self.report)
        years = list(_list_years(at, latest.year))
        if not years:
            raise InvalidValue("ended_at", f"does not exist in {latest.year}")
        return min(years, key=lambda each: abs(each - latest))


def _list_years(at: datetime, year: int) -> Iterator[datetime]:
    """Yield a time in a year and in those next to it, as far as it exists in them."""
    for each in (year - 1, year, year + 1):
        with suppress(ValueError):
            yield at.replace(year=each)


def require_sizes(lines: Iterable[str]) -> None:
    """Refuse the log file that aria2 writes itself, unless what it prints is in the same file.

    Raises
    ------
    InvalidValue : there is neither a size nor a rate in it.
    """
    texts = list(lines)
    if any("[#" in text or _RESULT.match(text) or _SUMMARY.search(text) for text in texts):
        return
    if any(_LOG_FILE.match(text) for text in texts):
        raise InvalidValue(
            "--format",
            "is aria2's log file (--log), which holds no sizes; keep what aria2c prints, such as by "
            "`aria2c --summary-interval=10 … | tee FILE`",
        )


def has_open_downloads(lines: Iterable[Line]) -> bool:
    """Return whether a download was under way and has no line in a table of results."""
    open_ones: set[str] = set()
    for line in lines:
        if (result := _RESULT.match(line.text)) is not None:
            open_ones.discard(result[1])
        elif "[#" in line.text and len(open_ones) < _MOST_FILES:
            open_ones.update(gid for gid, *_ in _PROGRESS.findall(line.text))
    return bool(open_ones)


class Aria2Importer:
    """What aria2c prints, written to a file with ``>`` or ``tee``."""

    name = "aria2"

    def read_rows(
        self, text: LogText, context: ImportContext, report: ImportReport
    ) -> Iterator[ImportedRow | RefusedRow]:
        """Yield a record a file; otherwise as ``Importer.read_rows``."""
        require_ends(context)
        require_sizes(text.read_sample().split("\n"))
        if context.timezone is None:
            report.assume("times without a zone are taken as UTC; --timezone names another")
        report.assume("a file lasts for its size over the mean rate in the table of results, both as rounded by aria2")
        return _list_rows(text, context, report)


def _list_rows(text: LogText, context: ImportContext, report: ImportReport) -> Iterator[ImportedRow | RefusedRow]:
    log = _Log(context, report)
    for line in text.read_lines():
        try:
            if line.fault is not None:
                raise line.fault
            if (result := _RESULT.match(line.text)) is not None:
                if _has_moved_nothing(result, log):
                    report.skip("downloads that failed before their first byte, or found their file complete")
                else:
                    yield ImportedRow(_build_record(result, line, log), line.number, text=line.text)
            elif (summary := _SUMMARY.search(line.text)) is not None:
                log.read_summary(summary)
            elif (notice := _NOTICE.match(line.text)) is not None:
                log.read_notice(notice)
            elif "[#" in line.text or line.text.startswith(_LAST_LINES):
                log.read_progress(line)
        except InvalidValue as invalid:
            yield refuse_row(line.number, invalid, line.text)
    for download in log.downloads.values():
        unfinished = InvalidValue("outcome.status", "is not in the log: the download has no line in a table of results")
        yield refuse_row(download.line.number, unfinished, download.line.text)


def _has_moved_nothing(result: re.Match[str], log: _Log) -> bool:
    """Return whether a download failed without a byte, or found its file complete, so that no summary has it."""
    return result[2] in ("ERR", "OK") and result[3] == "0B" and result[1] not in log.downloads


def _build_record(result: re.Match[str], line: Line, log: _Log) -> TransferRecord:
    context = log.context
    download = log.downloads.pop(result[1], None)
    status = _STATUS.get(result[2])
    if status is None:
        raise InvalidValue("outcome.status", f"is unknown: {result[2][:20]!r}")
    stopped_at = log.find_end(_OF_SEVERAL.sub("", result[4].strip()))
    ended_at = check_instant("ended_at", min(stopped_at, log.seeding.pop(result[1], stopped_at)))
    if download is None:
        raise InvalidValue("dataset.total_bytes", "is not in the log: the file was done before the first summary")
    rate_bps = parse_bps(result[3] + "/s")
    total = round_within("dataset.total_bytes", parse_bytes(download.total_text), 1)
    succeeded = status is Status.SUCCEEDED
    moved = total if succeeded else round_within("outcome.bytes_moved", parse_bytes(download.done_text), 0)
    if rate_bps <= 0 or moved == 0:
        raise InvalidValue("outcome.throughput_bps", "is zero")
    require_possible_rate(rate_bps, context.bandwidth_bps)
    duration_s = BITS_PER_BYTE * moved / rate_bps
    if not 1e-6 <= duration_s <= _LONGEST_S:
        raise InvalidValue("ended_at", f"is not after started_at by a possible time: {duration_s:g} s")
    log.require_possible_start(ended_at - timedelta(seconds=duration_s), duration_s)
    source, destination = require_ends(context)
    return LoggedTransfer(
        started_at=ended_at - timedelta(seconds=duration_s),
        ended_at=ended_at,
        source=source,
        destination=destination,
        mover="aria2",
        direction=Direction.DOWNLOAD,
        status=status,
        moved_bytes=moved,
        total_bytes=total,
        rate_bps=rate_bps,
        parameters=Parameters(
            concurrency=round_within("parameters.concurrency", download.concurrent, 1, MAX_SETTING),
            parallelism=min(download.connections, MAX_SETTING) or None,
        ),
    ).to_record(line, context)
