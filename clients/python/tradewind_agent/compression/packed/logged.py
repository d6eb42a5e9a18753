"""A packed copy as any other copy: path and energy measured, logged, and reported in one line."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

from tradewind.dataset import ChunkKind, DataSet
from tradewind.energy.measured import Host
from tradewind.parameters import Parameters
from tradewind.transfer import Direction, Mover, Status, TransferOutcome, TransferRecord
from tradewind.units import compute_throughput_bps
from tradewind_agent.compression.packed.connection_pool import ConnectionPool
from tradewind_agent.compression.packed.report import PackedReport
from tradewind_agent.compression.packed.run import PackedCopy
from tradewind_agent.compression.packing_choice import PackingChoice
from tradewind_agent.compression.planning import PackingMode
from tradewind_agent.copy.listing import Listing
from tradewind_agent.copy.options import CopyOptions
from tradewind_agent.copy.report import CopyReport, Failure
from tradewind_agent.copy.resources import CopyResources, hold_resources
from tradewind_agent.copy.run import PreparedCopy, prepare_listed
from tradewind_agent.engine.jobs import DownloadJob
from tradewind_agent.engine.local.storage import PartFile
from tradewind_agent.errors import FileFault, SpoolFailed
from tradewind_agent.meters import MeterResult
from tradewind_agent.resources.limiter import ResourceLimiter
from tradewind_agent.session.logbook import Logbook
from tradewind_agent.session.metering import HostMeter, describe_meter_failure
from tradewind_agent.session.other_end import OtherEnd, OtherEndReading, collect_energy
from tradewind_agent.session.records import LEAST_DURATION, MovedChunk, TransferIdentity
from tradewind_agent.session.transfer_session import TransferSession
from tradewind_agent.sla_text import format_sla
from tradewind_agent.version import get_agent_version

if TYPE_CHECKING:
    from tradewind.wire.compression import WireObservation

PACKED_MOVER = "tradewind-packed"
"""A mover of its own: what packed files reach says nothing of what the engine's streams would."""

OnMoved = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedCopyOutcome:
    """The outcome of a packed copy: the report of every copy, and that of packing."""

    copy: CopyReport
    packed: PackedReport

    def format_line(self) -> str:
        return (
            f"{self.copy.format_line()}; {self.packed.format_line()}"
            if self.copy.files_done
            else self.copy.format_line()
        )

    def build_document(self) -> dict[str, Any]:
        return self.copy.build_document() | self.packed.build_document()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Movement:
    packed: PackedReport
    started_at: datetime
    metered: MeterResult | None
    other_end: OtherEndReading | None

    @property
    def status(self) -> Status:
        if self.packed.cancelled:
            return Status.CANCELLED
        return Status.SUCCEEDED if self.packed.succeeded else Status.FAILED

    @property
    def moved_bytes(self) -> int:
        """Return the plain bytes; of a copy that was cut short also those of files that were not finished."""
        return self.packed.moved_bytes if self.packed.cancelled else self.packed.plain_bytes


def run_packed_copy(
    listing: Listing,
    mode: PackingMode,
    options: CopyOptions,
    *,
    chosen: PackingChoice,
    connections: ConnectionPool,
    limiter: ResourceLimiter,
    logbook: Logbook | None = None,
    meter: HostMeter | None = None,
    on_moved: OnMoved | None = None,
) -> PackedCopyOutcome:
    """Copy the files, measure it and log it.

    Parameters
    ----------
    options : without those that only the engine can honour.
    chosen : how many at once, and what each is to be packed with. connections : that are open already.

    Raises
    ------
    CodecMissing : this host lacks the codec that was asked for.
    """
    if not options.resume:
        for job in listing.jobs:
            if isinstance(job, DownloadJob):
                with suppress(FileFault):  # another run holds it, or it cannot be removed: the file's own copy says so
                    PartFile(job.destination).discard()
    by_hand = Parameters(concurrency=min(chosen.at_once, len(listing.jobs)), parallelism=1, pipelining=1)
    prepared = prepare_listed(listing, options=replace(options, by_hand=by_hand))
    with hold_resources(prepared.plan, listing.direction, options, limiter) as held:
        copy = PackedCopy(
            listing,
            mode,
            held.engine,
            transfer_id=prepared.plan.transfer_id,
            files_at_once=chosen.at_once,
            line_bps=chosen.line_bps,
            advised=chosen.advised,
            connections=connections,
            on_moved=on_moved,
        )
        movement = asyncio.run(_move(copy, prepared, meter))
    session = TransferSession(identity=_make_identity(prepared), logbook=logbook)
    records = _make_records(session, prepared, held, movement)
    seen = () if logbook is None else copy.collect_observations()
    notes = store_observations(logbook, movement.packed.transfer_id, seen)
    log = session.finish(records)
    report = _make_report(prepared, held, movement, records=records, notes=notes, log=log)
    return PackedCopyOutcome(copy=report, packed=movement.packed)


