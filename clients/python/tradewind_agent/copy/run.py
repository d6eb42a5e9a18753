"""Copy files: list them, plan, move, meter, log the records, and report the result in one line."""

import os
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tradewind.dataset import DataSet
from tradewind.energy.measured import Host
from tradewind.path import Path
from tradewind.transfer import Direction, Mover, TransferRecord
from tradewind.units import format_count
from tradewind_agent.copy.acknowledged import reject_unstored
from tradewind_agent.copy.learned_limits import report_learned_limit
from tradewind_agent.copy.listing import Listing, list_files
from tradewind_agent.copy.moving import Movement, move
from tradewind_agent.copy.options import CopyOptions
from tradewind_agent.copy.outcome import add_codecs, find_failure, find_status, summarize_chunks
from tradewind_agent.copy.plan import PlannedCopy, name_mover, plan_copy
from tradewind_agent.copy.reporting.failures import list_failures
from tradewind_agent.copy.resources import CopyResources, hold_resources
from tradewind_agent.copy.stage import TransferStage
from tradewind_agent.copy.tuning import build_tuning
from tradewind_agent.engine.jobs import DownloadJob
from tradewind_agent.engine.local.storage import PartFile
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.engine.progress import Snapshot
from tradewind_agent.errors import CopyFailed, FileFault
from tradewind_agent.resources.limiter import ResourceLimiter
from tradewind_agent.session.loaded_path import add_measured_rtts
from tradewind_agent.session.logbook import Logbook
from tradewind_agent.session.metering import HostMeter, describe_meter_failure
from tradewind_agent.session.path_probe import measure_connect_s
from tradewind_agent.session.planning import Plan
from tradewind_agent.session.records import TransferIdentity
from tradewind_agent.session.transfer_session import TransferSession
from tradewind_agent.sla_text import format_sla
from tradewind_agent.stores.http import HTTP_STORE
from tradewind_agent.tuning.ticks import Tick, build_main_settings
from tradewind_agent.version import get_agent_version

