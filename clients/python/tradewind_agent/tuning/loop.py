"""The tuning loop of one copy: claim a share before the first byte, then sample, send, decide and retune once a tick.

The transfer goes on whatever happens here. If the service is slow, unreachable or gives a useless answer, this host
decides; a sample that cannot be taken is left out.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol, TypeAlias

from tradewind.parameters import NO_CAPS, Caps, Parameters
from tradewind.recommendation import ChunkPlan
from tradewind.tuning import DecisionKind
from tradewind.units import format_count
from tradewind_agent.engine.progress import Snapshot
from tradewind_agent.errors import CopyFailed, NoAnswer
from tradewind_agent.session.other_end_power import LiveMeter
from tradewind_agent.session.planning import apply_user_settings
from tradewind_agent.tuning.local_controller import LocalController
from tradewind_agent.tuning.pace import TICK_S, Pace
from tradewind_agent.tuning.sampling import Sampling
from tradewind_agent.tuning.service_plan import UnusableAnswer, plan_from_answer
from tradewind_agent.tuning.share import ShareOfUser, count_share, cut_to_share, share_to_caps
from tradewind_agent.tuning.ticks import DecidedBy, Tick, Verdict, change_line
from tradewind_agent.tuning.transfer_sample import TransferSample

if TYPE_CHECKING:
    from tradewind.wire.heartbeats import HeartbeatAnswer
    from tradewind_agent.tuning.heartbeat_exchange import HeartbeatExchange

TICK_BOUNDS_S = (1.0, 60.0)
"""Bounds of the tick that a service may request."""

WAIT_BOUNDS_S = (0.1, 30.0)
"""Bounds of the wait for a share that a service may request."""

LONGEST_SILENCE_S = 3 * TICK_S
"""A copy that waits for a share starts without one after so long a silence: no service is there to enforce the cap.
The service waits as long for a silent transfer; a service that only restarts is back before."""

DECIDED_HERE = "tuning goes on by this host alone"


Adjust: TypeAlias = Callable[[Sequence[ChunkPlan]], tuple[ChunkPlan, ...]]


class Tunable(Protocol):
    """A transfer that can be tuned: `TransferEngine`, or a tool that `movers.wrap.tool_loop` drives."""

    def retune(self, plan: Sequence[ChunkPlan]) -> bool | None:
        """Go on with another plan; return ``False`` if the tool stays with its own."""

    def take_snapshot(self) -> Snapshot: ...


class TickSpool(Protocol):
    """Stores ticks until the service has journalled them: `session.live_ticks.LiveTicks`.

    A protocol, because `LiveTicks` stores the ticks of this package and so imports it.
    """

    def add(self, tick: Tick) -> None: ...

    def drop_journalled(self, sequence: int) -> None: ...


class Tuning:
    """The tuning loop of one copy.

    Parameters
    ----------
    plan : the plan at the start.
    by_hand : settings of the user, which only the share changes.
    fixed : whether the plan must not change; the service then only grants a share.
    exchange : with the service; ``None`` without one.
    is_unreachable : whether the service was unreachable a moment ago: the first byte then does not wait for it.
    say : shows one line to the user.
    adjust : applies the cores and the frequency of a plan, and returns the plan with those in effect.

    Attributes
    ----------
    ticks : samples and decisions, in order.
    """

    def __init__(
        self,
        plan: Sequence[ChunkPlan],
        *,
        by_hand: Parameters,
        fixed: bool = False,
        sampling: Sampling,
        local: LocalController,
        exchange: "HeartbeatExchange | None",
        is_unreachable: bool,
        pace: Pace,
        tick_store: TickSpool,
        say: Callable[[str], None],
        adjust: Adjust | None = None,
    ) -> None:
        self.ticks: list[Tick] = []
        self._initial_plan = self._plan = tuple(plan)
        self._refused: tuple[ChunkPlan, ...] | None = None
        self._unshared = apply_user_settings(self._plan, by_hand)
        self._by_hand, self._fixed, self._share = by_hand, fixed, NO_CAPS
        self._sampling, self._local = sampling, local
        self._exchange, self._answered = exchange, not is_unreachable
        self._pace, self._tick_store, self._say = pace, tick_store, say
        self._adjust = adjust or tuple
        self._tick_s = pace.tick_s or TICK_S
        self._permitted: int | None = None

    @property
    def is_service_answering(self) -> bool:
        """Whether the service has answered the last heartbeat."""
        return self._exchange is not None and self._answered

    async def start(self, engine: Tunable) -> None:
        """Claim a share with heartbeat 0, and give the engine the granted plan.

        Raises
        ------
        CopyFailed : no share became free in time.
        """
        beat = self._sampling.build_first(self._local.basis)
        verdict = await self._claim_share(beat) if self._answered else None
        self._follow(engine, beat, verdict or self._decide_here(beat), elapsed_s=0.0)

    async def run(self, engine: Tunable, meter: LiveMeter | None) -> None:
        """Run tick after tick until cancelled."""
        due_s = self._pace.clock_s()
        while True:
            due_s = max(due_s + self._tick_s, self._pace.clock_s())
            await self._pace.pause(due_s - self._pace.clock_s())
            try:
                await self._tick(engine, meter)
            except Exception as defect:  # noqa: BLE001 -- the files are moved even if tuning fails
                self._say(f"this tick is not tuned: {defect!r}")

    def finish(self, last: Snapshot, meter: LiveMeter | None) -> None:
        """Take the last sample of the finished transfer, on which nothing is decided."""
        if self._exchange is not None:
            self._exchange.abandon()
            self._tick_store.drop_journalled(self._exchange.journalled_sequence)
        beat = self._sampling.build_next(last, meter.find_latest() if meter is not None else None)
        self._add_undecided(beat, last.elapsed_s, kind="finish", reason="the transfer has ended")

    async def _tick(self, engine: Tunable, meter: LiveMeter | None) -> None:
        now = engine.take_snapshot()
        if not now.remaining_files:
            return
        self._permitted = now.permitted_connections
        beat = self._sampling.build_next(now, meter.find_latest(self._tick_s) if meter is not None else None)
        try:
            verdict = await self._request_decision(beat) or self._decide_here(beat)
        except asyncio.CancelledError:
            reason = "the transfer ended before the service had answered"
            with suppress(Exception):  # it would replace the cancellation, and the loop would go on
                self._add_undecided(beat, now.elapsed_s, kind=DecisionKind.HOLD, reason=reason)
            raise
        self._follow(engine, beat, verdict, elapsed_s=now.elapsed_s)

    # Who decides.

    async def _claim_share(self, beat: TransferSample) -> Verdict | None:
        """Return the service's verdict once it has granted a share; ``None`` if it does not answer."""
        claimed_s = answered_s = self._pace.clock_s()
        waiting, wait_s = False, 0.0
        while True:
            answer = await self._send(beat)
            if not isinstance(answer, NoAnswer) and answer.granted:
                if waiting:
                    self._say(f"a share was granted after {self._pace.clock_s() - claimed_s:.0f} s")
                return self._to_verdict(answer, beat)
            now_s = self._pace.clock_s()
            if not isinstance(answer, NoAnswer):
                answered_s, wait_s = now_s, answer.next_heartbeat_s
                if now_s - claimed_s > self._pace.share_patience_s:
                    patience = f"within {self._pace.share_patience_s:g} s ({answer.reason})"
                    raise CopyFailed(f"no share of the path came free {patience}; try again later")
                if not waiting:
                    why = f"{answer.reason} (Ctrl-C gives up)"
                    self._say(f"waiting for a share of the path before the first byte: {why}")
                waiting = True
            elif not waiting or self._is_final or now_s - answered_s > LONGEST_SILENCE_S:
                return None
            await self._pace.pause(_clamp(wait_s, WAIT_BOUNDS_S))
            beat = self._sampling.build_first(self._local.basis)

    @property
    def _is_final(self) -> bool:
        """Whether the service has said that further heartbeats are useless."""
        return self._exchange is not None and self._exchange.closed_reason is not None

    async def _request_decision(self, beat: TransferSample) -> Verdict | None:
        answer = await self._send(beat)
        return None if isinstance(answer, NoAnswer) else self._to_verdict(answer, beat)

    async def _send(self, beat: TransferSample) -> "HeartbeatAnswer | NoAnswer":
        if self._exchange is None:
            return NoAnswer("no service is configured")
        try:
            answer = await self._exchange.send(beat, self._count_claim())
        except NoAnswer as silence:
            if self._answered:
                self._say(f"{'no share is claimed' if self._fixed else DECIDED_HERE}: {silence}")
            self._answered = False
            return silence
        if not self._answered:
            self._say("the service grants shares again" if self._fixed else "the service tunes the transfer again")
        self._answered = True
        self._share = share_to_caps(answer.share)
        if self._pace.tick_s is None and answer.granted:
            self._tick_s = _clamp(answer.next_heartbeat_s, TICK_BOUNDS_S)
        return answer

    def _count_claim(self) -> ShareOfUser | None:
        """Return the share that the user's settings need, whatever is decided; ``None`` without such settings."""
        if not self._fixed and self._by_hand.concurrency is None and self._by_hand.parallelism is None:
            return None
        return count_share(self._unshared, is_all=self._fixed)

    def _to_verdict(self, answer: "HeartbeatAnswer", beat: TransferSample) -> Verdict | None:
        try:
            chunks = self._initial_plan if self._fixed else plan_from_answer(answer, beat.sequence, self._initial_plan)
        except UnusableAnswer as nonsense:
            self._say(f"{DECIDED_HERE}: {nonsense}")
            return None
        self._local.stand_by()
        return Verdict(
            chunks=chunks,
            changed=answer.changed,
            kind=answer.kind,
            reason=answer.reason,
            by=DecidedBy.SERVICE,
            sla_bank=answer.sla_bank,
        )

    def _decide_here(self, beat: TransferSample) -> Verdict:
        if self._fixed:
            reason = "the plan is not to be changed"
            return Verdict(
                chunks=self._initial_plan, changed=False, kind=DecisionKind.HOLD, reason=reason, by=DecidedBy.AGENT
            )
        decision = self._local.decide(beat)
        return Verdict(
            chunks=decision.chunks,
            changed=decision.changed,
            kind=str(decision.kind),
            reason=decision.reason,
            by=DecidedBy.AGENT,
            sla_bank=decision.sla_bank,
        )

    # What is done.

    def _follow(self, engine: Tunable, beat: TransferSample, verdict: Verdict, *, elapsed_s: float) -> None:
        self._unshared = verdict.chunks if self._fixed else apply_user_settings(verdict.chunks, self._by_hand)
        plan, previous = cut_to_share(self._unshared, self._share), self._plan
        if self._permitted is not None and (cut := cut_to_share(plan, Caps(streams=self._permitted))) != plan:
            why = f"the server permits {format_count(self._permitted, 'connection')} at once"
            plan, verdict = cut, replace(verdict, reason=why)
        plan = self._adjust(plan)
        if plan != previous and engine.retune(plan) is False:
            self._report_refused(plan)
            plan = previous
        elif plan != previous and beat.sequence and not _is_winding_down(verdict, beat):
            self._say(change_line(elapsed_s, previous, plan, verdict.reason))
        self._plan, changed = plan, plan != previous
        self._add(Tick(elapsed_s=elapsed_s, sample=beat, verdict=replace(verdict, chunks=plan, changed=changed)))

    def _report_refused(self, plan: tuple[ChunkPlan, ...]) -> None:
        """Say once per cut of the share that the tool exceeds it; other refused changes only miss a gain."""
        if plan not in (self._unshared, self._refused):
            streams = sum(chunk.parameters.streams for chunk in plan)
            self._say(
                f"the share was cut to {format_count(streams, 'stream')}, which this tool cannot follow while it runs"
            )
            self._refused = plan

    def _add_undecided(self, beat: TransferSample, elapsed_s: float, *, kind: str, reason: str) -> None:
        verdict = Verdict(chunks=self._plan, changed=False, kind=kind, reason=reason, by=DecidedBy.AGENT)
        self._add(Tick(elapsed_s=elapsed_s, sample=beat, verdict=verdict))

    def _add(self, tick: Tick) -> None:
        self.ticks.append(tick)
        self._tick_store.add(tick)
        if self._exchange is not None:
            self._tick_store.drop_journalled(self._exchange.journalled_sequence)


def _is_winding_down(verdict: Verdict, beat: TransferSample) -> bool:
    """Return whether the plan only shrinks because few files are left, which is not worth a line."""
    files_at_once = sum(chunk.parameters.concurrency or 1 for chunk in verdict.chunks)
    is_last = verdict.kind == DecisionKind.REDISTRIBUTE and files_at_once >= beat.remaining_files
    return verdict.kind == DecisionKind.FINISH or is_last


def _clamp(wait_s: float, bounds_s: tuple[float, float]) -> float:
    """Return ``wait_s`` within bounds; the lower bound for NaN."""
    low_s, high_s = bounds_s
    return min(max(wait_s, low_s), high_s) if wait_s == wait_s else low_s  # noqa: PLR0124 -- NaN alone differs from itself
