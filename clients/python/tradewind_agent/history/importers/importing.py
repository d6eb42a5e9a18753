"""The one way in: a log in any known format becomes records, refusals and a report."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import IO

from tradewind.errors import InvalidValue
from tradewind_agent.history.importers.csv_logs.families import CsvImporter
from tradewind_agent.history.importers.detect import detect, find_transfer_format
from tradewind_agent.history.importers.last_lines import make_judge
from tradewind_agent.history.importers.log_text import LogText
from tradewind_agent.history.importers.ndjson import NdjsonImporter
from tradewind_agent.history.importers.ports import (
    ImportContext,
    ImportedRow,
    Importer,
    ImportReport,
    RefusedRow,
    refuse_row,
)
from tradewind_agent.history.importers.rclone_logs.records import RcloneImporter
from tradewind_agent.history.importers.repeats import drop_repeated
from tradewind_agent.history.importers.servers.dcache import DcacheImporter
from tradewind_agent.history.importers.servers.gridftp import GridFtpImporter
from tradewind_agent.history.importers.servers.vsftpd import VSFTPD
from tradewind_agent.history.importers.servers.xferlog import XFERLOG
from tradewind_agent.history.importers.servers.xrootd import XrootdImporter
from tradewind_agent.history.importers.services.fts import FTS
from tradewind_agent.history.importers.services.globus import GlobusImporter
from tradewind_agent.history.importers.services.htcondor import HtcondorImporter
from tradewind_agent.history.importers.services.rucio import RUCIO
from tradewind_agent.history.importers.tools.aria2 import Aria2Importer
from tradewind_agent.history.importers.tools.aws import AwsImporter
from tradewind_agent.history.importers.tools.azcopy import AzcopyImporter
from tradewind_agent.history.importers.tools.curl import CurlImporter
from tradewind_agent.history.importers.tools.iperf3 import Iperf3Importer
from tradewind_agent.history.importers.tools.s5cmd import S5cmdImporter
from tradewind_agent.history.importers.tools.wget import WgetImporter

_PASSING_OVER = frozenset({"rclone", "aria2", "aws", "azcopy", "wget", "htcondor"})
"""Formats whose readers pass over lines that they do not know, as those of messages between the ones that count."""


def build_known_importers() -> Mapping[str, Importer]:
    """Importers by the name of their format."""
    importers: tuple[Importer, ...] = (
        GridFtpImporter(),
        RcloneImporter(),
        FTS,
        Aria2Importer(),
        AwsImporter(),
        S5cmdImporter(),
        XFERLOG,
        VSFTPD,
        GlobusImporter(),
        CurlImporter(),
        WgetImporter(),
        AzcopyImporter(),
        Iperf3Importer(),
        DcacheImporter(),
        XrootdImporter(),
        RUCIO,
        HtcondorImporter(),
        CsvImporter(),
        NdjsonImporter(),
    )
    return {importer.name: importer for importer in importers}


class LogImport(Iterator[ImportedRow | RefusedRow]):
    """An import under way: its rows in the order of the log; ``report`` is complete once they are exhausted."""

    def __init__(self, text: LogText, importer: Importer, context: ImportContext) -> None:
        self.report = ImportReport(format=importer.name)
        self.report.find_foreign = partial(_find_foreign, text, importer.name)
        text.judge_open_line = make_judge(importer.name)
        if importer.name in _PASSING_OVER:
            text.check_line = partial(_explain_foreign, importer.name)
        self._rows = self._read_counted(text, importer, context)

    def _read_counted(
        self, text: LogText, importer: Importer, context: ImportContext
    ) -> Iterator[ImportedRow | RefusedRow]:
        with text:
            for item in drop_repeated(importer.read_rows(text, context, self.report), self.report):
                self.report.count(item)
                yield item

    def __next__(self) -> ImportedRow | RefusedRow:
        return next(self._rows)


def _find_foreign(text: LogText, format_name: str) -> RefusedRow | None:
    """Return why the present line of a log cannot be skipped: it is a transfer of another format."""
    line = text.present
    fault = None if line is None or line.fault is not None else _explain_foreign(format_name, line.text)
    return None if line is None or fault is None else refuse_row(line.number, fault, line.text)


def _explain_foreign(format_name: str, text: str) -> InvalidValue | None:
    other = find_transfer_format(text)
    if other in (None, format_name):
        return None
    return InvalidValue("row", f"is of {other}, not of {format_name}; read the file again with --format {other}")


def find_written_at(log: Path | str) -> datetime | None:
    """Return when a file was last written to; ``None`` where the system does not say."""
    try:
        return datetime.fromtimestamp(Path(log).stat().st_mtime, UTC)
    except (OSError, ValueError, OverflowError):
        return None


def import_file(
    log: Path | str | IO[bytes],
    *,
    format: str = "auto",  # noqa: A002  # the word of the command line
    context: ImportContext,
    first_row: int = 1,
    head_rows: int = 0,
) -> LogImport:
    """Read a log as transfer records, streaming.

    Parameters
    ----------
    log : path, or a binary stream, which stays open; packed or not.
    format : one of ``detect.FORMATS``, or "auto" to tell it by the content.
    context : what the log itself may lack.
    first_row, head_rows : number of the first line, for a part of a log read on from an offset, and how many lines of
        the log's beginning stand before it, to be looked at and not imported.

    Raises
    ------
    InvalidValue : unreadable, of no known format, or lacking what only the context can give. The last is raised by the
        first row that is asked for, at the latest.
    """
    importers = build_known_importers()
    if format != "auto" and format not in importers:
        raise InvalidValue("--format", f"is one of auto, {', '.join(importers)}; got {format!r}")
    if context.written_at is None and isinstance(log, str | Path):
        context = replace(context, written_at=find_written_at(log))
    text = LogText(log, first_row=first_row, head_rows=head_rows)
    try:
        return LogImport(text, importers[detect(text.read_sample()) if format == "auto" else format], context)
    except BaseException:
        text.close()
        raise
