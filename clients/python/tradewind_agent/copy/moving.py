"""Run the engine by a plan, sample it, meter both ends, and return the result of each chunk."""

import asyncio
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, TypeAlias
from uuid import UUID

from tradewind.dataset import ChunkKind
from tradewind.energy.measured import EnergyReading, Host
from tradewind.recommendation import ChunkPlan
from tradewind.transfer import ResourceUsage
from tradewind_agent.copy.stage import TransferStage
from tradewind_agent.engine.engine import TransferEngine
from tradewind_agent.engine.http.patient_loop import PatientLoop
from tradewind_agent.engine.jobs import Job, TransferResult, are_relays
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.engine.plain_transfer import make_plain_transfer
from tradewind_agent.engine.progress import Snapshot
from tradewind_agent.engine.remote.omissions import ListingRules, Omission, OmissionKind
from tradewind_agent.meters import MeterResult, MeterSession
from tradewind_agent.resources.applied import describe
from tradewind_agent.session.loaded_path import LoadedPath
from tradewind_agent.session.metering import HostMeter
from tradewind_agent.session.other_end import OtherEnd, OtherEndReading, collect_energy
from tradewind_agent.session.other_end_power import BothEndsMeter, LiveMeter, OtherEndPower
from tradewind_agent.session.transfer_naming import parse_resources
from tradewind_agent.tuning.loop import Tuning

SNAPSHOT_INTERVAL_S = 0.05
"""Time between two snapshots of a running transfer: the error of a chunk's end."""

SNAPSHOT_COST_SHARE = 0.02
"""Snapshots may cost this share of the time at most; with very many files they become rarer."""

if TYPE_CHECKING:
    from tradewind_agent.engine.relay.relay_engine import RelayEngine

Engine: TypeAlias = "TransferEngine | RelayEngine"


@dataclass(frozen=True, slots=True, kw_only=True)
class Movement:
    """The result of a run of the engine.

    ``loaded_rtt_s`` : round trip while data moved; ``None`` without a sample, as in a short transfer.
    ``chunk_finished_s`` : when each chunk's last file finished, since the start; for an unfinished chunk the end.
    ``notes`` : what the user has to know of the other end.
    ``accepted`` : files that the server refused, with the user's consent.
    """

    result: TransferResult
    last: Snapshot
    loaded_rtt_s: float | None
    started_at: datetime
    chunk_finished_s: Mapping[ChunkKind, float]
    metered: MeterResult | None
    other_end: OtherEndReading | None
    cancelled: bool
    notes: tuple[str, ...] = ()
    accepted: tuple[Omission, ...] = ()

    def accept_forbidden(self, rules: ListingRules, format_address: Callable[[str], str]) -> "Movement":
        """Return the same without the failures of files that may not be read, where the user leaves them out.

        Where no file could be read they stay: it is the login then that is wrong.
        """
        result = self.result
        forbidden = [each for each in result.failures if each.is_forbidden]
        if not (rules.skip_unreadable and forbidden and (result.files_done or result.files_skipped)):
            return self
        others = tuple(each for each in result.failures if not each.is_forbidden)
        accepted = (
            Omission(
                format_address(each.url), f"is a file that cannot be read ({each.reason})", OmissionKind.UNREADABLE
            )
            for each in forbidden
        )
        return replace(self, result=replace(result, failures=others), accepted=tuple(accepted))

    @property
    def energy(self) -> tuple[EnergyReading, ...]:
        """A reading for each metered end, this one first."""
        return collect_energy(self.metered, self.other_end)

    @property
    def usage(self) -> ResourceUsage | None:
        return self.metered.usage if self.metered is not None else None

    @property
    def ended_at(self) -> datetime:
        return self.started_at + timedelta(seconds=self.result.duration_s)


