"""Read parts of growing logs as records, by the importers, as a watch does."""

import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import IO, NamedTuple

from pydantic import ValidationError

from tradewind.errors import InvalidValue
from tradewind.transfer import TransferRecord
from tradewind.wire.base import describe_validation_error
from tradewind.wire.records import WireRecord
from tradewind_agent.history.importers.csv_logs.families import CsvImporter, shows_overlap
from tradewind_agent.history.importers.detect import detect
from tradewind_agent.history.importers.importing import import_file
from tradewind_agent.history.importers.log_text import LogText
from tradewind_agent.history.importers.ports import ImportContext, ImportedRow

OVERLAPPING = frozenset({"gridftp", "fts", "xferlog", "vsftpd", "globus", "dcache", "xrootd", "rucio"})
"""Formats with a line a file, whose concurrency shows in neighbouring lines: taken together as far as possible."""


class UnknownLog(InvalidValue):
    """A file of no known format, or of one that cannot be followed: it is no log of this watch."""


class ImportedPart(NamedTuple):
    """Records of a part, how many rows were refused, and the first reason; what was taken for granted, in words."""

    records: list[TransferRecord]
    refused: int = 0
    first_reason: str = ""
    assumptions: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class ImportingReader:
    """Reads by content, or by the format that the user names, in the context that the user gives."""

    context: ImportContext
    format_name: str = "auto"

    def format_of(self, log: IO[bytes]) -> str:
        """Return the name of the format of a log that begins so.

        Raises
        ------
        UnknownLog : of no known format, or one that cannot be followed.
        """
        try:
            with LogText(log) as text:
                name = detect(text.read_sample()) if self.format_name == "auto" else self.format_name
                text.require_lines()
        except InvalidValue as wrong:
            raise UnknownLog(wrong.field, wrong.reason) from None
        return name

    def has_overlap(self, format_name: str, head: bytes) -> bool:
        """Return whether rows of a log that begins with ``head`` say only together how many transfers ran at once."""
        if format_name in OVERLAPPING:
            return True
        if format_name != CsvImporter.name:
            return False
        with LogText(io.BytesIO(head)) as text:
            return shows_overlap(text)

    def read(
        self,
        log: IO[bytes],
        *,
        first_row: int,
        head_rows: int,
        is_head_conclusive: bool,
        format_name: str,
        written_at: datetime | None = None,
    ) -> ImportedPart:
        """Return the records of a part; what the wire does not take counts as refused.

        Raises
        ------
        InvalidValue : a part that lacks what only the user can tell.
        """
        records: list[TransferRecord] = []
        reasons: list[str] = []
        given_refused = 0
        context = replace(self.context, in_parts=True, is_head_conclusive=is_head_conclusive, written_at=written_at)
        rows = import_file(log, format=format_name, context=context, first_row=first_row, head_rows=head_rows)
        for item in rows:
            if not isinstance(item, ImportedRow):
                given_refused += 1
                reasons.append(f"row {item.row}: {item.field}: {item.reason}")
            elif (wrong := _explain_unsendable(item.record)) is not None:
                reasons.append(f"row {item.row}: {wrong}")
            else:
                records.append(item.record)
        unsendable = len(reasons) - given_refused
        first = reasons[0] if reasons else next(iter(rows.report.first_reasons.values()), "")
        return ImportedPart(records, rows.report.refused_count + unsendable, first, rows.report.assumptions)


def _explain_unsendable(record: TransferRecord) -> str | None:
    try:
        WireRecord.from_domain(record)
    except ValidationError as invalid:
        return str(describe_validation_error(invalid.errors(include_url=False, include_context=False)[0]))
    return None
