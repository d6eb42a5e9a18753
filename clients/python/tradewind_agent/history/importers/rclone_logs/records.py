"""Records of rclone's runs, from its text log or from ``--use-json-log``: a run is timed by its stats lines.

A "Copied" line says when a file was done but not when it started, so that single files make no records. It does
give the sizes. Stats lines (``--stats 10s --stats-log-level NOTICE``) hold bytes, elapsed time and the files in
flight. While files wait, as many are in flight as ``--transfers`` allows: that is how the setting is known without the
command line (which only ``-vv`` logs).
"""

from collections.abc import Iterator
from datetime import timedelta

from tradewind.dataset import DataSet
from tradewind.errors import InvalidValue
from tradewind.parameters import Parameters
from tradewind.transfer import Direction, LinkKey, Mover, Status, TransferOutcome, TransferRecord
from tradewind.units import compute_throughput_bps, format_count
from tradewind_agent.history.importers.fields import (
    MAX_SETTING,
    check_instant,
    require_possible_rate,
    round_within,
)
from tradewind_agent.history.importers.identity import compute_record_id
from tradewind_agent.history.importers.log_text import Line, LogText
from tradewind_agent.history.importers.logged_transfer import assume_first_time
from tradewind_agent.history.importers.ports import (
    ImportContext,
    ImportedRow,
    ImportReport,
    RefusedRow,
    refuse_row,
    require_ends,
)
from tradewind_agent.history.importers.rclone_logs.file_lines import FileLines
from tradewind_agent.history.importers.rclone_logs.messages import read_messages
from tradewind_agent.history.importers.rclone_logs.runs import Run, split_runs
from tradewind_agent.history.importers.rclone_logs.stats import read_count, read_seconds
from tradewind_agent.history.importers.repeats import SKIPPED, RepeatedTransfers

_LOCAL = "local"
_STORES = ("http", "s3", "webdav")
"""Backends that are kinds of stores; what an upload goes to is not in the log."""

_SHORTEST_RUN_S = 1e-6

_SERVER_SIDE = ("serverSideCopies", "serverSideMoves")
_INSIDE_ALONE = "copies within the server crossed no network and make no record"
_INSIDE_AMONG = InvalidValue(
    "outcome.bytes_moved", "holds what the server copied within itself; rclone counts that apart from version 1.64 on"
)
_NOTHING_COPIED = "runs that found nothing to copy make no record"
WITH_TIMES = "run rclone with --use-json-log, and without --log-systemd or --progress"
ADVICE = "run rclone with --stats 10s --stats-log-level NOTICE"
WITH_ELAPSED = f"{ADVICE}, and without --stats-one-line"


class RcloneImporter:
    """Logs of ``rclone copy``, ``sync`` and ``move``."""

    name = "rclone"

    def read_rows(
        self, text: LogText, context: ImportContext, report: ImportReport
    ) -> Iterator[ImportedRow | RefusedRow]:
        """Yield a record a run; otherwise as ``Importer.read_rows``."""
        require_ends(context)
        return _list_rows(text, context, report)


def _list_rows(text: LogText, context: ImportContext, report: ImportReport) -> Iterator[ImportedRow | RefusedRow]:
    repeats = RepeatedTransfers()
    for found in split_runs(read_messages(text.read_lines(), context.zone, report)):
        if isinstance(found, RefusedRow):
            yield found
            continue
        for row in _build_row(found, context, report):
            if isinstance(row, ImportedRow) and _is_repeated(repeats, found, row):
                report.skip(SKIPPED)
            else:
                yield row


def _is_repeated(repeats: RepeatedTransfers, run: Run, row: ImportedRow) -> bool:
    """Return whether a run of the same process is in the log twice: one process has one run at a time."""
    text, record = f"{run.first.origin}\n{row.text}", row.record
    return repeats.is_repeated(text, record.started_at, record.ended_at, is_unique=not run.is_mixed)


def _build_row(run: Run, context: ImportContext, report: ImportReport) -> Iterator[ImportedRow | RefusedRow]:
    """Yield the record of a run, or why there is none; nothing for a run that moved nothing over the network."""
    if run.is_mixed:
        report.assume("runs that wrote into the file at once are known by their starts; sizes of single files are not")
        run.files = FileLines(is_dry=run.files.is_dry, inside=run.files.inside)
    if run.is_dry or run.files.is_dry:
        report.assume("dry runs moved nothing and make no record")
        return
    if run.last_stats is None and not run.files.copied and not run.files.failed:
        report.assume(_NOTHING_COPIED)
        return
    line = run.last_stats or run.first
    try:
        if run.last_stats is not None and _has_moved_nothing(run, report):
            return
        yield ImportedRow(_build_record(run, line, context, report), line.number, text=line.text)
    except InvalidValue as invalid:
        yield refuse_row(line.number, invalid, line.text)


def _has_moved_nothing(run: Run, report: ImportReport) -> bool:
    """Return whether a run found nothing to copy, or had the server copy within itself.

    Raises
    ------
    InvalidValue : its bytes are those of both, as versions before 1.64 count them.
    """
    if run.files.inside and not any(key in run.stats for key in _SERVER_SIDE):
        if run.files.copied or run.is_mixed:
            raise _INSIDE_AMONG
        report.assume(_INSIDE_ALONE)
        return True
    if _count_moved_bytes(run) or read_count(run.stats, "errors") or run.files.failed:
        return False
    if read_count(run.stats, "bytes"):
        report.assume(_INSIDE_ALONE)
        return True
    if _count_moved_files(run) or read_count(run.stats, "totalTransfers"):
        return False
    report.assume(_NOTHING_COPIED)
    return True