def move(
    jobs: Sequence[Job],
    plan: Sequence[ChunkPlan],
    options: EngineOptions,
    *,
    meter: HostMeter | None = None,
    host: Host = Host.DESTINATION,
    transfer_id: UUID | None = None,
    other_meter: bytes | None = None,
    tuning: Tuning | None = None,
    stage: TransferStage | None = None,
    read_resources: Callable[[], str] | None = None,
    on_snapshot: Callable[[Snapshot], None] | None = None,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Movement:
    """Move ``jobs`` by ``plan``; an interrupt ends the transfer cleanly and sets ``cancelled``.

    Parameters
    ----------
    meter : of this host, which is the ``host`` end of the transfer; without it neither end is metered.
    transfer_id : named to the server, which then meters the other end if it can.
    other_meter : the server's answer about its meter; ``None`` requests it while the transfer runs.
    tuning : changes the plan while the transfer runs; the first byte waits until it has claimed a share.
    stage : encodes files on their way; without one their bytes go as they are.
    read_resources : returns the resources that suffice at the other end; ``None`` requests nothing there.
    on_snapshot : called some twenty times a second, and once at the end.

    Raises
    ------
    CopyFailed : no share of the path came free in time.
    """
    server = None
    if read_resources is not None and transfer_id is not None:
        server = OtherEnd.of(jobs, transfer_id, host, options)  # named, whether energy is metered or not
        options = options if server is None else server.with_resources(read_resources).options
    make_transfer = make_plain_transfer if stage is None else stage.make_transfer

    def make_engine(options: EngineOptions) -> Engine:
        if are_relays(jobs):
            from tradewind_agent.engine.relay.relay_engine import RelayEngine  # noqa: PLC0415 -- rarely used

            return RelayEngine(plan, options)
        return TransferEngine(plan, options, make_transfer)

    async def run_and_request_limits() -> Movement:
        if read_resources is None:
            return await run()
        query = None if server is None else asyncio.create_task(server.fetch_accepted_resources())
        movement = await run()
        accepted = frozenset[str]() if query is None else await query
        return replace(movement, notes=_describe_unlimited(read_resources(), accepted))

    async def run() -> Movement:
        run_engine = partial(_run_engine, tuning=tuning, on_snapshot=on_snapshot, now=now)
        if meter is None:
            return await run_engine(jobs, make_engine(options), None)
        other = None if transfer_id is None else _find_other_end(jobs, transfer_id, options, host, other_meter)
        if other is None:
            return await run_engine(jobs, make_engine(options), await meter.build_session(host))
        meter_query = asyncio.create_task(_is_metered(other, other_meter))
        engine, session = make_engine(other.options), await meter.build_session(host)
        movement = await run_engine(jobs, engine, session, OtherEndPower(other), meter_query)
        return await _add_other_end(movement, other, stage) if await meter_query else movement

    with asyncio.Runner(loop_factory=PatientLoop) as runner:
        return runner.run(run_and_request_limits())


def _describe_unlimited(requested: str, accepted: Collection[str]) -> tuple[str, ...]:
    """Return a note on the resources that were requested of the other end, and that it does not limit."""
    refused = (
        [
            describe(name, value)
            for name, value in parse_resources(requested).select_known().items()
            if name not in accepted
        ]
        if requested
        else []
    )
    if not refused:
        return ()
    return (f"the other end is not limited to {' and '.join(refused)}: no serve-files there accepts that",)


def _find_other_end(
    jobs: Sequence[Job], transfer_id: UUID, options: EngineOptions, here: Host, meter_document: bytes | None
) -> OtherEnd | None:
    """Return the server at the other end, unless it has answered that it does not meter."""
    there = Host.SOURCE if here is Host.DESTINATION else Host.DESTINATION
    other = OtherEnd.of(jobs, transfer_id, there, options)
    if other is None or (meter_document is not None and not other.is_metered_by(meter_document)):
        return None
    return other


async def _is_metered(other: OtherEnd, meter_document: bytes | None) -> bool:
    """Return whether the other end meters transfers; request its meter unless ``meter_document`` is known."""
    return True if meter_document is not None else other.is_metered_by(await other.fetch_meter())


async def _add_other_end(movement: Movement, other: OtherEnd, stage: TransferStage | None) -> Movement:
    if movement.metered is None or not movement.result.bytes_moved:
        return movement
    moved_bytes = movement.result.bytes_moved
    wire_bytes = moved_bytes if stage is None else stage.count_wire_bytes(moved_bytes)
    reading = await other.fetch_reading(wire_bytes, movement.metered.work.duration_s)
    return replace(movement, other_end=reading)


async def _run_engine(
    jobs: Sequence[Job],
    engine: Engine,
    session: MeterSession | None,
    other_power: OtherEndPower | None = None,
    other_meters: "asyncio.Task[bool] | None" = None,
    *,
    tuning: Tuning | None,
    on_snapshot: Callable[[Snapshot], None] | None,
    now: Callable[[], datetime],
) -> Movement:
    background: list[asyncio.Task[None]] = []
    loaded = LoadedPath()
    result: TransferResult | None = None
    metering: asyncio.Task[None] | None = None
    live: LiveMeter | None = session
    started_at = now()
    try:
        if tuning is not None:
            await tuning.start(engine)
        if session is not None:
            metering = asyncio.create_task(session.start())  # reads its counters while the first connections are made
        started_at = now()
        background.append(asyncio.create_task(loaded.watch(engine)))
        if tuning is not None:
            if session is not None and other_power is not None and other_meters is not None:
                live = BothEndsMeter(session, other_power)
                background.append(asyncio.create_task(other_power.run(asyncio.shield(other_meters))))
            background.append(asyncio.create_task(tuning.run(engine, live)))
        if on_snapshot is not None:
            background.append(asyncio.create_task(_report_snapshots(engine, on_snapshot)))
        result = await engine.run(jobs)
    except asyncio.CancelledError:
        # The user has interrupted the copy: what has moved until now is still worth a record.
        pass
    finally:
        metered = None if session is None or metering is None else await _stop_metering(session, metering)
        for task in background:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
    last = engine.take_snapshot()
    if tuning is not None:
        tuning.finish(last, live)
    if on_snapshot is not None:
        on_snapshot(last)
    return Movement(
        result=result or _to_cancelled_result(last),
        last=last,
        loaded_rtt_s=loaded.rtt_s,
        started_at=started_at,
        chunk_finished_s={
            chunk.chunk: last.elapsed_s if chunk.finished_s is None else chunk.finished_s for chunk in last.chunks
        },
        metered=metered,
        other_end=None,
        cancelled=result is None,
    )


async def _stop_metering(session: MeterSession, metering: "asyncio.Task[None]") -> MeterResult:
    await metering
    return await session.stop()


async def _report_snapshots(engine: Engine, on_snapshot: Callable[[Snapshot], None]) -> None:
    while True:
        started_s = time.thread_time()  # time that other programs take of a busy machine is no cost of a snapshot
        on_snapshot(engine.take_snapshot())
        cost_s = time.thread_time() - started_s
        await asyncio.sleep(max(SNAPSHOT_INTERVAL_S, cost_s / SNAPSHOT_COST_SHARE))


def _to_cancelled_result(last: Snapshot) -> TransferResult:
    return TransferResult(
        bytes_moved=last.moved_bytes,
        files_done=last.files_done,
        files_skipped=last.files_skipped,
        failures=(),
        duration_s=last.elapsed_s,
    )
