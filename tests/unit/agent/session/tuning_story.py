"""A tuning loop without sockets: an engine that moves when time passes, a service that says what the test wants."""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path as Folder
from uuid import UUID

from tests.unit.agent.records import record
from tradewind.dataset import SizeBin
from tradewind.parameters import UNKNOWN_PARAMETERS, Parameters
from tradewind.path import Path
from tradewind.recommendation import ChunkPlan
from tradewind.sla.kinds import Sla, SlaKind
from tradewind.wire.heartbeats import ChunkDecision, Heartbeat, HeartbeatAnswer
from tradewind.wire.recommendations import to_wire_parameters
from tradewind_agent.engine.path_sample import PathSample
from tradewind_agent.engine.progress import ChunkSnapshot, Snapshot
from tradewind_agent.session.live_ticks import LiveTicks
from tradewind_agent.session.plan_request import PlanRequest
from tradewind_agent.session.planning import Plan, plan_by_rules
from tradewind_agent.tuning.heartbeat_exchange import HeartbeatExchange
from tradewind_agent.tuning.local_controller import LocalController, build_basis
from tradewind_agent.tuning.loop import Tuning
from tradewind_agent.tuning.pace import Pace
from tradewind_agent.tuning.sampling import Sampling

TRANSFER = UUID(int=7)
FILES, FILE_BYTES = 10_000, 1_000_000
BINS = (SizeBin(FILE_BYTES, FILES, FILES * FILE_BYTES),)
RATE_BPS = 80e6
NOW = datetime(2026, 3, 1, tzinfo=UTC)
REQUEST = PlanRequest(
    source="alpha",
    destination="beta",
    mover="tradewind",
    bins=BINS,
    sla=Sla(kind=SlaKind.MAX_THROUGHPUT),
    path=Path(bandwidth_bps=1e8, rtt_s=0.05),
)


def plan_of_rules() -> Plan:
    path = Path(bandwidth_bps=1e8, rtt_s=0.05)
    return plan_by_rules(TRANSFER, BINS, path, Sla(kind=SlaKind.MAX_THROUGHPUT), because="a test")


class Engine:
    """Moves at a constant rate whatever its plan."""

    def __init__(self, plan: Sequence[ChunkPlan]) -> None:
        self.plan, self.elapsed_s, self.retuned = tuple(plan), 0.0, 0
        self.permitted_connections: int | None = None

    def retune(self, plan: Sequence[ChunkPlan]) -> None:
        self.plan, self.retuned = tuple(plan), self.retuned + 1

    def take_snapshot(self) -> Snapshot:
        moved = int(RATE_BPS * self.elapsed_s / 8)
        left = FILES * FILE_BYTES - moved
        (chunk,) = self.plan
        return Snapshot(
            elapsed_s=self.elapsed_s,
            chunks=(
                ChunkSnapshot(
                    chunk=chunk.chunk,
                    parameters=chunk.parameters,
                    moved_bytes=moved,
                    remaining_bytes=left,
                    remaining_files=-(-left // FILE_BYTES),
                    files_done=moved // FILE_BYTES,
                    files_skipped=0,
                    files_failed=0,
                    finished_s=None,
                ),
            ),
            path=PathSample(0.06, 0.05, None, None, 1000, 0),
            open_connections=1,
            permitted_connections=self.permitted_connections,
        )


class Service:
    """Answers heartbeats by ``answers`` in turn, then goes on with the last."""

    def __init__(self, *answers: Callable[[Heartbeat], HeartbeatAnswer]) -> None:
        self.answers, self.heard = list(answers), list[Heartbeat]()

    def heartbeat(self, transfer_id: UUID, heartbeat: Heartbeat) -> HeartbeatAnswer:
        assert transfer_id == TRANSFER
        self.heard.append(heartbeat)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return answer(heartbeat)


def says(files_at_once: int, **more: object) -> Callable[[Heartbeat], HeartbeatAnswer]:
    def answer(beat: Heartbeat) -> HeartbeatAnswer:
        asked = to_wire_parameters(Parameters(concurrency=files_at_once, parallelism=1, pipelining=1))
        chunks = tuple(ChunkDecision(chunk=each.chunk, parameters=asked) for each in beat.chunks)
        told: dict[str, object] = {
            "sequence": beat.sequence,
            "parameters": asked,
            "chunks": chunks,
            "changed": True,
            "kind": "optimise",
            "reason": "because",
            "sla_bank": 0.0,
            "granted": True,
            "journalled_sequence": -1,
            "next_heartbeat_s": 5.0,
        }
        return HeartbeatAnswer.model_validate(told | more)

    return answer


def fails(error: Exception) -> Callable[[Heartbeat], HeartbeatAnswer]:
    def answer(_: Heartbeat) -> HeartbeatAnswer:
        raise error

    return answer


class Story:
    """A loop whose time is the test's."""

    def __init__(
        self,
        service: Service | None,
        *,
        by_hand: Parameters = UNKNOWN_PARAMETERS,
        fixed: bool = False,
        folder: Folder | None = None,
    ) -> None:
        plan = plan_by_rules(
            TRANSFER, BINS, Path(bandwidth_bps=1e8, rtt_s=0.05), Sla(kind=SlaKind.MAX_THROUGHPUT), because="a test"
        )
        self.engine = Engine(plan.chunks)
        self.said: list[str] = []
        self.now_s = 0.0
        beginning = replace(record(1), transfer_id=TRANSFER)
        self.live = LiveTicks(folder, TRANSFER, beginning)
        self.ticks_left = 0
        self.tuning = Tuning(
            plan.chunks,
            by_hand=by_hand,
            fixed=fixed,
            sampling=Sampling(request=REQUEST, sees_path=True, now=lambda: NOW),
            local=LocalController(build_basis(plan, REQUEST, BINS)),
            exchange=None if service is None else HeartbeatExchange(service, TRANSFER, patience_s=20.0),
            is_unreachable=False,
            pace=Pace(share_patience_s=3.0, pause=self._pause, clock_s=lambda: self.now_s),
            tick_store=self.live,
            say=self.said.append,
        )

    async def _pause(self, wait_s: float) -> None:
        if self.engine.elapsed_s and not self.ticks_left:
            raise asyncio.CancelledError
        self.now_s += wait_s
        if self.ticks_left:
            self.ticks_left -= 1
            self.engine.elapsed_s += wait_s

    def run(self, ticks: int) -> "Story":
        async def running() -> None:
            await self.tuning.start(self.engine)
            self.ticks_left = ticks
            with contextlib.suppress(asyncio.CancelledError):
                await self.tuning.run(self.engine, None)
            self.tuning.finish(self.engine.take_snapshot(), None)

        asyncio.run(running())
        return self

    @property
    def files_at_once(self) -> list[int | None]:
        return [tick.verdict.chunks[0].parameters.concurrency for tick in self.tuning.ticks]
