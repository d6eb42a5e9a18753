"""Open what the commands need from the environment: the service and the spool."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from tradewind_agent.cli.terminal import Terminal
from tradewind_agent.folders import build_ledger_folder, build_state_folder

if TYPE_CHECKING:
    from tradewind_agent.history.spool import Spool
    from tradewind_agent.service.client import Client
    from tradewind_agent.service.retries import RetryPolicy

SPOOL_FOLDER_VARIABLE = "TRADEWIND_SPOOL"
SPOOL_MAX_VARIABLE = "TRADEWIND_SPOOL_MAX"


def spool_folder() -> Path:
    stated = os.environ.get(SPOOL_FOLDER_VARIABLE)
    return Path(stated) if stated else build_state_folder(os.environ) / "spool"


def open_spool(terminal: Terminal) -> "Spool":
    """Open the user's spool; a note on standard error says what it has to drop."""
    from tradewind.units import parse_bytes
    from tradewind_agent.cli.options import read
    from tradewind_agent.history.spool import DEFAULT_MAX_BYTES, Spool

    stated = os.environ.get(SPOOL_MAX_VARIABLE)
    max_bytes = read(SPOOL_MAX_VARIABLE, parse_bytes, stated) if stated else DEFAULT_MAX_BYTES
    if max_bytes < 1:
        raise typer.BadParameter("must be above 0", param_hint=SPOOL_MAX_VARIABLE)
    return Spool(spool_folder(), warn=terminal.note, max_bytes=max_bytes)


def undo_abandoned_limits(terminal: Terminal) -> None:
    """Remove the limits that a killed agent has left; usually there are none."""
    if not any(build_ledger_folder(os.environ).glob("*.json")):
        return
    from tradewind_agent.resources.limiter import ResourceLimiter

    for line in ResourceLimiter.of_this_host(os.environ).recover():
        terminal.note(line)


def open_client(retries: "RetryPolicy | None" = None, pause: Callable[[float], object] = time.sleep) -> "Client":
    """Open a client of the configured service.

    Raises
    ------
    NotConfigured : there is none.
    """
    from tradewind_agent.config import require_service
    from tradewind_agent.service.client import Client
    from tradewind_agent.service.retries import RetryPolicy

    service = require_service(os.environ)
    return Client(service.url, service.key, retries=retries or RetryPolicy(), pause=pause)


def open_client_if_configured(
    retries: "RetryPolicy | None" = None, pause: Callable[[float], object] = time.sleep
) -> "Client | None":
    """Open a client; return ``None`` if no service is configured."""
    from tradewind_agent.config import find_service

    return None if find_service(os.environ) is None else open_client(retries, pause)


def list_client_modules() -> tuple[str, ...]:
    """Return the modules that a client of the service loads; none if no service is configured."""
    from tradewind_agent.config import find_service

    return () if find_service(os.environ) is None else ("tradewind_agent.service.client", "httpcore")