if TYPE_CHECKING:
    from tradewind_agent.copy.reporting.report import CopyReport
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
) -> "CopyReport":
    """Copy ``sources`` to ``destination`` with the best parameters known.

    Parameters
    ----------
    sources : http(s) or s3 addresses of files or folders, or local paths when ``destination`` is an http(s) address.
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
    with (options or CopyOptions()).connect_early() as connecting_options:
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


def prepare_listed(listing: Listing, *, options: CopyOptions, client: "Client | None" = None) -> PreparedCopy:
    """Time the path and choose the parameters; nothing is moved."""
    host = listing.remote.host
    if listing.receiver is not None:
        names = (options.source or host, options.destination or listing.receiver.host)
    elif listing.direction is Direction.UPLOAD:
        names = (options.source or socket.gethostname(), options.destination or host)
    else:
        names = (options.source or host, options.destination or socket.gethostname())
    rtt_s = options.rtt_s or (None if listing.by_servers else _measure_rtt_s(listing, options.engine))
    path = Path(bandwidth_bps=options.bandwidth_bps, rtt_s=rtt_s)
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
    stage: TransferStage | None = None,
) -> "CopyReport":
    """Move the prepared files, tune the copy meanwhile, and log it; a ``stage`` encodes files on their way.

    Raises
    ------
    CopyFailed : no share of the path became free in time.
    """
    if not prepared.options.resume:
        _discard_parts(prepared.listing, stage)
    limiter = limiter or ResourceLimiter.of_this_host(os.environ)
    identity = _build_identity(prepared, stage, is_sent=client is not None)
    with TransferSession(identity=identity, client=client, logbook=logbook) as session:
        dataset = DataSet.of_sizes(prepared.listing.sizes_bytes)
        live = session.open_ticks(dataset, prepared.plan.parameters, prepared.path)
        ends = (prepared.source, prepared.destination)
        with hold_resources(prepared.plan, prepared.listing, prepared.options, limiter, ends) as held:
            say = say or (lambda _: None)
            tuning = build_tuning(
                prepared.planned, prepared.listing, prepared.options, held, service=client, live=live, say=say
            )
            session.hold_share(tuning)
            movement = move(
                prepared.listing.jobs,
                held.state_resources(prepared.plan.chunks),
                held.engine,
                meter=None if prepared.listing.by_servers else meter,
                host=Host.SOURCE if prepared.listing.direction is Direction.UPLOAD else Host.DESTINATION,
                transfer_id=prepared.plan.transfer_id,
                other_meter=prepared.listing.meter,
                tuning=tuning,
                stage=stage,
                read_resources=held.format_in_effect if prepared.options.limit_both_ends else None,
                on_snapshot=None if on_snapshot is None else lambda snapshot: on_snapshot(snapshot, prepared),
            )
        movement = _check_movement(movement, prepared, held.engine, is_staged=stage is not None)
        held.finish_trial(movement.result.bytes_moved)
        if stage is not None:
            stage.note_end()
        session.identity = _complete_identity(session.identity, prepared, movement)
        path = _add_measured_path(prepared, movement)
        timeline = tuple(tuning.ticks) if tuning is not None else ()
        session.status = find_status(movement)
        session.failure = find_failure(movement, prepared.listing.format_address)
        records = _build_records(session, prepared, held, movement, path, timeline=timeline, stage=stage)
        log = session.finish(records)
    report_learned_limit(_find_limited_end(prepared, movement), movement.result.permitted, client)
    report = _report(prepared, held, movement, path, records=records, timeline=timeline, log=log)
    if prepared.listing.removal is not None:
        from tradewind_agent.copy.removal import remove_planned  # noqa: PLC0415 -- rarely used

        report = replace(report, removal=remove_planned(prepared.listing.removal, is_complete=report.is_complete))
    return report if stage is None else _add_stage(report, prepared.listing, stage)


def _check_movement(movement: Movement, prepared: PreparedCopy, engine: EngineOptions, *, is_staged: bool) -> Movement:
    """Return a movement with what both ends say of it now: files that may be left out, uploads that are not there."""
    if prepared.listing.direction is Direction.DOWNLOAD:
        return movement.accept_forbidden(prepared.options.listing, prepared.listing.format_address)
    return movement if is_staged else reject_unstored(movement, prepared.listing, prepared.plan.chunks, engine)


def _complete_identity(identity: TransferIdentity, prepared: PreparedCopy, movement: Movement) -> TransferIdentity:
    """Return the identity with the kind of the remote end, which may only have shown meanwhile, and who moved files."""
    listing = prepared.listing
    is_webdav = listing.store == HTTP_STORE.kind and prepared.options.engine.hooks.speaks_webdav(listing.remote)
    by_servers = movement.result.bytes_by_servers > 0
    mover = identity.mover.name if by_servers == listing.by_servers else name_mover(listing, by_servers=by_servers)
    return replace(identity, store="webdav" if is_webdav else listing.store, mover=Mover(mover, get_agent_version()))


def _add_measured_path(prepared: PreparedCopy, movement: Movement) -> Path:
    """Return the path with the round trips that the copy has seen; servers that moved it themselves show none."""
    if movement.result.bytes_by_servers > 0:
        return prepared.path
    least_s, loaded_s = movement.last.path.min_rtt_s, movement.loaded_rtt_s
    return add_measured_rtts(prepared.path, least_s, loaded_s, stated_s=prepared.options.rtt_s)


def _find_limited_end(prepared: PreparedCopy, movement: Movement) -> str:
    """Return the name of the server that has refused connections, if one has."""
    direction, remote = prepared.listing.direction, str(prepared.listing.remote)
    is_source = direction is Direction.DOWNLOAD or (
        direction is Direction.THIRD_PARTY and remote in movement.result.permitted
    )
    return prepared.source if is_source else prepared.destination


def _add_stage(report: "CopyReport", listing: Listing, stage: TransferStage) -> "CopyReport":
    return replace(
        report,
        encoded=stage.report_bytes(report.bytes_moved),
        can_resume=listing.direction is Direction.DOWNLOAD or not any(map(stage.encodes, listing.jobs)),
        notes=(*report.notes, *stage.list_notes()),
    )


def _report(
    prepared: PreparedCopy,
    held: CopyResources,
    movement: Movement,
    path: Path,
    *,
    records: tuple[TransferRecord, ...],
    timeline: tuple[Tick, ...],
    log: str,
) -> "CopyReport":
    from tradewind_agent.copy.reporting.report import CopyReport  # noqa: PLC0415 -- not needed before the first byte

    result = movement.result
    failures = list_failures(result, prepared.listing.format_address)
    return CopyReport(
        plan=prepared.plan,
        status=find_status(movement),
        source=prepared.source,
        destination=prepared.destination,
        path=path,
        bytes_moved=result.bytes_moved,
        bytes_by_servers=result.bytes_by_servers,
        files_done=result.files_done,
        files_skipped=result.files_skipped,
        failures=failures,
        duration_s=result.duration_s,
        energy=movement.energy,
        usage=movement.usage,
        work=movement.metered.work if movement.metered else None,
        other_work=movement.other_end.work if movement.other_end else None,
        records=records,
        sla=prepared.planned.sla or prepared.options.sla,
        timeline=timeline,
        log=log,
        limits=held.verdicts,
        notes=(*prepared.planned.notes, *held.notes, *_list_notes(movement)),
        left_out=prepared.listing.left_out,
        accepted=(*prepared.listing.accepted, *movement.accepted),
        excluded=prepared.listing.excluded,
    )


def _measure_rtt_s(listing: Listing, options: EngineOptions) -> float | None:
    """Return the RTT that the listing has seen, or else the connect time, s.

    ``None`` through a proxy, whose handshake says nothing of the path behind it.
    """
    if listing.rtt_s is not None:
        return listing.rtt_s
    if options.proxies.find_proxy(listing.remote) is not None:
        return None
    return measure_connect_s(listing.remote.host, listing.remote.port)


def _discard_parts(listing: Listing, stage: TransferStage | None) -> None:
    for job in listing.jobs:
        if not isinstance(job, DownloadJob):
            if stage is not None and stage.encodes(job):
                continue  # no part of it is retained
            raise CopyFailed("the receiver keeps unfinished uploads and always resumes them")
        with suppress(FileFault):  # another run holds it, or it cannot be removed: the copy of that file reports it
            PartFile(job.destination).discard()


def _build_records(
    session: TransferSession,
    prepared: PreparedCopy,
    held: CopyResources,
    movement: Movement,
    path: Path,
    *,
    timeline: Sequence[Tick],
    stage: TransferStage | None,
) -> tuple[TransferRecord, ...]:
    # Parts of files that all failed do not measure a transfer; those of an interrupted one do.
    is_measured = movement.result.files_done or (movement.cancelled and movement.result.bytes_moved)
    if not is_measured:
        return ()
    used_plan = held.apply_to_plan(prepared.plan, build_main_settings(timeline))
    total, chunks = summarize_chunks(used_plan, prepared.listing, movement, find_status(movement))
    if stage is not None:
        total, chunks = add_codecs(used_plan, total, chunks, stage)
    return session.build_records(total, chunks, path=path, energy=movement.energy, usage=movement.usage)


def _build_identity(prepared: PreparedCopy, stage: TransferStage | None, *, is_sent: bool) -> TransferIdentity:
    """Return what identifies the transfer; the version, which takes a while to find, only where a service asks now."""
    mover = name_mover(prepared.listing) if stage is None else stage.mover
    return TransferIdentity(
        transfer_id=prepared.plan.transfer_id,
        source=prepared.source,
        destination=prepared.destination,
        mover=Mover(mover, get_agent_version() if is_sent else None),
        protocol=prepared.listing.remote.scheme,
        direction=prepared.listing.direction,
        store=prepared.listing.store,
        network=prepared.options.network,
        sla=format_sla(prepared.options.sla),
        quote=prepared.plan.quote,
    )


def _list_notes(movement: Movement) -> tuple[str, ...]:
    permitted = tuple(
        f"{origin} permits {format_count(known.count, 'connection')} at once; it refused more"
        for origin, known in movement.result.permitted.items()
    )
    return (*permitted, *movement.result.notes, *movement.notes, *describe_meter_failure(movement.metered))
