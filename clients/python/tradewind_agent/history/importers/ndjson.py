"""The project's own transfer records, one JSON object a line: checked and passed through with their ids."""

from collections.abc import Iterator

from tradewind.errors import InvalidValue
from tradewind.wire.records import parse_row
from tradewind_agent.history.importers.log_text import Line, LogText
from tradewind_agent.history.importers.ports import ImportContext, ImportedRow, ImportReport, RefusedRow, refuse_row


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
        return ImportedRow(parse_row(line.text.encode(errors="replace")).to_record(), line.number)
    except InvalidValue as invalid:
        return refuse_row(line.number, invalid, line.text)
