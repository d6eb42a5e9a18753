"""Logs of other programs as transfer records: GridFTP, rclone, FTS, aria2, CSV sweeps and the project's own NDJSON."""

from tradewind_agent.history.importers.importing import LogImport, import_file
from tradewind_agent.history.importers.ports import (
    ImportContext,
    Imported,
    Importer,
    ImportReport,
    Refused,
    UnitInference,
)

__all__ = [
    "ImportContext",
    "ImportReport",
    "Imported",
    "Importer",
    "LogImport",
    "Refused",
    "UnitInference",
    "import_file",
]
