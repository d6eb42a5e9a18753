"""The Tradewind agent: SDK, command line, transfer engine, meters and log importers for end systems."""

from typing import TYPE_CHECKING

from tradewind.public_names import load_lazily

if TYPE_CHECKING:
    from tradewind_agent.copy.options import CopyOptions
    from tradewind_agent.copy.reporting.report import CopyReport
    from tradewind_agent.copy.run import copy_files
    from tradewind_agent.history.spool import Spool
    from tradewind_agent.service.client import Client, UploadReport
    from tradewind_agent.service.retries import RetryPolicy

__all__ = ["Client", "CopyOptions", "CopyReport", "RetryPolicy", "Spool", "UploadReport", "copy_files"]

# The command line starts in a fraction of the time.
__getattr__ = load_lazily(
    __name__,
    {
        "service.client": ("Client", "UploadReport"),
        "copy.options": ("CopyOptions",),
        "copy.reporting.report": ("CopyReport",),
        "copy.run": ("copy_files",),
        "service.retries": ("RetryPolicy",),
        "history.spool": ("Spool",),
    },
)
