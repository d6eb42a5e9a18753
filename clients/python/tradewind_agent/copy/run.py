"""Copy files: list them, ask how, move them, measure, log what came of it, and tell it in one line."""

import os
import socket
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from tradewind.dataset import ChunkKind, DataSet
from tradewind.energy.measured import Host
from tradewind.path import Path
from tradewind.transfer import Direction, Mover, Outcome, Status, TransferRecord
from tradewind.units import format_count
from tradewind.wire.records import WireRecord
from tradewind_agent.copy.listing import Listing, list_files
from tradewind_agent.copy.moving import Movement, move
from tradewind_agent.copy.options import CopyOptions
from tradewind_agent.copy.outcome import summarize_chunks
from tradewind_agent.copy.plan import MOVER, PlannedCopy, plan_copy
from tradewind_agent.copy.report import CopyReport, Failure
from tradewind_agent.copy.resources import CopyResources, hold_resources
from tradewind_agent.copy.tuning import build_tuning
from tradewind_agent.engine.jobs import DownloadJob
from tradewind_agent.engine.local.storage import PartFile
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.engine.progress import Snapshot
from tradewind_agent.errors import AgentError, CopyFailed, FileFault
from tradewind_agent.resources.limiter import ResourceLimiter
from tradewind_agent.session.live_ticks import LiveTicks
from tradewind_agent.session.logbook import Logbook
from tradewind_agent.session.metering import HostMeter
from tradewind_agent.session.path_probe import measure_connect_s
from tradewind_agent.session.planning import Plan, replace_settings
from tradewind_agent.session.records import MovedChunk, TransferIdentity, build_records
from tradewind_agent.session.release_share import release_share
from tradewind_agent.sla_text import format_sla
from tradewind_agent.tuning.ticks import Tick, main_settings

if TYPE_CHECKING:
    from tradewind_agent.service.client import Client


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedCopy:
    """A copy about to begin."""

    listing: Listing
    planned: PlannedCopy
    path: Path
    source: str
    destination: str
    options: CopyOptions

    @property
    def plan(self) -> Plan:
        return self.planned.plan


def copy_files(
    sources: Sequence[str],
    destination: str,
    *,
    options: CopyOptions | None = None,
    client: "Client | None" = None,
    logbook: Logbook | None = None,
    meter: HostMeter | None = None,
    on_snapshot: Callable[[Snapshot, PreparedCopy], None] | None = None,
    say: Callable[[str], None] | None = None,
    manifest: str | None = None,
    limiter: ResourceLimiter | None = None,
) -> CopyReport:
    """Copy ``sources`` to ``destination`` with the best parameters known.

    Parameters
    ----------
    sources : http(s) addresses of files or folders, or local paths when ``destination`` is an http(s) address.
    client : of the service that is asked, before and while it runs; without one the closed-form rules and the
        controller on this host decide.
    logbook : where the records go; ``None`` keeps them in the report alone.
    meter : of this host's energy and utilisation; the server is then asked for that of its own end.
    say : told one line when the parameters change while it runs, or when it waits.
    manifest : list of files to copy instead of what the sources' indexes say.
    limiter : of this host's resources; by default one that keeps its notes in the user's state folder.

    Raises
    ------
    AgentError : nothing could be begun. What goes wrong with single files is in the report.
    """
    with (options or CopyOptions()).connecting_early() as wanted:
        listing = list_files(
            sources,
            destination,
            manifest=manifest,
            options=wanted.engine,
            rules=wanted.listing,
            ask_for_meter=meter is not None,
        )
        return run(
            prepare_listed(listing, options=wanted, client=client),
            client=client,
            logbook=logbook,
            meter=meter,
            on_snapshot=on_snapshot,
            say=say,
            limiter=limiter,
        )


def prepare(
    sources: Sequence[str],
    destination: str,
    *,
    options: CopyOptions | None = None,
    client: "Client | None" = None,
    manifest: str | None = None,
) -> PreparedCopy:
    """List the files, look at the path and decide on the parameters; nothing is moved."""
    options = options or CopyOptions()
    listing = list_files(sources, destination, manifest=manifest, options=options.engine, rules=options.listing)
    return prepare_listed(listing, options=options, client=client)