async def _move(copy: PackedCopy, prepared: PreparedCopy, meter: HostMeter | None) -> _Movement:
    """Run it in a thread, metered at both ends; an interrupt of the user ends it cleanly."""
    listing = prepared.listing
    here, there = Host.SOURCE, Host.DESTINATION
    if listing.direction is Direction.DOWNLOAD:
        here, there = there, here
    session = other = None
    if meter is not None:
        session, other = await asyncio.gather(
            meter.build_session(here),
            OtherEnd.find(listing.jobs, prepared.plan.transfer_id, there, copy.options, listing.meter),
        )
        if other is not None:
            copy.options = other.options
        await session.start()
    started_at = datetime.now(UTC)
    running = asyncio.create_task(asyncio.to_thread(copy.run))
    try:
        packed = await asyncio.shield(running)
    except asyncio.CancelledError:
        copy.stop()
        packed = await running
    metered = None if session is None else await session.stop()
    reading = None
    if other is not None and metered is not None and packed.packed_bytes:
        reading = await other.fetch_reading(packed.packed_bytes, metered.work.duration_s)
    return _Movement(packed=packed, started_at=started_at, metered=metered, other_end=reading)


def _make_records(
    session: TransferSession, prepared: PreparedCopy, held: CopyResources, movement: _Movement
) -> tuple[TransferRecord, ...]:
    """Return the row to log; none where nothing was moved that measures a transfer."""
    packed, listing = movement.packed, prepared.listing
    if not packed.files_done and not (packed.cancelled and packed.moved_bytes):
        return ()
    failed = len(packed.failures)
    is_exact_listing = listing.sizes_are_exact and not packed.files_skipped and movement.status is Status.SUCCEEDED
    moved = MovedChunk(
        chunk=ChunkKind.WHOLE,
        dataset=DataSet.of_sizes(listing.sizes_bytes)
        if is_exact_listing
        else DataSet(file_count=max(packed.files_done + failed, 1), total_bytes=movement.moved_bytes),
        parameters=replace(held.apply_to_plan(prepared.plan).parameters, codec=packed.codec),
        started_at=movement.started_at,
        ended_at=movement.started_at + timedelta(seconds=packed.duration_s),
        outcome=TransferOutcome(
            status=movement.status,
            bytes_moved=movement.moved_bytes,
            files_done=packed.files_done,
            files_failed=failed,
            throughput_bps=compute_throughput_bps(
                movement.moved_bytes, max(packed.duration_s, LEAST_DURATION.total_seconds())
            ),
        ),
    )
    usage = None if movement.metered is None else movement.metered.usage
    return session.build_records(
        moved, path=prepared.path, energy=collect_energy(movement.metered, movement.other_end), usage=usage
    )


def _make_identity(prepared: PreparedCopy) -> TransferIdentity:
    return TransferIdentity(
        transfer_id=prepared.plan.transfer_id,
        source=prepared.source,
        destination=prepared.destination,
        mover=Mover(PACKED_MOVER, get_agent_version()),
        protocol=prepared.listing.remote.scheme,
        direction=prepared.listing.direction,
        network=prepared.options.network,
        sla=format_sla(prepared.options.sla),
    )


def store_observations(
    logbook: Logbook | None, transfer_id: UUID, observations: "Sequence[WireObservation]"
) -> tuple[str, ...]:
    """Put them where they are sent from with the log; what the user should know."""
    if logbook is None:
        return ()
    try:
        logbook.observations.store(transfer_id, observations)
    except SpoolFailed as failure:
        return (str(failure),)
    return ()


def _make_report(
    prepared: PreparedCopy,
    held: CopyResources,
    movement: _Movement,
    *,
    records: tuple[TransferRecord, ...],
    notes: tuple[str, ...],
    log: str,
) -> CopyReport:
    packed, metered = movement.packed, movement.metered
    failures = [Failure(file, reason) for file, reason in packed.failures]
    if packed.stopped is not None:
        failures.insert(0, Failure("the transfer", str(packed.stopped)))
    return CopyReport(
        plan=replace(prepared.plan, rationale="a file a connection at a time, packed on its way"),
        status=movement.status,
        source=prepared.source,
        destination=prepared.destination,
        path=prepared.path,
        bytes_moved=movement.moved_bytes,
        files_done=packed.files_done,
        files_skipped=packed.files_skipped,
        can_resume=prepared.listing.direction is Direction.DOWNLOAD,
        failures=tuple(failures),
        duration_s=packed.duration_s,
        energy=collect_energy(movement.metered, movement.other_end),
        usage=None if metered is None else metered.usage,
        work=None if metered is None else metered.work,
        other_work=None if movement.other_end is None else movement.other_end.work,
        records=records,
        sla=prepared.options.sla,
        log=log,
        limits=held.verdicts,
        notes=(*held.notes, *packed.list_notes(), *notes, *describe_meter_failure(metered)),
    )
