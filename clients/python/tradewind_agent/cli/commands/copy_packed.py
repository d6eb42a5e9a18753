"""``tradewind copy --compress``: a copy whose files are packed on their way."""

import os
import signal
from typing import TYPE_CHECKING

import typer

from tradewind_agent.cli import environment
from tradewind_agent.cli.progress import show_transfer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tradewind_agent.cli.commands.copy_by_tool import CopyContext
    from tradewind_agent.compression.planning import PackingMode
    from tradewind_agent.copy.listing import Listing
    from tradewind_agent.copy.options import CopyOptions

OFF = "off"


def parse_compress_option(compress: str) -> "PackingMode | None":
    """Parse ``--compress``; return ``None`` for off, without loading the modules for packing."""
    if compress == OFF:
        return None
    from tradewind.errors import InvalidValue
    from tradewind_agent.compression.planning import PackingMode

    try:
        return PackingMode.parse(compress)
    except InvalidValue as wrong:
        raise typer.BadParameter(f"{wrong.reason}; or auto, raw or off", param_hint="--compress") from None


def reject_unsupported_options(packing: "PackingMode", settings: "CopyOptions") -> None:
    """Refuse options that only the engine supports, instead of ignoring them."""
    for option, why in _find_unsupported(packing, settings):
        raise typer.BadParameter(f"{why}; leave it out, or leave out --compress", param_hint=option)


def _find_unsupported(packing: "PackingMode", settings: "CopyOptions") -> "Iterator[tuple[str, str]]":
    from tradewind_agent.copy.options import MAX_THROUGHPUT
    from tradewind_agent.tuning.pace import SHARE_PATIENCE_S

    by_hand, resources = settings.by_hand, settings.resources
    one_stream = "a packed file goes over one connection, block by block"
    checks = (
        ("--sla", settings.sla != MAX_THROUGHPUT, "a packed copy goes as fast as it can and supports no SLA"),
        ("--parallelism", by_hand.parallelism is not None, one_stream),
        ("--pipelining", by_hand.pipelining is not None, one_stream),
        ("--io-block", by_hand.io_block_bytes is not None, one_stream),
        (
            "--no-tune",
            packing.is_adaptive and not settings.tune,
            "auto changes codec and level on the way; name a codec",
        ),
        ("--tick", settings.tick_s is not None, "a packed copy takes no samples"),
        ("--wait", settings.share_patience_s != SHARE_PATIENCE_S, "a packed copy claims no share of a path"),
        ("--limit-rate", resources.nic_bps is not None, "a packed copy cannot limit its rate"),
        ("--limit-disk", resources.disk_bps is not None, "a packed copy cannot limit its rate"),
        ("--apply-resources", settings.apply_resources, "nothing is recommended for a packed copy but its codec"),
        ("--load", settings.load is not None and settings.bandwidth_bps is None, "it needs --bandwidth"),
    )
    return ((option, why) for option, is_unsupported, why in checks if is_unsupported)


def run_packed_copy(listing: "Listing", packing: "PackingMode", settings: "CopyOptions", context: "CopyContext") -> int:
    """Run the packed copy, report the result, and return the exit code."""
    from tradewind.transfer import Status
    from tradewind_agent.compression.packed.split_copy import run_split_copy
    from tradewind_agent.resources.limiter import ResourceLimiter
    from tradewind_agent.session.logbook import Logbook

    terminal = context.terminal
    total_bytes, files = sum(listing.sizes_bytes), len(listing.jobs)
    with show_transfer(terminal) as show:
        done = run_split_copy(
            listing,
            packing,
            settings,
            limiter=ResourceLimiter.of_this_host(os.environ),
            client=context.client,
            logbook=Logbook(spool=environment.open_spool(terminal), client=context.client),
            meter=context.meter,
            say=terminal.note,
            on_moved=None if show is None else lambda moved, over: show(moved, total_bytes, over, files),
        )
    for line in done.all_notes:
        terminal.note(line)
    terminal.print_result(done.format_line(), done.build_document())
    if done.is_complete:
        return 0
    return 128 + signal.SIGINT if done.status is Status.CANCELLED else 1
