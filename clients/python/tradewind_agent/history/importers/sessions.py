"""From one line a file, as servers and transfer services write, to records with the concurrency that overlaps show."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from tradewind.errors import InvalidValue
from tradewind_agent.history.importers.fields import require_possible_rate
from tradewind_agent.history.importers.log_text import Line, LogText
from tradewind_agent.history.importers.logged_transfer import LoggedTransfer, assume_first_time, set_concurrency
from tradewind_agent.history.importers.overlap import OverlapWindow
from tradewind_agent.history.importers.ports import (
    ImportContext,
    ImportedRow,
    ImportReport,
    RefusedRow,
    refuse_row,
)
from tradewind_agent.history.importers.repeats import SKIPPED, RepeatedTransfers, drop_repeated

_OVERLAP_ASSUMED = (
    "concurrency is the mean number of transfers of the same host pair under way in this log, pipelining is unknown"
)
UTC_ASSUMED = "times without a zone are taken as UTC; --timezone names another"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionImporter:
    """A format with one line a file.

    ``read`` : make a transfer of a line, ``None`` of one that is none, which it counts as skipped.
    ``assumptions`` : what is taken for granted of every line.
    ``has_zone`` : the times have a zone, or need none.
    """

    name: str
    read: Callable[[Line, ImportContext, ImportReport], LoggedTransfer | None]
    assumptions: Sequence[str] = ()
    has_zone: bool = True

    def read_rows(
        self, text: LogText, context: ImportContext, report: ImportReport
    ) -> Iterator[ImportedRow | RefusedRow]:
        """Yield a record a file; otherwise as ``Importer.read_rows``."""
        if not self.has_zone and context.timezone is None:
            report.assume(UTC_ASSUMED)
        for assumption in self.assumptions:
            report.assume(assumption)
        return read_sessions(text, lambda line: self._read(line, context, report), context, report)

    def _read(self, line: Line, context: ImportContext, report: ImportReport) -> LoggedTransfer | None:
        transfer = self.read(line, context, report)
        if transfer is not None and not self.has_zone:
            assume_first_time(transfer.ended_at, context, report)
        return transfer


def read_sessions(
    text: LogText, read: Callable[[Line], LoggedTransfer | None], context: ImportContext, report: ImportReport
) -> Iterator[ImportedRow | RefusedRow]:
    """Yield records of a log of single files, with concurrency from simultaneous transfers of the same host pair.

    ``read`` reads a line that is not empty; it returns ``None`` for one that is no row, or raises ``InvalidValue``.
    """
    report.assume(_OVERLAP_ASSUMED)
    window: OverlapWindow[tuple[Line, LoggedTransfer] | RefusedRow] = OverlapWindow()
    repeats = RepeatedTransfers()
    for line in text.read_lines():
        transfer = _read(line, read, context)
        if transfer is None:
            continue
        if isinstance(transfer, RefusedRow):
            done = window.pass_row(transfer)
        elif _is_repeated(repeats, line, transfer):
            report.skip(SKIPPED)
            continue
        else:
            pair = transfer.source, transfer.destination
            done = window.transfer((line, transfer), pair, transfer.started_at, transfer.ended_at)
        for row in done:
            yield _build_row(*row, context)
    for row in window.release_rest():
        yield _build_row(*row, context)


def _read(
    line: Line, read: Callable[[Line], LoggedTransfer | None], context: ImportContext
) -> LoggedTransfer | RefusedRow | None:
    try:
        if line.fault is not None:
            raise line.fault
        transfer = read(line) if line.text.strip() else None
        if transfer is not None and context.bandwidth_bps is not None:
            require_possible_rate(transfer.compute_rate_bps(), context.bandwidth_bps)
    except InvalidValue as invalid:
        return refuse_row(line.number, invalid, line.text)
    return transfer


def _is_repeated(repeats: RepeatedTransfers, line: Line, transfer: LoggedTransfer) -> bool:
    text = transfer.identity or line.text
    return repeats.is_repeated(
        text, transfer.started_at, transfer.ended_at, is_unique=True if transfer.identity else None
    )


def _build_row(
    item: tuple[Line, LoggedTransfer] | RefusedRow, concurrency: int | None, context: ImportContext
) -> ImportedRow | RefusedRow:
    if isinstance(item, RefusedRow):
        return item
    line, transfer = item
    return ImportedRow(transfer.to_record(line, context, concurrency=concurrency), line.number)


def add_concurrency(
    items: Iterable[ImportedRow | RefusedRow], report: ImportReport
) -> Iterator[ImportedRow | RefusedRow]:
    """Yield rows with concurrency from simultaneous transfers of the same host pair."""
    report.assume(_OVERLAP_ASSUMED)
    window: OverlapWindow[ImportedRow | RefusedRow] = OverlapWindow()
    for item in drop_repeated(items, report):
        if isinstance(item, ImportedRow):
            record = item.record
            done = window.transfer(item, (record.source, record.destination), record.started_at, record.ended_at)
        else:
            done = window.pass_row(item)
        yield from (_with_concurrency(*row) for row in done)
    yield from (_with_concurrency(*row) for row in window.release_rest())


def _with_concurrency(item: ImportedRow | RefusedRow, concurrency: int | None) -> ImportedRow | RefusedRow:
    if concurrency is None or isinstance(item, RefusedRow):
        return item
    parameters = set_concurrency(item.record.parameters, concurrency)
    return replace(item, record=replace(item.record, parameters=parameters))
