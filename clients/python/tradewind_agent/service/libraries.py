"""Libraries that are no requirement of the agent: extras of its distribution, imported when they are asked for."""

import importlib
from typing import Any

from tradewind_agent.errors import LibraryMissing


def import_library(name: str, extra: str) -> Any:
    """Import the module of that name.

    Raises
    ------
    LibraryMissing : it is not installed.
    """
    try:
        return importlib.import_module(name)
    except ImportError as missing:
        raise LibraryMissing(
            f"{missing.name or name} is not installed; run `pip install 'tradewind-agent[{extra}]'`"
        ) from missing
