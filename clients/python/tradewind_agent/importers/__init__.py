"""Logs of other programs as transfer records: GridFTP, rclone, FTS, aria2, CSV sweeps and the project's own NDJSON.

These are the public names; the code is in `tradewind_agent.history.importers`.
"""

from tradewind_agent.history.importers.importing import LogImport, import_file
from tradewind_agent.history.importers.ports import (
    ImportContext,
    ImportedRow,
    Importer,
    ImportReport,
    RefusedRow,
    UnitInference,
)

__all__ = [
    "ImportContext",
    "ImportReport",
    "ImportedRow",
    "Importer",
    "LogImport",
    "RefusedRow",
    "UnitInference",
    "import_file",
]
