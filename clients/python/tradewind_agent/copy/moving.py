"""The engine at work: run a plan, watch it, meter both ends, and tell what each chunk came to."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from uuid import UUID

from tradewind.dataset import ChunkKind
from tradewind.energy.measured import EnergyReading, Host
from tradewind.recommendation import ChunkPlan
from tradewind.transfer import Usage
from tradewind_agent.engine.engine import TransferEngine
from tradewind_agent.engine.http.patient_loop import PatientLoop
from tradewind_agent.engine.jobs import Job, TransferResult
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.engine.progress import Snapshot
from tradewind_agent.meters import MeterResult, MeterSession
from tradewind_agent.session.loaded_path import LoadedPath
from tradewind_agent.session.metering import HostMeter
from tradewind_agent.session.other_end import OtherEnd, OtherEndReading
from tradewind_agent.session.other_end_power import BothEndsMeter, LiveMeter, OtherEndPower
from tradewind_agent.tuning.loop import Tuning

LOOK_INTERVAL_S = 0.05
"""Between two looks at a running transfer: the error of a chunk's end."""

LOOK_COST_SHARE = 0.02
"""Looking may cost this share of the time at most; with very many files looks become rarer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Movement:
    """What a run of the engine came to.

    ``loaded_rtt_s`` : round trip while data moved; ``None`` where no connection tells or the transfer was short.
    ``chunk_ended_s`` : when each chunk's last file was over, since the start; of a chunk that never ended, the end.
    """

    result: TransferResult
    last: Snapshot
    loaded_rtt_s: float | None
    started_at: datetime
    chunk_ended_s: Mapping[ChunkKind, float]
    metered: MeterResult | None
    other_end: OtherEndReading | None
    cancelled: bool

    @property
    def energy(self) -> tuple[EnergyReading, ...]:
        """A reading of each end that was metered, this one first."""
        ends = (self.metered, self.other_end)
        return tuple(end.energy for end in ends if end is not None and end.energy is not None)

    @property
    def usage(self) -> Usage | None:
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
    on_snapshot: Callable[[Snapshot], None] | None = None,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Movement:
    """Move ``jobs`` by ``plan``; an interrupt ends it cleanly and is told as ``cancelled``.

    Parameters
    ----------
    meter : of this host, which is the ``host`` end of the transfer.
    transfer_id : named to the server, which then meters the other end if it can; without a ``meter`` neither end is.
    other_meter : what the server has said of its meter; it is asked meanwhile if it was not asked already.
    tuning : changes the plan while it runs; the first byte waits for its beginning.
    on_snapshot : called some twenty times a second while it runs, and once at the end.

    Raises
    ------
    CopyFailed : no share of the path came free in time.
    """

    async def moving() -> Movement:
        running = partial(_move, tuning=tuning, on_snapshot=on_snapshot, now=now)
        if meter is None:
            return await running(jobs, TransferEngine(plan, options), None)
        other = None if transfer_id is None else _other_end(jobs, transfer_id, options, host, other_meter)
        if other is None:
            return await running(jobs, TransferEngine(plan, options), await meter.session(host))
        asking = asyncio.create_task(_meters(other, other_meter))
        engine, session = TransferEngine(plan, other.options), await meter.session(host)
        movement = await running(jobs, engine, session, OtherEndPower(other), asking)
        return await _with_other_end(movement, other) if await asking else movement

    with asyncio.Runner(loop_factory=PatientLoop) as runner:
        return runner.run(moving())


def _other_end(
    jobs: Sequence[Job], transfer_id: UUID, options: EngineOptions, here: Host, told: bytes | None
) -> OtherEnd | None:
    """The server at the other end, unless it has told that it does not meter."""
    there = Host.SOURCE if here is Host.DESTINATION else Host.DESTINATION
    other = OtherEnd.of(jobs, transfer_id, there, options)
    return None if other is None or (told is not None and not other.meters(told)) else other


async def _meters(other: OtherEnd, told: bytes | None) -> bool:
    """Whether the other end meters transfers; it is asked unless it has ``told`` that already."""
    return True if told is not None else other.meters(await other.asked())


async def _with_other_end(movement: Movement, other: OtherEnd) -> Movement:
    if movement.metered is None or not movement.result.bytes_moved:
        return movement
    reading = await other.reading(movement.result.bytes_moved, movement.metered.work.duration_s)
    return replace(movement, other_end=reading)


async def _move(
    jobs: Sequence[Job],
    engine: TransferEngine,
    session: MeterSession | None,
    other_power: OtherEndPower | None = None,
    other_meters: "asyncio.Task[bool] | None" = None,
    *,
    tuning: Tuning | None,
    on_snapshot: Callable[[Snapshot], None] | None,
    now: Callable[[], datetime],
) -> Movement:
    beside: list[asyncio.Task[None]] = []
    loaded = LoadedPath()
    result: TransferResult | None = None
    metering: asyncio.Task[None] | None = None
    live: LiveMeter | None = session
    started_at = now()
    try:
        if tuning is not None:
            await tuning.begin(engine)
        if session is not None:
            metering = asyncio.create_task(session.start())  # reads its counters while the first connections are made
        started_at = now()
        beside.append(asyncio.create_task(loaded.watch(engine)))
        if tuning is not None:
            if session is not None and other_power is not None and other_meters is not None:
                live = BothEndsMeter(session, other_power)
                beside.append(asyncio.create_task(other_power.run(asyncio.shield(other_meters))))
            beside.append(asyncio.create_task(tuning.run(engine, live)))
        if on_snapshot is not None:
            beside.append(asyncio.create_task(_look(engine, on_snapshot)))
        result = await engine.run(jobs)
    except asyncio.CancelledError:
        # An interrupt of the user: what was moved until now is still worth a record.
        pass
    finally:
        metered = None if session is None or metering is None else await _metered(session, metering)
        for task in beside:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
    last = engine.snapshot()
    if tuning is not None:
        tuning.end(last, live)
    if on_snapshot is not None:
        on_snapshot(last)
    return Movement(
        result=result or _cut_short(last),
        last=last,
        loaded_rtt_s=loaded.rtt_s,
        started_at=started_at,
        chunk_ended_s={
            chunk.chunk: last.elapsed_s if chunk.ended_s is None else chunk.ended_s for chunk in last.chunks
        },
        metered=metered,
        other_end=None,
        cancelled=result is None,
    )


async def _metered(session: MeterSession, metering: "asyncio.Task[None]") -> MeterResult:
    await metering
    return await session.stop()


async def _look(engine: TransferEngine, on_snapshot: Callable[[Snapshot], None]) -> None:
    while True:
        begun_s = time.thread_time()  # what others take of a busy machine is no cost of looking
        on_snapshot(engine.snapshot())
        cost_s = time.thread_time() - begun_s
        await asyncio.sleep(max(LOOK_INTERVAL_S, cost_s / LOOK_COST_SHARE))


def _cut_short(last: Snapshot) -> TransferResult:
    return TransferResult(
        bytes_moved=last.moved_bytes,
        files_done=last.files_done,
        files_skipped=last.files_skipped,
        failures=(),
        duration_s=last.elapsed_s,
    )
