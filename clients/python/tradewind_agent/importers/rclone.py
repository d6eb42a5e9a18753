"""rclone's log under ``--use-json-log``: a run is a record, timed by its stats lines.

A "Copied" line says when a file was done but not when it was begun, so that single files make no records; what they do
tell is the sizes. Stats lines (``--stats 10s --stats-log-level NOTICE``) hold bytes, elapsed time and the files in
flight. While files wait, as many are in flight as ``--transfers`` allows: that is how the setting is known without the
command line (which only ``-vv`` logs).
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Self

from tradewind.dataset import DataSet
from tradewind.errors import InvalidValue
from tradewind.parameters import Parameters
from tradewind.path import Path
from tradewind.transfer import Direction, LinkKey, Mover, Outcome, Status, TransferRecord
from tradewind.units import BITS_PER_BYTE, format_count, throughput_bps
from tradewind_agent.importers.fields import MAX_SETTING, bounded, instant, number, possible_rate, required
from tradewind_agent.importers.identity import record_id
from tradewind_agent.importers.json_messages import message_of, object_at, text_at
from tradewind_agent.importers.log_text import Line, LogText
from tradewind_agent.importers.ports import ImportContext, Imported, ImportReport, Refused, refused
from tradewind_agent.movers.rate_option import parse_rates

_COPIED = re.compile(r"(Multi-thread )?Copied \((?!server)")
_STARTED = re.compile(r'rclone: Version "v?([^"]{1,60})" starting with parameters (\[.*\])')
_FLAG = re.compile(r'"--(transfers|multi-thread-streams)(?:=|" ")([0-9]{1,5})"')
_BWLIMIT = re.compile(r'"--bwlimit(?:=|" ")([^"]{1,500})"')
_LIMITED = re.compile(
    r"(Starting bandwidth limiter at|Scheduled bandwidth change\. (?:Bandwidth )?[Ll]imit set to) (.{1,60}?) ?Bytes?/s"
)
_KIND = re.compile(r"\*([a-z0-9]{1,40})\.\w{1,40}")
_LOCAL = "local"
_LONGEST_RUN_S = 1e8
_SHORTEST_RUN_S = 1e-6

ADVICE = "run rclone with --stats 10s --stats-log-level NOTICE"


@dataclass(slots=True)
class _Run:
    """What is known of one run so far; sizes are kept as counts and ends, whatever the number of files."""

    first: Line
    last_stats: Line | None = None
    ended_at: datetime | None = None
    stats: Mapping[str, object] = field(default_factory=dict)
    elapsed_s: float = 0.0
    copied: int = 0
    smallest_bytes: int | None = None
    largest_bytes: int | None = None
    failed: int = 0
    multi_thread: bool = False
    waiting_in_flight: int = 0
    source_kind: str | None = None
    version: str | None = None
    flags: Mapping[str, int] = field(default_factory=dict)
    limit_bps: float | None = None

    def note_limit(self, rates_bps: Iterator[float]) -> None:
        """Keep the lowest rate that the user limited the run to."""
        self.limit_bps = min((*rates_bps, *([] if self.limit_bps is None else [self.limit_bps])), default=None)

    def note_copy(self, message: Mapping[str, object]) -> None:
        self.copied += 1
        if (kind := _KIND.fullmatch(text_at(message, "objectType"))) is not None:
            self.source_kind = kind[1]
        if text_at(message, "size"):
            size = bounded("dataset.total_bytes", number("dataset.total_bytes", text_at(message, "size")), 0)
            self.smallest_bytes = min(size, size if self.smallest_bytes is None else self.smallest_bytes)
            self.largest_bytes = max(size, self.largest_bytes or 0)

    def note_stats(self, event: "_Event", at: datetime | None) -> None:
        stats = event.stats
        self.last_stats, self.stats, self.elapsed_s, self.ended_at = event.line, stats, event.elapsed_s, at
        in_flight = stats.get("transferring")
        if isinstance(in_flight, list):
            unfinished = _count(stats, "totalTransfers") - _count(stats, "transfers")
            if unfinished > len(in_flight):
                self.waiting_in_flight = max(self.waiting_in_flight, len(in_flight))


class RcloneImporter:
    """Logs of ``rclone copy``, ``sync`` and ``move`` with ``--use-json-log``."""

    name = "rclone"

    def rows(self, text: LogText, context: ImportContext, report: ImportReport) -> Iterator[Imported | Refused]:
        """A record a run; otherwise as ``Importer.rows``."""
        required("source", "--source", context.source)
        required("destination", "--destination", context.destination)
        return _runs(text.lines(), context, report)


@dataclass(frozen=True, slots=True)
class _Event:
    """One line of the log; ``elapsed_s`` is 0 where it has no stats."""

    line: Line
    message: Mapping[str, object]
    stats: Mapping[str, object]
    elapsed_s: float
    started: re.Match[str] | None
    limited: re.Match[str] | None

    @classmethod
    def of(cls, line: Line) -> Self:
        if line.fault is not None:
            raise line.fault
        message = message_of(line.text)
        stats = object_at(message, "stats")
        spoken = text_at(message, "msg")
        return cls(line, message, stats, _seconds(stats, "elapsedTime"), _STARTED.match(spoken), _LIMITED.match(spoken))

    def begins_after(self, run: _Run) -> bool:
        """Whether this is of a later run than ``run``: its clock was set back, or a start was logged."""
        limiter_started = self.limited is not None and self.limited[1].startswith("Starting")
        return (
            self.started is not None
            or (limiter_started and run.last_stats is not None)
            or (bool(self.stats) and self.elapsed_s < run.elapsed_s)
        )


def _runs(lines: Iterator[Line], context: ImportContext, report: ImportReport) -> Iterator[Imported | Refused]:
    run: _Run | None = None
    for line in lines:
        if line.fault is None and not line.text.strip():
            continue
        try:
            event = _Event.of(line)
            if run is not None and event.begins_after(run):
                yield from _finished(run, context, report)
                run = None
            run = run or _Run(line)
            _note(run, event)
        except InvalidValue as invalid:
            yield refused(line.number, invalid, line.text)
    if run is not None:
        yield from _finished(run, context, report)


def _note(run: _Run, event: _Event) -> None:
    spoken = text_at(event.message, "msg")
    if event.started is not None:
        run.version = event.started[1]
        run.flags = {flag: int(value) for flag, value in _FLAG.findall(event.started[2])}
        run.note_limit(rate for value in _BWLIMIT.findall(event.started[2]) for rate in parse_rates(value))
    elif event.limited is not None:
        run.note_limit(parse_rates(event.limited[2], BITS_PER_BYTE))
    elif event.stats:
        run.note_stats(event, _moment(text_at(event.message, "time")))
    elif (copied := _COPIED.match(spoken)) is not None:
        run.multi_thread = run.multi_thread or copied[1] is not None
        run.note_copy(event.message)
    elif "Failed to copy" in spoken:
        run.failed += 1


def _finished(run: _Run, context: ImportContext, report: ImportReport) -> Iterator[Imported | Refused]:
    """The record of a run, or why there is none; nothing for a run that copied nothing."""
    if run.last_stats is None and not run.copied and not run.failed:
        return
    line = run.last_stats or run.first
    try:
        yield Imported(_record(run, line, context, report), line.number)
    except InvalidValue as invalid:
        yield refused(line.number, invalid, line.text)


def _record(run: _Run, line: Line, context: ImportContext, report: ImportReport) -> TransferRecord:
    if run.last_stats is None:
        seen = format_count(run.copied + run.failed, "file")
        raise InvalidValue("started_at", f"is not in the log: {seen} with an end but no start; {ADVICE}")
    if run.ended_at is None:
        raise InvalidValue("ended_at", "is not in the log: its stats lines have no time")
    duration_s = max(_busy_s(run, report), _SHORTEST_RUN_S)
    moved = _count(run.stats, "bytes")
    files = _count(run.stats, "transfers")
    planned_files, planned_bytes = _count(run.stats, "totalTransfers"), _count(run.stats, "totalBytes")
    errors = max(_count(run.stats, "errors"), run.failed)
    if moved == 0:
        raise InvalidValue("outcome.bytes_moved", "is zero")
    rate_bps = throughput_bps(moved, duration_s)
    possible_rate(rate_bps, context.bandwidth_bps)
    complete = run.copied == files and run.smallest_bytes is not None
    mover = Mover(context.mover or "rclone", run.version)
    source = required("source", "--source", context.source)
    destination = required("destination", "--destination", context.destination)
    return TransferRecord(
        id=record_id(LinkKey(source, destination, context.network, mover.name), line.number, line.text),
        started_at=instant("started_at", run.ended_at - timedelta(seconds=duration_s)),
        ended_at=instant("ended_at", run.ended_at),
        source=source,
        destination=destination,
        mover=mover,
        protocol=run.source_kind if run.source_kind not in (None, _LOCAL) else "unknown",
        direction=_direction(run, report),
        dataset=DataSet(
            file_count=max(files, planned_files, 1),
            total_bytes=max(moved, planned_bytes),
            min_file_bytes=run.smallest_bytes if complete else None,
            max_file_bytes=run.largest_bytes if complete else None,
        ),
        outcome=Outcome(
            status=_status(files, planned_files, errors),
            bytes_moved=moved,
            files_done=files,
            files_failed=errors,
            throughput_bps=rate_bps,
        ),
        path=Path(bandwidth_bps=context.bandwidth_bps, rtt_s=context.rtt_s),
        parameters=_parameters(run, report),
        network=context.network,
    )


def _status(files: int, planned: int, errors: int) -> Status:
    if errors:
        return Status.FAILED
    return Status.SUCCEEDED if files >= planned else Status.CANCELLED


def _direction(run: _Run, report: ImportReport) -> Direction:
    if run.source_kind is None:
        report.assume("the log does not tell local from remote: runs are recorded as downloads")
    return Direction.UPLOAD if run.source_kind == _LOCAL else Direction.DOWNLOAD


def _parameters(run: _Run, report: ImportReport) -> Parameters:
    transfers = run.flags.get("transfers") or None
    if transfers is None and 0 < run.waiting_in_flight <= MAX_SETTING:
        transfers = run.waiting_in_flight
        report.assume("concurrency is the number of files in flight while others waited")
    streams = run.flags.get("multi-thread-streams") or None
    return Parameters(
        concurrency=None if transfers is None else bounded("parameters.concurrency", transfers, 1, MAX_SETTING),
        parallelism=bounded("parameters.parallelism", streams, 1, MAX_SETTING)
        if streams and run.multi_thread
        else None,
        nic_bps=run.limit_bps,
    )


def _busy_s(run: _Run, report: ImportReport) -> float:
    """Time in which files were in flight where the version tells it, else the elapsed time, listing included."""
    busy_s = _seconds(run.stats, "transferTime")
    if busy_s > 0:
        report.assume("a run lasts for its transferTime, in which files were in flight")
        return busy_s
    if run.elapsed_s == 0:
        raise InvalidValue("started_at", f"is not in the log: its stats lines have no elapsedTime; {ADVICE}")
    report.assume("a run lasts for its elapsedTime, listing included")
    return run.elapsed_s


def _seconds(stats: Mapping[str, object], key: str) -> float:
    text = text_at(stats, key)
    seconds = number(f"stats.{key}", text) if text else 0.0
    if seconds > _LONGEST_RUN_S:
        raise InvalidValue(f"stats.{key}", f"is no time of a run: {seconds:g} s")
    return seconds


def _count(stats: Mapping[str, object], key: str) -> int:
    text = text_at(stats, key)
    return bounded(f"stats.{key}", number(f"stats.{key}", text), 0) if text else 0


def _moment(text: str) -> datetime | None:
    if not text:
        return None
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidValue("ended_at", f"is no time: {text[:40]!r}") from None
    if at.utcoffset() is None:
        raise InvalidValue("ended_at", f"has no zone: {text[:40]!r}")
    return at