def prepare_listed(listing: Listing, *, options: CopyOptions, client: "Client | None" = None) -> PreparedCopy:
    """As `prepare`, of files that are listed already."""
    host = listing.remote.host
    here, there = options.source, options.destination
    if listing.direction is Direction.UPLOAD:
        names = (here or socket.gethostname(), there or host)
    else:
        names = (here or host, there or socket.gethostname())
    path = Path(bandwidth_bps=options.bandwidth_bps, rtt_s=options.rtt_s or _timed(listing, options.engine))
    return PreparedCopy(
        listing=listing,
        planned=plan_copy(listing, path, names, options, client),
        path=path,
        source=names[0],
        destination=names[1],
        options=options,
    )


def run(
    prepared: PreparedCopy,
    *,
    client: "Client | None" = None,
    logbook: Logbook | None = None,
    meter: HostMeter | None = None,
    on_snapshot: Callable[[Snapshot, PreparedCopy], None] | None = None,
    say: Callable[[str], None] | None = None,
    limiter: ResourceLimiter | None = None,
) -> CopyReport:
    """Move what was prepared, tune it meanwhile, and log it.

    Raises
    ------
    CopyFailed : no share of the path came free in time.
    """
    if not prepared.options.resume:
        _discard_parts(prepared.listing)
    limiter = limiter or ResourceLimiter.of_this_host(os.environ)
    with closing(_live_ticks(prepared, client, logbook)) as live:
        tuning = build_tuning(
            prepared.planned,
            prepared.listing,
            prepared.options,
            service=client,
            live=live,
            say=say or (lambda _: None),
        )
        status, records = Status.CANCELLED, tuple[TransferRecord, ...]()
        try:
            with hold_resources(prepared.plan, prepared.listing.direction, prepared.options, limiter) as held:
                movement = move(
                    prepared.listing.jobs,
                    prepared.plan.chunks,
                    held.engine,
                    meter=meter,
                    host=Host.SOURCE if prepared.listing.direction is Direction.UPLOAD else Host.DESTINATION,
                    transfer_id=prepared.plan.transfer_id,
                    other_meter=prepared.listing.meter,
                    tuning=tuning,
                    on_snapshot=None if on_snapshot is None else lambda snapshot: on_snapshot(snapshot, prepared),
                )
            path = _path_seen(prepared.path, movement, prepared.options)
            timeline = tuple(tuning.ticks) if tuning is not None else ()
            records, status = _records(prepared, held, movement, path, timeline), _status(movement)
        finally:
            if client is not None and tuning is not None and tuning.is_service_answering and not (records and logbook):
                release_share(client, prepared.plan.transfer_id, live, status)
        log = store_records(logbook, records, live if tuning is not None else None)
    return _report(prepared, held, movement, path, records=records, timeline=timeline, log=log)


def _report(
    prepared: PreparedCopy,
    held: CopyResources,
    movement: Movement,
    path: Path,
    *,
    records: tuple[TransferRecord, ...],
    timeline: tuple[Tick, ...],
    log: str,
) -> CopyReport:
    result = movement.result
    failures = [Failure(failure.url, failure.reason) for failure in result.failures]
    if result.stopped is not None:
        failures.insert(0, Failure("the transfer", str(result.stopped)))
    return CopyReport(
        plan=prepared.plan,
        status=_status(movement),
        source=prepared.source,
        destination=prepared.destination,
        path=path,
        bytes_moved=result.bytes_moved,
        files_done=result.files_done,
        files_skipped=result.files_skipped,
        failures=tuple(failures),
        duration_s=result.duration_s,
        energy=movement.energy,
        usage=movement.usage,
        work=movement.metered.work if movement.metered else None,
        other_work=movement.other_end.work if movement.other_end else None,
        records=records,
        agreement=prepared.options.sla,
        timeline=timeline,
        log=log,
        limits=held.verdicts,
        notes=(*prepared.planned.notes, *held.notes, *_notes(movement)),
        left_out=prepared.listing.left_out,
        accepted=prepared.listing.accepted,
    )


