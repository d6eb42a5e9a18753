"""``tradewind copy --mover TOOL``: a copy by another tool."""

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tradewind_agent.cli.commands.wrap import run_and_report, show_command

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tradewind_agent.cli.terminal import Terminal
    from tradewind_agent.copy.options import CopyOptions
    from tradewind_agent.service.client import Client
    from tradewind_agent.session.metering import HostMeter


@dataclass(frozen=True, slots=True)
class CopyContext:
    """The terminal, service and meter of a copy, whoever moves the bytes."""

    terminal: "Terminal"
    client: "Client | None"
    meter: "HostMeter"


def copy_by_tool(
    mover: str,
    places: "Sequence[str]",
    settings: "CopyOptions",
    context: CopyContext,
    *,
    manifest: str | None,
    dry_run: bool,
) -> int:
    """Copy with ``mover``, or show how, and return the exit code."""
    from tradewind_agent.movers.copy_by_tool import prepare_copy_by
    from tradewind_agent.movers.wrap.prepare import WrapOptions

    with tempfile.TemporaryDirectory(prefix="tradewind-") as folder:
        prepared = prepare_copy_by(
            mover,
            places,
            options=WrapOptions(copy=settings),
            environment=os.environ,
            folder=Path(folder),
            client=context.client,
            manifest=manifest,
        )
        if dry_run:
            show_command(context.terminal, prepared)
            return 1 if prepared.left_out else 0
        code = run_and_report(context.terminal, prepared, context.client, context.meter)
        return code or (1 if prepared.left_out else 0)
