"""The project's own transfer records, one JSON object a line: checked and passed through with their ids.

A program that exports such lines may write its rates in MB/s. The service cannot see that in one row; here a rate that
differs from bytes over time exactly as units differ is refused.
"""

from collections.abc import Iterator

from tradewind.errors import InvalidValue
from tradewind.transfer import TransferRecord
from tradewind.units import compute_throughput_bps, format_bps
from tradewind.wire.records import parse_row
from tradewind_agent.history.importers.log_text import Line, LogText
from tradewind_agent.history.importers.ports import ImportContext, ImportedRow, ImportReport, RefusedRow, refuse_row

_FACTORS = (8.0, *(bits * base**power for bits in (1.0, 8.0) for base in (1e3, 1024.0) for power in (1, 2, 3, 4)))
"""Factors between units of rates: bits and bytes, prefixes, and both."""

_TOLERANCE = 0.01
"""Share by which a ratio may differ from a factor: a paused transfer hits one by chance in few of a thousand rows."""

_SHORTEST_S = 2.0
"""Times in full seconds are off by up to 1 s, by which the rate of a shorter transfer differs by any factor."""


class NdjsonImporter:
    """Rows as ``POST /v1/logs`` takes them; the context adds nothing to them."""

    name = "ndjson"

    def read_rows(
        self,
        text: LogText,
        context: ImportContext,  # noqa: ARG002  # the port's
        report: ImportReport,  # noqa: ARG002
    ) -> Iterator[ImportedRow | RefusedRow]:
        """Yield records as they are; otherwise as ``Importer.read_rows``."""
        return (_read(line) for line in text.read_lines() if line.fault or line.text.strip())


def _read(line: Line) -> ImportedRow | RefusedRow:
    try:
        if line.fault is not None:
            raise line.fault
        record = parse_row(line.text.encode(errors="replace")).to_record()
        _reject_other_unit(record)
        return ImportedRow(record, line.number)
    except InvalidValue as invalid:
        return refuse_row(line.number, invalid, line.text)


def _reject_other_unit(record: TransferRecord) -> None:
    """Refuse a record whose throughput differs from its bytes over its time as two units do.

    Other differences are left alone: a rate may be of the time in which bytes moved.

    Raises
    ------
    InvalidValue : names both rates and the factor.
    """
    lasted_s = (record.ended_at - record.started_at).total_seconds()
    is_rounded = not (record.started_at.microsecond or record.ended_at.microsecond)
    outcome = record.outcome
    if min(outcome.bytes_moved, outcome.throughput_bps) <= 0 or (is_rounded and lasted_s < _SHORTEST_S):
        return
    by_bytes_bps = compute_throughput_bps(outcome.bytes_moved, lasted_s)
    excess = max(outcome.throughput_bps / by_bytes_bps, by_bytes_bps / outcome.throughput_bps)
    factor = min(_FACTORS, key=lambda each: abs(excess / each - 1))
    if abs(excess / factor - 1) < _TOLERANCE:
        rates = f"{format_bps(outcome.throughput_bps)}, and bytes over time {format_bps(by_bytes_bps)}"
        reason = f"is {rates}: a factor of {factor:g}, as between two units of rates; write bit/s"
        raise InvalidValue("outcome.throughput_bps", reason)
