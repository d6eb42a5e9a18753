"""The Tradewind agent: SDK, command line, transfer engine, meters and log importers for end systems."""

from typing import TYPE_CHECKING

from tradewind.public_names import loaded_when_used

if TYPE_CHECKING:
    from tradewind_agent.client import Client, UploadReport
    from tradewind_agent.copy_options import CopyOptions
    from tradewind_agent.copy_report import CopyReport
    from tradewind_agent.copying import copy_files
    from tradewind_agent.retries import RetryPolicy
    from tradewind_agent.spool import Spool

__all__ = ["Client", "CopyOptions", "CopyReport", "RetryPolicy", "Spool", "UploadReport", "copy_files"]

# The command line starts in a fraction of the time.
__getattr__ = loaded_when_used(
    __name__,
    {
        "client": ("Client", "UploadReport"),
        "copy_options": ("CopyOptions",),
        "copy_report": ("CopyReport",),
        "copying": ("copy_files",),
        "retries": ("RetryPolicy",),
        "spool": ("Spool",),
    },
)
