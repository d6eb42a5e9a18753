"""The Tradewind agent: SDK, command line, transfer engine, meters and log importers for end systems."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tradewind_agent.client import Client, UploadReport
    from tradewind_agent.copy_options import CopyOptions
    from tradewind_agent.copy_report import CopyReport
    from tradewind_agent.copying import copy_files
    from tradewind_agent.retries import RetryPolicy
    from tradewind_agent.spool import Spool

__all__ = ["Client", "CopyOptions", "CopyReport", "RetryPolicy", "Spool", "UploadReport", "copy_files"]

_HOME = {
    "Client": "client",
    "UploadReport": "client",
    "CopyOptions": "copy_options",
    "CopyReport": "copy_report",
    "copy_files": "copying",
    "RetryPolicy": "retries",
    "Spool": "spool",
}


def __getattr__(name: str) -> Any:
    """Load public names when they are first used: the command line starts in a fraction of the time."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
