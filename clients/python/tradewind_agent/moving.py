"""The engine at work: run a plan, watch it, meter this host, and tell what each chunk came to."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Protocol

from tradewind.dataset import ChunkKind
from tradewind.energy import EnergyReading
from tradewind.recommendation import ChunkPlan
from tradewind.transfer import Usage
from tradewind_agent.engine.engine import TransferEngine
from tradewind_agent.engine.jobs import Job, TransferResult
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.engine.progress import Snapshot

LOOK_INTERVAL_S = 0.05
"""Between two looks at a running transfer: the error of a chunk's end."""

LOOK_COST_SHARE = 0.02
"""Looking may cost this share of the time at most; with very many files looks become rarer."""


class HostMeter(Protocol):
    """Meters this host during one transfer."""

    def start(self) -> None: ...

    def finish(self) -> tuple[tuple[EnergyReading, ...], Usage | None]:
        """Energy of this end (none where it was not metered) and mean utilisation since the start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Movement:
    """What a run of the engine came to.

    ``chunk_ended_s`` : when each chunk's last file was over, since the start; of a chunk that never ended, the end.
    """

    result: TransferResult
    last: Snapshot
    started_at: datetime
    chunk_ended_s: Mapping[ChunkKind, float]
    energy: tuple[EnergyReading, ...]
    usage: Usage | None
    cancelled: bool

    @property
    def ended_at(self) -> datetime:
        return self.started_at + timedelta(seconds=self.result.duration_s)


@dataclass(slots=True)
class _Ends:
    """When chunks ended."""

    seen_s: dict[ChunkKind, float] = field(default_factory=dict)

    def look(self, snapshot: Snapshot) -> None:
        for chunk in snapshot.chunks:
            if not chunk.remaining_files:
                self.seen_s.setdefault(chunk.chunk, snapshot.elapsed_s)


def move(
    jobs: Sequence[Job],
    plan: Sequence[ChunkPlan],
    options: EngineOptions,
    *,
    meter: HostMeter | None,
    on_snapshot: Callable[[Snapshot], None] | None = None,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Movement:
    """Move ``jobs`` by ``plan``; an interrupt ends it cleanly and is told as ``cancelled``."""
    return asyncio.run(_move(jobs, plan, options, meter, on_snapshot, now))


async def _move(
    jobs: Sequence[Job],
    plan: Sequence[ChunkPlan],
    options: EngineOptions,
    meter: HostMeter | None,
    on_snapshot: Callable[[Snapshot], None] | None,
    now: Callable[[], datetime],
) -> Movement:
    engine = TransferEngine(plan, options)
    ends = _Ends()
    looking = asyncio.create_task(_look(engine, ends, on_snapshot))
    result: TransferResult | None = None
    if meter is not None:
        meter.start()
    started_at = now()
    try:
        result = await engine.run(jobs)
    except asyncio.CancelledError:
        # An interrupt of the user: what was moved until now is still worth a record.
        pass
    finally:
        energy, usage = meter.finish() if meter is not None else ((), None)
        looking.cancel()
        with suppress(asyncio.CancelledError):
            await looking
    last = engine.snapshot()
    ends.look(last)
    if on_snapshot is not None:
        on_snapshot(last)
    return Movement(
        result=result or _cut_short(last),
        last=last,
        started_at=started_at,
        chunk_ended_s={chunk.chunk: ends.seen_s.get(chunk.chunk, last.elapsed_s) for chunk in last.chunks},
        energy=energy,
        usage=usage,
        cancelled=result is None,
    )


async def _look(engine: TransferEngine, ends: _Ends, on_snapshot: Callable[[Snapshot], None] | None) -> None:
    loop = asyncio.get_running_loop()
    while True:
        begun_s = loop.time()
        snapshot = engine.snapshot()
        ends.look(snapshot)
        if on_snapshot is not None:
            on_snapshot(snapshot)
        cost_s = loop.time() - begun_s
        await asyncio.sleep(max(LOOK_INTERVAL_S, cost_s / LOOK_COST_SHARE))


def _cut_short(last: Snapshot) -> TransferResult:
    return TransferResult(
        bytes_moved=last.moved_bytes,
        files_done=last.files_done,
        files_skipped=last.files_skipped,
        failures=(),
        duration_s=last.elapsed_s,
    )
