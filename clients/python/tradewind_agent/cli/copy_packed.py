"""``tradewind copy --compress``: a copy whose files are packed on their way."""

import signal
from typing import TYPE_CHECKING

import typer

from tradewind_agent.cli.progress import transferring

if TYPE_CHECKING:
    from tradewind_agent.cli.copy_by import Around
    from tradewind_agent.compression.planning import Wish
    from tradewind_agent.copy_listing import Listing
    from tradewind_agent.copy_options import CopyOptions

OFF = "off"


def wish_of(compress: str) -> "Wish | None":
    """What ``--compress`` says; ``None`` for off, and nothing of packing is loaded then."""
    if compress == OFF:
        return None
    from tradewind.errors import InvalidValue
    from tradewind_agent.compression.planning import Wish

    try:
        return Wish.parse(compress)
    except InvalidValue as wrong:
        raise typer.BadParameter(f"{wrong.reason}; or auto, or off", param_hint="--compress") from None


def run_packed(listing: "Listing", wish: "Wish", wanted: "CopyOptions", around: "Around") -> int:
    """Do it and tell what came of it; the exit code."""
    from tradewind_agent.compression.copying import copy_packed

    terminal = around.terminal
    total_bytes, files = sum(listing.sizes_bytes), len(listing.jobs)
    with transferring(terminal) as show:
        report = copy_packed(
            listing,
            wish,
            wanted.engine,
            line_bps=wanted.bandwidth_bps,
            client=around.client,
            say=terminal.note,
            on_moved=None if show is None else lambda moved, over: show(moved, total_bytes, over, files),
        )
    terminal.result(report.line(), report.document())
    return 0 if report.succeeded else 128 + signal.SIGINT if report.cancelled else 1
