"""The JSON messages of s5cmd, which have no times: no record can be made of them, and each row is refused with that."""

from collections.abc import Iterator

from tradewind.errors import InvalidValue
from tradewind_agent.history.importers.json_messages import find_message, find_text
from tradewind_agent.history.importers.log_text import LogText
from tradewind_agent.history.importers.ports import ImportContext, ImportedRow, ImportReport, RefusedRow, refuse_row

_NO_TIMES = InvalidValue("started_at", "is not in the log as s5cmd prints no times; run it under `tradewind wrap`")


class S5cmdImporter:
    """Logs of ``s5cmd --json``, also with ``--stat`` or ``--log debug``."""

    name = "s5cmd"

    def read_rows(
        self, text: LogText, _context: ImportContext, _report: ImportReport
    ) -> Iterator[ImportedRow | RefusedRow]:
        """Yield a refusal a message; otherwise as ``Importer.read_rows``."""
        for line in text.read_lines():
            if line.fault is not None or not line.text.strip():
                if line.fault is not None:
                    yield refuse_row(line.number, line.fault, line.text)
                continue
            try:
                message = find_message(line.text)
            except InvalidValue as invalid:
                yield refuse_row(line.number, invalid, line.text)
                continue
            wrong = _NO_TIMES if find_text(message, "operation") else InvalidValue("row", "is no message of s5cmd")
            yield refuse_row(line.number, wrong, line.text)
