r"""Output of ``aws s3 cp``, ``sync`` and ``mv`` with ``--debug``, both streams in one file: a run is a record.

Without ``--debug`` aws prints no times. Bytes are those of its progress (``Completed 1.2 MiB/3 MiB (…)\r``), which it
rounds. Requests at once are not in the log; the size of parts is.
"""

import re
from ast import literal_eval
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo

from tradewind.errors import InvalidUnit, InvalidValue
from tradewind.parameters import Parameters
from tradewind.transfer import Direction, Status, TransferRecord
from tradewind.units import compute_throughput_bps, parse_bytes
from tradewind_agent.history.importers.fields import require_possible_rate
from tradewind_agent.history.importers.log_text import Line, LogText
from tradewind_agent.history.importers.logged_transfer import LoggedTransfer
from tradewind_agent.history.importers.ports import (
    ImportContext,
    ImportedRow,
    ImportReport,
    RefusedRow,
    refuse_row,
    require_ends,
)
from tradewind_agent.history.importers.repeats import drop_repeated

_DEBUG = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}) - \S+ - ([\w.]+) - \w+ - (.*)", re.DOTALL)
_VERSION = re.compile(r"CLI version: aws-cli/(\S+)")
_ARGUMENTS = re.compile(r"Arguments entered to CLI: (\[.*\])")
_PART = re.compile(r"a part size of (\d+)")
_MOVED = re.compile(r"(upload|download|copy|move)( failed)?: ")
_IN_STORE = re.compile(r"(?:copy|move)(?: failed)?: s3://.* to s3://")
_PROGRESS = re.compile(r"Completed ([\d.]+ \w+)/~?([\d.]+ \w+) ")
_STARTS, _PARTS_SENT, _ENDS = "SubmissionTask(", "UploadPartTask(", "Shutdown request received"
_ADVICE = "run aws with --debug and both streams in one file or under `tradewind wrap`"
_SHORTEST_RUN = timedelta(milliseconds=1)
"""Resolution of its times."""


@dataclass(slots=True)
class _Run:
    """What the lines of a run have said so far."""

    first: Line
    version: str | None = None
    arguments: list[str] = field(default_factory=list)
    started_at: datetime | None = None
    ended_at: datetime | None = None
    part_bytes: int | None = None
    has_parts: bool = False
    moved_bytes: int | None = None
    planned_bytes: int = 0
    files_done: int = 0
    is_in_store: bool = False
    files_failed: int = 0

    @property
    def is_empty(self) -> bool:
        return not (self.files_done or self.files_failed)


class AwsImporter:
    """Logs of aws with ``--debug``."""

    name = "aws"

    def read_rows(
        self, text: LogText, context: ImportContext, report: ImportReport
    ) -> Iterator[ImportedRow | RefusedRow]:
        """Yield a record a run; otherwise as ``Importer.read_rows``."""
        require_ends(context)
        # A run begins with the line that has its milliseconds.
        return drop_repeated(_list_rows(text, context, report), report, is_unique=True)


def _list_rows(text: LogText, context: ImportContext, report: ImportReport) -> Iterator[ImportedRow | RefusedRow]:
    run: _Run | None = None
    for line in text.read_lines():
        if line.fault is not None:
            yield refuse_row(line.number, line.fault, line.text)
            continue
        if run is None or _VERSION.search(line.text):
            if run is not None:
                yield from _build_row(run, context, report)
            run = _Run(line)
        _read(line.text, run, context.zone)
    if run is not None:
        yield from _build_row(run, context, report)


def _read(text: str, run: _Run, zone: tzinfo) -> None:
    """Note what one line says; the bodies of answers, which aws logs as well, say nothing."""
    if (moved := _MOVED.match(text)) is not None:
        run.files_failed += bool(moved[2])
        run.files_done += not moved[2]
        run.is_in_store = run.is_in_store or _IN_STORE.match(text) is not None
    elif (progress := _PROGRESS.match(text)) is not None:
        run.moved_bytes, run.planned_bytes = _parse_size(progress[1]), _parse_size(progress[2])
    elif (debug := _DEBUG.match(text)) is not None:
        at = datetime.strptime(debug[1], "%Y-%m-%d %H:%M:%S,%f").replace(tzinfo=zone).astimezone(UTC)
        _read_message(debug[3], run, at)


