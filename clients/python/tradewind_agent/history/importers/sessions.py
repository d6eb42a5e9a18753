"""From one line a file, as servers and transfer services write, to records with the concurrency that overlaps show."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from tradewind.errors import InvalidValue
from tradewind.transfer import TransferRecord
from tradewind_agent.history.importers.fields import require_possible_rate
from tradewind_agent.history.importers.log_text import Line, LogText
from tradewind_agent.history.importers.overlap import OverlapWindow
from tradewind_agent.history.importers.ports import (
    ImportContext,
    ImportedRow,
    ImportReport,
    RefusedRow,
    refuse_row,
)
from tradewind_agent.history.importers.reading.repeats import count_repeats

UTC_ASSUMED = "times without a zone are taken as UTC; --timezone names another"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionImporter:
    """A format with one line a file.

    ``read`` : make a record of a line, ``None`` of one that is no transfer, which it counts as skipped.
    ``assumptions`` : what is taken for granted of every line.
    ``has_zone`` : the times have a zone, or need none.
    """

    name: str
    read: Callable[[Line, ImportContext, ImportReport], TransferRecord | None]
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
        return read_sessions(text, lambda line: self.read(line, context, report), context, report)


def read_sessions(
    text: LogText, read: Callable[[Line], TransferRecord | None], context: ImportContext, report: ImportReport
) -> Iterator[ImportedRow | RefusedRow]:
    """Yield records of a log of single files, with concurrency from simultaneous transfers of the same host pair.

    ``read`` makes a record of a line that is not empty, ``None`` of one that is no row, or raises ``InvalidValue``.
    """
    items = (_read(line, read) for line in count_repeats(text.read_lines(), context.lines_before))
    return add_concurrency((item for item in items if item is not None), report)


def add_concurrency(
    items: Iterable[ImportedRow | RefusedRow], report: ImportReport
) -> Iterator[ImportedRow | RefusedRow]:
    """Yield rows with concurrency from simultaneous transfers of the same host pair."""
    report.assume(
        "concurrency is the mean number of transfers of the same host pair under way in this log, pipelining is unknown"
    )
    window: OverlapWindow[ImportedRow | RefusedRow] = OverlapWindow()
    for item in items:
        if isinstance(item, ImportedRow):
            record = item.record
            done = window.transfer(item, (record.source, record.destination), record.started_at, record.ended_at)
        else:
            done = window.pass_row(item)
        yield from (_with_concurrency(*row) for row in done)
    yield from (_with_concurrency(*row) for row in window.release_rest())


def _read(line: Line, read: Callable[[Line], TransferRecord | None]) -> ImportedRow | RefusedRow | None:
    try:
        if line.fault is not None:
            raise line.fault
        record = read(line) if line.text.strip() else None
        if record is None:
            return None
        require_possible_rate(record.outcome.throughput_bps, record.path.bandwidth_bps)
        return ImportedRow(record, line.number)
    except InvalidValue as invalid:
        return refuse_row(line.number, invalid, line.text)


def _with_concurrency(item: ImportedRow | RefusedRow, concurrency: int | None) -> ImportedRow | RefusedRow:
    if concurrency is None or isinstance(item, RefusedRow):
        return item
    parameters = replace(item.record.parameters, concurrency=concurrency)
    return replace(item, record=replace(item.record, parameters=parameters))