def _count_moved_bytes(run: Run) -> int:
    """Return the bytes that crossed the network: rclone counts what a server copies within itself, too."""
    inside = read_count(run.stats, "serverSideCopyBytes") + read_count(run.stats, "serverSideMoveBytes")
    return max(read_count(run.stats, "bytes") - inside, 0)


def _count_moved_files(run: Run) -> int:
    return max(read_count(run.stats, "transfers") - _count_files_inside(run), 0)


def _count_files_inside(run: Run) -> int:
    """Return how many files the server copied or moved within itself."""
    return read_count(run.stats, "serverSideCopies") + read_count(run.stats, "serverSideMoves")


def _build_record(run: Run, line: Line, context: ImportContext, report: ImportReport) -> TransferRecord:
    if run.last_stats is None:
        seen = format_count(run.files.copied + run.files.failed, "file")
        raise InvalidValue("started_at", f"is not in the log: {seen} with an end but no start; {ADVICE}")
    if run.ended_at is None:
        raise InvalidValue("ended_at", f"is not in the log: its stats lines have no time; {WITH_TIMES}")
    duration_s = max(_compute_busy_s(run, report), _SHORTEST_RUN_S)
    moved, files = _count_moved_bytes(run), _count_moved_files(run)
    inside_bytes = read_count(run.stats, "bytes") - moved
    planned_files = max(read_count(run.stats, "totalTransfers") - _count_files_inside(run), 0)
    planned_bytes = max(read_count(run.stats, "totalBytes") - inside_bytes, 0)
    errors = max(read_count(run.stats, "errors"), run.files.failed)
    if moved == 0:
        raise InvalidValue("outcome.bytes_moved", "is zero")
    rate_bps = compute_throughput_bps(moved, duration_s)
    require_possible_rate(rate_bps, context.bandwidth_bps)
    if not line.text.startswith("{"):
        report.assume("bytes of a text log are those of its statistics, rounded by rclone")
        assume_first_time(run.ended_at, context, report)
        if context.timezone is None:
            report.assume("times without a zone are taken as UTC; --timezone names another")
    complete = run.files.copied == files and run.files.smallest_bytes is not None
    mover = Mover(context.mover or "rclone", run.version)
    source, destination = require_ends(context)
    return TransferRecord(
        id=compute_record_id(LinkKey(source, destination, context.network, mover.name), line),
        started_at=check_instant("started_at", run.ended_at - timedelta(seconds=duration_s)),
        ended_at=check_instant("ended_at", run.ended_at),
        source=source,
        destination=destination,
        mover=mover,
        protocol=run.files.source_kind if run.files.source_kind not in (None, _LOCAL) else "unknown",
        direction=_find_direction(run, report),
        dataset=DataSet(
            file_count=max(files, planned_files, 1),
            total_bytes=max(moved, planned_bytes),
            min_file_bytes=run.files.smallest_bytes if complete else None,
            max_file_bytes=run.files.largest_bytes if complete else None,
        ),
        outcome=TransferOutcome(
            status=_find_status(files, planned_files, errors),
            bytes_moved=moved,
            files_done=files,
            files_failed=errors,
            throughput_bps=rate_bps,
        ),
        path=context.path,
        parameters=_build_parameters(run, report),
        store=run.files.source_kind if run.files.source_kind in _STORES else None,
        network=context.network,
    )


def _find_status(files: int, planned: int, errors: int) -> Status:
    if errors:
        return Status.FAILED
    return Status.SUCCEEDED if files >= planned else Status.CANCELLED


def _find_direction(run: Run, report: ImportReport) -> Direction:
    if run.files.source_kind is None:
        report.assume("the log does not tell local from remote: runs are recorded as downloads")
    return Direction.UPLOAD if run.files.source_kind == _LOCAL else Direction.DOWNLOAD


def _build_parameters(run: Run, report: ImportReport) -> Parameters:
    transfers = run.flags.get("transfers") or None
    if transfers is None and 0 < run.waiting_in_flight <= MAX_SETTING:
        transfers = run.waiting_in_flight
        report.assume("concurrency is the number of files in flight while others waited")
    streams = run.flags.get("multi-thread-streams") or None
    return Parameters(
        concurrency=None if transfers is None else round_within("parameters.concurrency", transfers, 1, MAX_SETTING),
        parallelism=round_within("parameters.parallelism", streams, 1, MAX_SETTING)
        if streams and run.files.is_multi_thread
        else None,
        nic_bps=run.limit_bps,
    )


def _compute_busy_s(run: Run, report: ImportReport) -> float:
    """Time in which files were in flight if this version of rclone logs it, else the elapsed time, listing included."""
    busy_s = read_seconds(run.stats, "transferTime")
    if busy_s > 0:
        report.assume("a run lasts for its transferTime, in which files were in flight")
        return busy_s
    if run.elapsed_s == 0:
        raise InvalidValue("started_at", f"is not in the log: its stats lines have no elapsedTime; {WITH_ELAPSED}")
    if run.is_serving:
        raise InvalidValue("started_at", "is not in the log: rclone mount and serve wait for most of their elapsedTime")
    report.assume("a run lasts for its elapsedTime, listing included")
    return run.elapsed_s