def _live_ticks(prepared: PreparedCopy, client: "Client | None", logbook: Logbook | None) -> LiveTicks:
    """Where ticks wait for the service: on disk, if there is a service that may want them."""
    nothing = Outcome(status=Status.CANCELLED, bytes_moved=0, files_done=0, files_failed=0, throughput_bps=0.0)
    began = datetime.now(UTC)
    whole = MovedChunk(
        chunk=ChunkKind.WHOLE,
        dataset=DataSet.of_sizes(prepared.listing.sizes_bytes),
        parameters=prepared.plan.parameters,
        started_at=began,
        ended_at=began,
        outcome=nothing,
    )
    (beginning,) = build_records(_identity(prepared), whole, (), path=prepared.path)
    folder = logbook.transfers.folder if client is not None and logbook is not None else None
    return LiveTicks(folder, prepared.plan.transfer_id, WireRecord.of(beginning))


def _timed(listing: Listing, options: EngineOptions) -> float | None:
    """RTT that the listing has seen, else by connect time.

    Not through a proxy, whose handshake says nothing of the path behind it.
    """
    if listing.rtt_s is not None:
        return listing.rtt_s
    if options.proxies.leading_to(listing.remote) is not None:
        return None
    return measure_connect_s(listing.remote.host, listing.remote.port)


def _discard_parts(listing: Listing) -> None:
    for job in listing.jobs:
        if not isinstance(job, DownloadJob):
            raise CopyFailed("unfinished uploads are kept by the receiver, which always goes on with them")
        with suppress(FileFault):  # another run holds it, or it cannot be removed: the file's own copy says so
            PartFile(job.destination).discard()


def _path_seen(path: Path, movement: Movement, options: CopyOptions) -> Path:
    """The path with what the transfer's own connections saw: its round trip under this load, and the least.

    One far below what the user stated is that to a middle box: it says nothing of the path.
    """
    least_s, loaded_s = movement.last.path.min_rtt_s, movement.loaded_rtt_s
    if least_s is None or loaded_s is None or (options.rtt_s is not None and least_s < options.rtt_s / 2):
        return replace(path, rtt_s=path.rtt_s or loaded_s)
    return replace(path, rtt_s=max(loaded_s, least_s), min_rtt_s=least_s)


def _records(
    prepared: PreparedCopy, held: CopyResources, movement: Movement, path: Path, timeline: Sequence[Tick]
) -> tuple[TransferRecord, ...]:
    # Parts of files that all failed measure no transfer; those of one that the user cut short do.
    measured = movement.result.files_done or (movement.cancelled and movement.result.bytes_moved)
    if not measured:
        return ()
    moved_with = held.apply_to_plan(replace_settings(prepared.plan, main_settings(timeline)))
    whole, chunks = summarize_chunks(moved_with, prepared.listing, movement, _status(movement))
    return build_records(_identity(prepared), whole, chunks, path=path, energy=movement.energy, usage=movement.usage)


def _identity(prepared: PreparedCopy) -> TransferIdentity:
    return TransferIdentity(
        transfer_id=prepared.plan.transfer_id,
        source=prepared.source,
        destination=prepared.destination,
        mover=Mover(MOVER, get_agent_version()),
        protocol=prepared.listing.remote.scheme,
        direction=prepared.listing.direction,
        network=prepared.options.network,
        sla=format_sla(prepared.options.sla),
        quote=prepared.plan.quote,
    )


def get_agent_version() -> str | None:
    """Version of the installed agent; ``None`` where it runs from a source tree."""
    try:
        return version("tradewind-agent")
    except PackageNotFoundError:  # run from a source tree that is not installed
        return None


def _status(movement: Movement) -> Status:
    if movement.cancelled:
        return Status.CANCELLED
    return Status.SUCCEEDED if movement.result.succeeded else Status.FAILED


def _notes(movement: Movement) -> tuple[str, ...]:
    permitted = tuple(
        f"{origin} permits {format_count(count, 'connection')} at once; it refused more"
        for origin, count in movement.result.permitted.items()
    )
    if movement.metered is None or movement.metered.failure is None:
        return permitted
    return (*permitted, f"energy was not measured to the end: {movement.metered.failure}")


def store_records(logbook: Logbook | None, records: tuple[TransferRecord, ...], live: LiveTicks | None = None) -> str:
    """What became of the records; a log that cannot be kept is no failure of what was moved.

    ``live`` : of a transfer that was tuned.
    """
    if logbook is None:
        return "kept in the report"
    try:
        told = logbook.store(records, None if live is None else live.pending)
    except AgentError as failure:
        return f"lost: {failure}"
    if live is not None:
        live.remove()
    return told
