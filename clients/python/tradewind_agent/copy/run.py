"""Copy files: list them, plan, move, meter, log the records, and report the result in one line."""

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
    """A copy with its files and its plan, before its first byte."""

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
    client : of the service that plans and tunes the copy; without one the closed-form rules and the controller on this
        host decide.
    logbook : stores the records; with ``None`` they are in the report alone.
    meter : of this host's energy and utilisation; the server is then asked for the energy of its own end.
    say : called with one line when the parameters change during the copy, or when it waits.
    manifest : list of the files to copy, instead of the sources' indexes.
    limiter : of this host's resources; by default one that keeps its notes in the user's state folder.

    Raises
    ------
    AgentError : the copy could not start. Failures of single files are in the report.
    """
    with (options or CopyOptions()).connecting_early() as connecting_options:
        listing = list_files(
            sources,
            destination,
            manifest=manifest,
            options=connecting_options.engine,
            rules=connecting_options.listing,
            ask_for_meter=meter is not None,
        )
        return run(
            prepare_listed(listing, options=connecting_options, client=client),
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
    """List the files, time the path and choose the parameters; nothing is moved."""
    options = options or CopyOptions()
    listing = list_files(sources, destination, manifest=manifest, options=options.engine, rules=options.listing)
    return prepare_listed(listing, options=options, client=client)


def prepare_listed(listing: Listing, *, options: CopyOptions, client: "Client | None" = None) -> PreparedCopy:
    """Do the same as `prepare` for files that are already listed."""
    host = listing.remote.host
    if listing.direction is Direction.UPLOAD:
        names = (options.source or socket.gethostname(), options.destination or host)
    else:
        names = (options.source or host, options.destination or socket.gethostname())
    path = Path(bandwidth_bps=options.bandwidth_bps, rtt_s=options.rtt_s or _measure_rtt_s(listing, options.engine))
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
    """Move the prepared files, tune the copy meanwhile, and log it.

    Raises
    ------
    CopyFailed : no share of the path became free in time.
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
            path = _add_measured_rtts(prepared.path, movement, prepared.options)
            timeline = tuple(tuning.ticks) if tuning is not None else ()
            records, status = _build_records(prepared, held, movement, path, timeline), _status(movement)
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
        sla=prepared.options.sla,
        timeline=timeline,
        log=log,
        limits=held.verdicts,
        notes=(*prepared.planned.notes, *held.notes, *_notes(movement)),
        left_out=prepared.listing.left_out,
        accepted=prepared.listing.accepted,
    )


def _live_ticks(prepared: PreparedCopy, client: "Client | None", logbook: Logbook | None) -> LiveTicks:
    """Return where ticks wait for the service: on disk, if there is a service to send them to."""
    nothing_moved = Outcome(status=Status.CANCELLED, bytes_moved=0, files_done=0, files_failed=0, throughput_bps=0.0)
    started_at = datetime.now(UTC)
    total = MovedChunk(
        chunk=ChunkKind.WHOLE,
        dataset=DataSet.of_sizes(prepared.listing.sizes_bytes),
        parameters=prepared.plan.parameters,
        started_at=started_at,
        ended_at=started_at,
        outcome=nothing_moved,
    )
    (beginning,) = build_records(_identity(prepared), total, (), path=prepared.path)
    folder = logbook.transfers.folder if client is not None and logbook is not None else None
    return LiveTicks(folder, prepared.plan.transfer_id, WireRecord.of(beginning))


def _measure_rtt_s(listing: Listing, options: EngineOptions) -> float | None:
    """Return the RTT that the listing has seen, or else the connect time, s.

    ``None`` through a proxy, whose handshake says nothing of the path behind it.
    """
    if listing.rtt_s is not None:
        return listing.rtt_s
    if options.proxies.leading_to(listing.remote) is not None:
        return None
    return measure_connect_s(listing.remote.host, listing.remote.port)


def _discard_parts(listing: Listing) -> None:
    for job in listing.jobs:
        if not isinstance(job, DownloadJob):
            raise CopyFailed("the receiver keeps unfinished uploads and always resumes them")
        with suppress(FileFault):  # another run holds it, or it cannot be removed: the copy of that file reports it
            PartFile(job.destination).discard()


def _add_measured_rtts(path: Path, movement: Movement, options: CopyOptions) -> Path:
    """Return the path with the RTTs of the transfer's own connections: under its load, and the least.

    An RTT far below the user's is that to a middle box, and says nothing of the path.
    """
    least_s, loaded_s = movement.last.path.min_rtt_s, movement.loaded_rtt_s
    if least_s is None or loaded_s is None or (options.rtt_s is not None and least_s < options.rtt_s / 2):
        return replace(path, rtt_s=path.rtt_s or loaded_s)
    return replace(path, rtt_s=max(loaded_s, least_s), min_rtt_s=least_s)


def _build_records(
    prepared: PreparedCopy, held: CopyResources, movement: Movement, path: Path, timeline: Sequence[Tick]
) -> tuple[TransferRecord, ...]:
    # Parts of files that all failed do not measure a transfer; those of an interrupted one do.
    is_measured = movement.result.files_done or (movement.cancelled and movement.result.bytes_moved)
    if not is_measured:
        return ()
    used_plan = held.apply_to_plan(replace_settings(prepared.plan, main_settings(timeline)))
    total, chunks = summarize_chunks(used_plan, prepared.listing, movement, _status(movement))
    return build_records(_identity(prepared), total, chunks, path=path, energy=movement.energy, usage=movement.usage)


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
    """Return the version of the installed agent; ``None`` if it runs from a source tree."""
    try:
        return version("tradewind-agent")
    except PackageNotFoundError:
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
    """Store the records and return what became of them; the copy succeeds even if they cannot be stored.

    ``live`` : the ticks of a tuned transfer.
    """
    if logbook is None:
        return "kept in the report"
    try:
        result = logbook.store(records, None if live is None else live.pending)
    except AgentError as failure:
        return f"lost: {failure}"
    if live is not None:
        live.remove()
    return result