def _read_message(message: str, run: _Run, at: datetime) -> None:
    if run.started_at is None and _STARTS in message:
        run.started_at = at
    if _ENDS in message:
        run.ended_at = at
    run.has_parts = run.has_parts or _PARTS_SENT in message
    if (version := _VERSION.match(message)) is not None:
        run.version = version[1]
    elif (arguments := _ARGUMENTS.match(message)) is not None:
        run.arguments = _parse_list(arguments[1])
    elif (part := _PART.search(message)) is not None:
        run.part_bytes = int(part[1])


def _parse_list(text: str) -> list[str]:
    try:
        words = literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return []
    return [word for word in words if isinstance(word, str)] if isinstance(words, list) else []


def _parse_size(text: str) -> int:
    try:
        return parse_bytes(text.replace("Bytes", "B"))
    except InvalidUnit:
        return 0


def _build_row(run: _Run, context: ImportContext, report: ImportReport) -> Iterator[ImportedRow | RefusedRow]:
    """Yield the record of a run, or why there is none; nothing for one that moved no file, such as a dry run."""
    if run.is_empty:
        report.assume("runs that moved no file make no record")
        return
    if run.is_in_store:
        report.skip("runs that had S3 copy between its own buckets")
        return
    try:
        yield ImportedRow(_build_record(run, context, report), run.first.number, text=run.first.text)
    except InvalidValue as invalid:
        yield refuse_row(run.first.number, invalid, run.first.text)


def _build_record(run: _Run, context: ImportContext, report: ImportReport) -> TransferRecord:
    if run.started_at is None or run.ended_at is None:
        raise InvalidValue("started_at", f"is not in the log; {_ADVICE}")
    if not run.moved_bytes:
        raise InvalidValue("outcome.bytes_moved", "is not in the log; leave out --no-progress and --quiet")
    if context.timezone is None:
        report.assume("times without a zone are taken as UTC; --timezone names another")
    report.assume("bytes are those of the progress that aws prints, rounded by it")
    ended_at = max(run.ended_at, run.started_at + _SHORTEST_RUN)
    rate_bps = compute_throughput_bps(run.moved_bytes, (ended_at - run.started_at).total_seconds())
    require_possible_rate(rate_bps, context.bandwidth_bps)
    source, destination = require_ends(context)
    return LoggedTransfer(
        started_at=run.started_at,
        ended_at=ended_at,
        source=source,
        destination=destination,
        mover="aws",
        version=run.version,
        protocol="s3",
        direction=_find_direction(run, report),
        status=Status.FAILED
        if run.files_failed
        else Status.SUCCEEDED
        if run.moved_bytes >= run.planned_bytes
        else Status.CANCELLED,
        moved_bytes=run.moved_bytes,
        total_bytes=max(run.moved_bytes, run.planned_bytes),
        file_count=run.files_done + run.files_failed,
        files_done=run.files_done,
        rate_bps=rate_bps,
        parameters=Parameters(part_bytes=run.part_bytes if run.has_parts else None),
        store="s3",
    ).to_record(run.first, context)


def _find_direction(run: _Run, report: ImportReport) -> Direction:
    """Return the direction by the places among the arguments, in their order."""
    places = [word for word in run.arguments if not word.startswith("-")]
    remote = [at for at, word in enumerate(places) if word.startswith("s3://")]
    if len(remote) == 1:
        return Direction.UPLOAD if remote[0] == len(places) - 1 else Direction.DOWNLOAD
    if len(remote) == 2:
        return Direction.THIRD_PARTY
    report.assume("the log does not tell local from remote: runs are recorded as downloads")
    return Direction.DOWNLOAD
