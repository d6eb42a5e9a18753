"""Convert logs of any known format to NDJSON lines for the service, and report on each log."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from pydantic import ValidationError

from tradewind.errors import InvalidValue
from tradewind.transfer import LinkKey
from tradewind.units import format_count
from tradewind.wire.base import describe_validation_error
from tradewind.wire.logs import BatchReceipt
from tradewind.wire.records import WireRecord
from tradewind_agent.history.importers.importing import import_file
from tradewind_agent.history.importers.ports import (
    SHOWN_ROWS,
    EmptyLog,
    ImportContext,
    ImportedRow,
    ImportReport,
)
from tradewind_agent.service.client import UploadReport

SHOWN_REASONS = 5
SHOWN_LINKS = 5


@dataclass(slots=True)
class FileReport:
    """One log: its import report, or why it could not be read."""

    name: str
    report: ImportReport | None = None
    failure: str | None = None
    links: Counter[LinkKey] = field(default_factory=Counter)
    """Records that were sent, or would be, by the link that learns from them."""

    @property
    def imported(self) -> int:
        return self.links.total()

    @property
    def refused(self) -> int:
        return self.report.refused_count if self.report else 0

    def build_document(self) -> dict[str, Any]:
        report = self.report
        return {
            "file": self.name,
            "failure": self.failure,
            "format": report.format if report else None,
            "rows_read": report.rows_read if report else 0,
            "imported": self.imported,
            "refused": self.refused,
            "links": [link._asdict() | {"records": records} for link, records in self.links.most_common()],
            "reasons": [
                {
                    "field": wrong,
                    "reason": report.first_reasons.get((wrong, reason), reason) if report else reason,
                    "rows": rows,
                    "first_rows": report.refused_rows.get((wrong, reason), []) if report else [],
                }
                for (wrong, reason), rows in (report.refused.most_common() if report else ())
            ],
            "skipped": dict(report.skipped) if report else {},
            "units": [
                {"column": unit.column, "unit": unit.unit, "evidence": unit.evidence}
                for unit in (report.units if report else ())
            ],
            "assumptions": list(report.assumptions) if report else [],
        }

    def format_lines(self) -> Iterator[str]:
        """Yield the report as lines for the user."""
        if self.failure is not None:
            yield f"{self.name}: {self.failure}"
        if self.report is None:
            return
        records, rows = format_count(self.imported, "record"), format_count(self.refused, "row")
        yield f"{self.name}: {self.report.format}, {records}, {rows} refused"
        for link, number in self.links.most_common(SHOWN_LINKS):
            yield f"  {_format_link(link)}: {format_count(number, 'record')}"
        if len(self.links) > SHOWN_LINKS:
            yield f"  and {format_count(len(self.links) - SHOWN_LINKS, 'more link', 'more links')}"
        for (wrong, reason), number in self.report.refused.most_common(SHOWN_REASONS):
            first = self.report.refused_rows.get((wrong, reason), [])
            entire = self.report.first_reasons.get((wrong, reason), reason)
            yield f"  refused {number} ({format_rows(first, number)}): {wrong}: {entire}"
        for description, number in self.report.skipped.most_common():
            yield f"  skipped {format_count(number, 'line')}: {description}"
        yield from (f"  unit {unit}" for unit in self.report.units)
        yield from (f"  assumed {assumption}" for assumption in self.report.assumptions)


def read_logs(
    logs: Iterable[tuple[str, Path | IO[bytes]]],
    *,
    format_name: str,
    context: ImportContext,
    reports: list[FileReport],
) -> Iterator[bytes]:
    """NDJSON lines of all ``logs``, streaming; one report a log is added as reading goes on.

    The report of a log says if it cannot be read; the other logs go on.
    """
    for name, log in logs:
        report = FileReport(name)
        reports.append(report)
        try:
            imported = import_file(log, format=format_name, context=context)
            report.report = imported.report
            for item in imported:
                if isinstance(item, ImportedRow) and (line := _encode_line(item, imported.report)) is not None:
                    report.links[item.record.link] += 1
                    yield line
        except EmptyLog:
            report.report = ImportReport(format="empty")
        except InvalidValue as wrong:
            report.failure = str(wrong)


def upload_report(reports: list[FileReport], uploaded: UploadReport | None) -> tuple[str, dict[str, Any]]:
    """Return text and document for the end of an upload; ``uploaded`` is ``None`` for one that only looked."""
    lines = [line for report in reports for line in report.format_lines()]
    refused = sum(report.refused for report in reports)
    document: dict[str, Any] = {
        "files": [report.build_document() for report in reports],
        "refused": refused,
        "dry_run": uploaded is None,
    }
    if uploaded is None:
        imported = sum(report.imported for report in reports)
        check = "; check the links above, for what is uploaded stays" if imported else ""
        lines.append(f"dry run: {format_count(imported, 'record')} would be uploaded{check}")
    else:
        again = sum(receipt.accepted for receipt in uploaded.receipts if receipt.duplicate)
        known = f" ({again} known before)" if again else ""
        batches = format_count(len(uploaded.receipts), "batch", "batches")
        lines.append(f"uploaded in {batches}: {uploaded.accepted} accepted{known}, {uploaded.rejected} rejected")
        lines += _format_rejections(uploaded.receipts)
        rejections = [
            {"batch_id": str(receipt.batch_id)} | each.model_dump()
            for receipt in uploaded.receipts
            for each in receipt.rejections
        ]
        if uploaded.rejected > len(rejections):
            lines.append(f"  rejected {uploaded.rejected - len(rejections)} more; receipts name the first ones")
        if uploaded.not_quarantined:
            lost = format_count(uploaded.not_quarantined, "rejected row")
            lines.append(f"  the service's quarantine is full: {lost} not stored; correct and upload them again")
        document |= {
            "accepted": uploaded.accepted,
            "rejected": uploaded.rejected,
            "not_quarantined": uploaded.not_quarantined,
            "batches": [str(receipt.batch_id) for receipt in uploaded.receipts],
            "rejections": rejections,
        }
    if refused:
        were = "would not be" if uploaded is None else "was not" if refused == 1 else "were not"
        lines.append(f"{format_count(refused, 'row')} could not be read and {were} sent; the reasons are above")
    return "\n".join(lines), document


def format_rows(first: Sequence[int], total: int) -> str:
    """Format the first rows of ``total`` by their numbers: ``rows 3, 7, …``."""
    more = ", …" if total > len(first) else ""
    return f"{'row' if total == 1 else 'rows'} {', '.join(map(str, first))}{more}"


def _format_rejections(receipts: Sequence[BatchReceipt]) -> Iterator[str]:
    """Yield a line a kind of rejection, with its first rows, counted through all batches; the commonest first."""
    kinds: dict[tuple[str, str], list[int]] = {}
    rows_before = 0
    for receipt in receipts:
        for each in receipt.rejections:
            kinds.setdefault((each.field, each.reason), []).append(rows_before + each.row)
        rows_before += receipt.accepted + receipt.rejected
    commonest = sorted(kinds.items(), key=lambda kind: -len(kind[1]))
    for (wrong, reason), rows in commonest[:SHOWN_REASONS]:
        yield f"  rejected {len(rows)} ({format_rows(rows[:SHOWN_ROWS], len(rows))} of the upload): {wrong}: {reason}"


def _format_link(link: LinkKey) -> str:
    network = f" over {link.network}" if link.network else ""
    return f"{link.source} to {link.destination}{network}, moved by {link.mover}"


def _encode_line(item: ImportedRow, report: ImportReport) -> bytes | None:
    try:
        return WireRecord.from_domain(item.record).to_line()
    except ValidationError as invalid:
        wrong = describe_validation_error(invalid.errors(include_url=False, include_context=False)[0])
        report.refuse(item.row, wrong.field, wrong.reason)
        return None
