"""Transfers as their agents tell them, by the agent's own parts: nothing here knows what has been killed."""

import asyncio
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

import httpx
import pytest

from benchmarks.support.background import run_in_background
from tests.conditions import eventually
from tests.integration.live_transfers import Transfer
from tests.records import record
from tradewind.parameters import Parameters
from tradewind.wire.heartbeats import Heartbeat, HeartbeatAnswer
from tradewind.wire.records import WireRecord
from tradewind_agent.errors import NoAnswer, ServiceUnreachable
from tradewind_agent.history.spool import Spool
from tradewind_agent.history.transfer_spool import TransferSpool
from tradewind_agent.service.client import Client
from tradewind_agent.session.live_ticks import LiveTicks
from tradewind_agent.session.plan_request import PlanRequest
from tradewind_agent.tuning.heartbeat_exchange import HeartbeatExchange
from tradewind_agent.tuning.ticks import DecidedBy, Tick, Verdict
from tradewind_agent.tuning.transfer_sample import MeteredEnd, TransferSample

PATIENCE_S = 3.0
ANSWER_PATIENCE_S = 60.0
"""For what is no heartbeat: a service that has lost a server may be slow on a busy machine."""

PACE_S = 0.03
"""Between two ticks: many times faster than a real agent, so that every moment of a kill meets a heartbeat."""

FOLLOWED = Verdict(chunks=(), changed=False, kind="hold", reason="as told", by=DecidedBy.SERVICE)


@dataclass
class Agent:
    """One live transfer. ``answers`` : by sequence, of the heartbeats that were answered."""

    client: Client
    transfer: Transfer
    spool: TransferSpool
    answers: dict[int, HeartbeatAnswer] = field(default_factory=dict)
    sent: int = 0

    def __post_init__(self) -> None:
        self.id = UUID(self.transfer.id)
        self.record = WireRecord.model_validate(record(transfer_id=self.transfer.id, chunk="whole"))
        self.exchange = HeartbeatExchange(self.client, self.id, patience_s=PATIENCE_S)
        self.live = LiveTicks(self.spool.folder, self.id, self.record.to_record())

    async def tick(self) -> HeartbeatAnswer | None:
        """One heartbeat more; the transfer goes on whether it is answered or not."""
        beat = Heartbeat.model_validate(self.transfer.body(self.sent, 8e4))
        self.sent += 1
        answer = await self.ask(beat)
        if answer is not None:
            self.answers[beat.sequence] = answer
        self.live.add(Tick(elapsed_s=5.0 * beat.sequence, sample=take_sample(beat), verdict=FOLLOWED))
        self.live.drop_journalled(self.exchange.journalled_sequence)
        return answer

    async def ask(self, beat: Heartbeat) -> HeartbeatAnswer | None:
        try:
            return await self.exchange.send(take_sample(beat))
        except NoAnswer:
            return None

    def complete(self) -> None:
        """End the transfer, and tell the service what it may not have, as often as it takes."""
        self.live.drop_journalled(self.exchange.journalled_sequence)
        self.spool.seal(self.id, (self.record,), self.live.pending)
        self.live.remove()
        eventually(self._is_delivered)

    def _is_delivered(self) -> bool:
        try:
            return self.id in self.spool.drain(self.client).completed
        except ServiceUnreachable:
            return False


def take_sample(beat: Heartbeat) -> TransferSample:
    """The sample of which an agent makes this heartbeat."""
    tick, enquiry = beat.to_sample(), beat.enquiry
    return TransferSample(
        sequence=beat.sequence,
        at=beat.at,
        interval_s=beat.interval_s,
        bytes_moved=beat.bytes_moved,
        throughput_bps=beat.throughput_bps,
        remaining_bytes=beat.remaining_bytes,
        remaining_files=beat.remaining_files,
        parameters=Parameters(**dict(beat.parameters)),
        rtt_s=beat.rtt_s,
        min_rtt_s=beat.min_rtt_s,
        sent_bytes=beat.sent_bytes,
        retransmitted_bytes=beat.retransmitted_bytes,
        power_w=beat.power_w,
        power_ends=tuple(MeteredEnd(**dict(end)) for end in beat.power_ends),
        chunks=tick.chunks,
        request=None
        if enquiry is None
        else PlanRequest(
            source=enquiry.source,
            destination=enquiry.destination,
            mover=enquiry.mover,
            bins=enquiry.dataset.list_bins(),
            sla=enquiry.sla.to_sla(),
            path=enquiry.to_path(),
            network=enquiry.network,
        ),
    )


@contextmanager
def ticking(agents: Sequence[Agent]) -> Iterator[None]:
    """Let transfers run beside the block, each a tick after the other."""

    def drive_all(stopping: threading.Event) -> None:
        async def drive(agent: Agent) -> None:
            while not stopping.is_set():
                await agent.tick()
                await asyncio.sleep(PACE_S)
            agent.exchange.abandon()

        async def drive_each() -> None:
            await asyncio.gather(*map(drive, agents))

        asyncio.run(drive_each())

    with run_in_background("agents", drive_all):
        yield


def agents_of(address: str, secret: str, folder: Path, count: int) -> Iterator[list[Agent]]:
    """Agents of ``count`` transfers that have not begun, each with a spool of its own."""
    with (
        Client(address, secret) as client,
        httpx.Client(
            base_url=address, headers={"Authorization": f"Bearer {secret}"}, timeout=ANSWER_PATIENCE_S
        ) as plain,
    ):
        yield [
            Agent(client, Transfer(plain), TransferSpool(Spool(folder / f"spool {number}", warn=pytest.fail)))
            for number in range(count)
        ]
