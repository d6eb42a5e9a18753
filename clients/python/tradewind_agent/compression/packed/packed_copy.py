"""``copy --compress``: one run of the engine over all files, packed where that pays, planned and logged as any copy."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from tradewind.errors import InvalidValue
from tradewind.units import BITS_PER_BYTE
from tradewind_agent.compression.observations import collect_observations, observe_samples
from tradewind_agent.compression.packed.packing_host import PackingHost
from tradewind_agent.compression.packed.receiver_check import find_receiver_hindrance, find_store_hindrance
from tradewind_agent.compression.packed.stage import PackingStage
from tradewind_agent.compression.packing_choice import (
    PackingChoice,
    choose_no_packing,
    choose_packing,
    choose_packing_all,
)
from tradewind_agent.compression.planning import PackingMode
from tradewind_agent.copy.listing import Listing
from tradewind_agent.copy.options import CopyOptions
from tradewind_agent.copy.reporting.report import CopyReport
from tradewind_agent.copy.run import PreparedCopy, run
from tradewind_agent.engine.progress import Snapshot
from tradewind_agent.errors import SpoolFailed
from tradewind_agent.resources.limiter import ResourceLimiter
from tradewind_agent.session.logbook import Logbook
from tradewind_agent.session.metering import HostMeter

if TYPE_CHECKING:
    from tradewind_agent.service.client import Client


def choose(listing: Listing, mode: PackingMode, options: CopyOptions, client: "Client | None" = None) -> PackingChoice:
    """Plan the copy and choose what is packed; nothing is moved.

    Raises
    ------
    InvalidValue : the user names a codec, and the destination does not unpack.
    AgentError : nothing could be planned.
    """
    if mode.is_adaptive:
        if hindrance := find_store_hindrance(listing):
            return choose_no_packing(listing, options, client, f"{hindrance}; all files go as they are")
        return choose_packing(listing, options, client)
    if hindrance := find_receiver_hindrance(listing, options.engine):
        raise InvalidValue("--compress", f"{mode} cannot be used here: {hindrance}")
    return choose_packing_all(listing, options, client)


def run_packed_copy(
    chosen: PackingChoice,
    mode: PackingMode,
    *,
    limiter: ResourceLimiter | None = None,
    client: "Client | None" = None,
    logbook: Logbook | None = None,
    meter: HostMeter | None = None,
    say: Callable[[str], None] | None = None,
    on_snapshot: Callable[[Snapshot, PreparedCopy], None] | None = None,
) -> CopyReport:
    """Copy the files, measure it and log it; see `tradewind_agent.copy.run.run`.

    Rates count plain bytes, those that the user waits for; a limit of the network holds for what goes over the path.

    Raises
    ------
    CodecMissing : this host lacks the codec that was requested.
    CopyFailed : no share of the path became free in time.
    """
    options = chosen.prepared.options
    disk_bps = options.resources.disk_bps
    host = PackingHost(chosen.most_at_once, disk_bytes_per_s=None if disk_bps is None else disk_bps / BITS_PER_BYTE)
    with PackingStage(
        mode,
        chosen.advised,
        host,
        line_bps=chosen.line_bps,
        at_once=chosen.at_once,
        adapts=options.tune,
        on_end=lambda: _store_observations(chosen, host, logbook),
    ) as stage:
        return run(
            chosen.prepared,
            client=client,
            logbook=logbook,
            meter=meter,
            on_snapshot=on_snapshot,
            say=say,
            limiter=limiter,
            stage=stage,
        )


def _store_observations(chosen: PackingChoice, host: PackingHost, logbook: Logbook | None) -> tuple[str, ...]:
    """Store what codecs made of samples and files, to be sent with the log; return what the user should know."""
    if logbook is None:
        return ()
    transfer_id = chosen.prepared.plan.transfer_id
    found = (*observe_samples(chosen.looked, transfer_id), *collect_observations(host.observed, transfer_id))
    try:
        logbook.observations.store(transfer_id, found)
    except SpoolFailed as failure:
        return (str(failure),)
    return ()
