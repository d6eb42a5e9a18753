"""A part of a growing log as records: what a watch reads with."""

import io

from pydantic import ValidationError

from tradewind.transfer import TransferRecord
from tradewind.wire.base import reason_of
from tradewind.wire.records import WireRecord
from tradewind_agent.importers.importing import import_file
from tradewind_agent.importers.ports import ImportContext, Imported
from tradewind_agent.watching import ImportPart, Imports


def part_reader(context: ImportContext, format_name: str = "auto") -> ImportPart:
    """A reader of parts in the context given; the format is told by the content unless it is named."""

    def read(content: bytes, *, first_row: int, format_name: str | None) -> Imports:
        rows = import_file(io.BytesIO(content), format=format_name or wanted, context=context, first_row=first_row)
        records: list[TransferRecord] = []
        reasons: list[str] = []
        for item in rows:
            if not isinstance(item, Imported):
                reasons.append(f"row {item.row}: {item.field}: {item.reason}")
            elif (wrong := _unsendable(item.record)) is not None:
                reasons.append(f"row {item.row}: {wrong}")
            else:
                records.append(item.record)
        return Imports(records, len(reasons), reasons[0] if reasons else "", rows.report.format)

    wanted = format_name
    return read


def _unsendable(record: TransferRecord) -> str | None:
    try:
        WireRecord.of(record)
    except ValidationError as invalid:
        return str(reason_of(invalid.errors(include_url=False, include_context=False)[0]))
    return None
