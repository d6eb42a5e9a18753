"""The tuning loop of one copy: claim a share before the first byte, then sample, ask, decide and retune once a tick.

Whatever happens here, the transfer goes on: a service that is slow, away, broken or of another opinion leaves the
decision to this host, and a sample that cannot be made is left out.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Protocol

from tradewind.parameters import NO_CAPS, Caps, Parameters
from tradewind.recommendation import ChunkPlan
from tradewind.tuning import DecisionKind
from tradewind.units import format_count
from tradewind.wire.heartbeats import Heartbeat, HeartbeatAnswer
from tradewind_agent.engine.progress import Snapshot
from tradewind_agent.errors import CopyFailed
from tradewind_agent.session.other_end_power import LiveMeter
from tradewind_agent.session.planning import apply_user_settings
from tradewind_agent.tuning.heartbeat_exchange import HeartbeatExchange, NoAnswer
from tradewind_agent.tuning.local_controller import LocalController
from tradewind_agent.tuning.pace import TICK_S, Pace
from tradewind_agent.tuning.sampling import Sampling
from tradewind_agent.tuning.service_plan import UnusableAnswer, plan_from_answer
from tradewind_agent.tuning.share import count_share, cut_to_share, share_to_caps
from tradewind_agent.tuning.ticks import DecidedBy, Tick, Verdict, change_line

TICK_BOUNDS_S = (1.0, 60.0)
"""What a service may make of the tick."""

WAIT_BOUNDS_S = (0.1, 30.0)
"""What it may make of the wait for a share."""

UNHEARD_S = 3 * TICK_S
"""Without an answer to who waits for a share, the copy begins without: no one is there to hold the cap. A service waits
as long for a transfer that has gone silent; one that only starts anew is back before."""

ALONE = "tuning goes on by this host alone"


class Tunable(Protocol):
    """What is tuned; `TransferEngine` has it."""

    def retune(self, plan: Sequence[ChunkPlan]) -> bool | None:
        """Go on with another plan; false of a tool that keeps the one it has."""

    def snapshot(self) -> Snapshot: ...


class TickStore(Protocol):
    """Where ticks are kept until the service has them for good."""

    def add(self, tick: Tick) -> None: ...

    def drop_journalled(self, sequence: int) -> None: ...


class Tuning:
    """One copy's loop.

    Parameters
    ----------
    plan : the copy begins with.
    by_hand : settings of the user, which nothing but the share changes.
    fixed : whether the plan is followed as it is; the service is then asked for a share alone.
    exchange : with the service; ``None`` without one.
    away : whether the service was away a moment ago: the first byte then does not wait for it.
    say : tells the user one line.

    Attributes
    ----------
    ticks : what was seen and decided, in order.
    """

    def __init__(
        self,
        plan: Sequence[ChunkPlan],
        *,
        by_hand: Parameters,
        fixed: bool = False,
        sampling: Sampling,
        local: LocalController,
        exchange: HeartbeatExchange | None,
        away: bool,
        pace: Pace,
        keeping: TickStore,
        say: Callable[[str], None],
    ) -> None:
        self.ticks: list[Tick] = []
        self._initial_plan = self._plan = tuple(plan)
        self._refused: tuple[ChunkPlan, ...] | None = None
        self._unshared = apply_user_settings(self._plan, by_hand)
        self._by_hand, self._fixed, self._share = by_hand, fixed, NO_CAPS
        self._sampling, self._lone = sampling, local
        self._correspondence, self._answered = exchange, not away
        self._pace, self._keeping, self._say = pace, keeping, say
        self._tick_s = pace.tick_s or TICK_S
        self._permitted: int | None = None

    @property
    def is_service_answering(self) -> bool:
        """Whether the service has answered last."""
        return self._correspondence is not None and self._answered

    async def begin(self, engine: Tunable) -> None:
        """Claim a share with heartbeat 0, and give the engine the plan that is granted.

        Raises
        ------
        CopyFailed : no share came free in time.
        """
        beat = self._sampling.first(self._lone.basis)
        verdict = await self._granted(beat) if self._answered else None
        self._follow(engine, beat, verdict or self._alone(beat), elapsed_s=0.0)

    async def run(self, engine: Tunable, meter: LiveMeter | None) -> None:
        """A tick after the other, until cancelled."""
        due_s = self._pace.clock_s()
        while True:
            due_s = max(due_s + self._tick_s, self._pace.clock_s())
            await self._pace.pause(due_s - self._pace.clock_s())
            try:
                await self._tick(engine, meter)
            except Exception as defect:  # noqa: BLE001 -- whatever is wrong with tuning, the files are moved
                self._say(f"this tick is not tuned: {defect!r}")

    def end(self, last: Snapshot, meter: LiveMeter | None) -> None:
        """The transfer is over: its last sample, on which nothing is decided any more."""
        if self._correspondence is not None:
            self._correspondence.leave()
            self._keeping.drop_journalled(self._correspondence.journalled_sequence)
        beat = self._sampling.next(last, meter.latest() if meter is not None else None)
        self._note_undecided(beat, last.elapsed_s, kind="finish", reason="the transfer has ended")

    async def _tick(self, engine: Tunable, meter: LiveMeter | None) -> None:
        now = engine.snapshot()
        if not now.remaining_files:
            return
        self._permitted = now.permitted_connections
        beat = self._sampling.next(now, meter.latest(self._tick_s) if meter is not None else None)
        try:
            verdict = await self._asked(beat) or self._alone(beat)
        except asyncio.CancelledError:
            reason = "the transfer ended before the service had answered"
            with suppress(Exception):  # which would take the place of the cancellation, and the loop go on
                self._note_undecided(beat, now.elapsed_s, kind=DecisionKind.HOLD, reason=reason)
            raise
        self._follow(engine, beat, verdict, elapsed_s=now.elapsed_s)

    # Who decides.

    async def _granted(self, beat: Heartbeat) -> Verdict | None:
        """The service's verdict once it has granted a share; ``None`` where it does not answer."""
        asked_s = heard_s = self._pace.clock_s()
        waiting, wait_s = False, 0.0
        while True:
            answer = await self._answer(beat)
            if isinstance(answer, HeartbeatAnswer) and answer.granted:
                if waiting:
                    self._say(f"a share was granted after {self._pace.clock_s() - asked_s:.0f} s")
                return self._understood(answer, beat)
            now_s = self._pace.clock_s()
            if isinstance(answer, HeartbeatAnswer):
                heard_s, wait_s = now_s, answer.next_heartbeat_s
                if now_s - asked_s > self._pace.share_patience_s:
                    patience = f"within {self._pace.share_patience_s:g} s ({answer.reason})"
                    raise CopyFailed(f"no share of the path came free {patience}; try again later")
                if not waiting:
                    why = f"{answer.reason} (Ctrl-C gives up)"
                    self._say(f"waiting for a share of the path before the first byte: {why}")
                waiting = True
            elif not waiting or self._is_final or now_s - heard_s > UNHEARD_S:
                return None
            await self._pace.pause(_within(wait_s, WAIT_BOUNDS_S))
            beat = self._sampling.first(self._lone.basis)

    @property
    def _is_final(self) -> bool:
        """Whether the service has said that there is no use in asking it again."""
        return self._correspondence is not None and self._correspondence.ended is not None

    async def _asked(self, beat: Heartbeat) -> Verdict | None:
        answer = await self._answer(beat)
        return self._understood(answer, beat) if isinstance(answer, HeartbeatAnswer) else None

    async def _answer(self, beat: Heartbeat) -> HeartbeatAnswer | NoAnswer:
        if self._correspondence is None:
            return NoAnswer("no service is configured")
        try:
            answer = await self._correspondence.ask(self._claiming(beat))
        except NoAnswer as silence:
            if self._answered:
                self._say(f"{'no share is claimed' if self._fixed else ALONE}: {silence}")
            self._answered = False
            return silence
        if not self._answered:
            self._say("the service grants shares again" if self._fixed else "the service tunes the transfer again")
        self._answered = True
        self._share = share_to_caps(answer.share)
        if self._pace.tick_s is None and answer.granted:
            self._tick_s = _within(answer.next_heartbeat_s, TICK_BOUNDS_S)
        return answer

    def _claiming(self, beat: Heartbeat) -> Heartbeat:
        """The heartbeat with what is claimed whatever is decided."""
        if not self._fixed and self._by_hand.concurrency is None and self._by_hand.parallelism is None:
            return beat
        claimed: dict[str, object] = {"wanted": count_share(self._unshared)}
        return beat.model_copy(update=claimed | ({"chunks": ()} if self._fixed else {}))

    def _understood(self, answer: HeartbeatAnswer, beat: Heartbeat) -> Verdict | None:
        try:
            chunks = self._initial_plan if self._fixed else plan_from_answer(answer, beat.sequence, self._initial_plan)
        except UnusableAnswer as nonsense:
            self._say(f"{ALONE}: {nonsense}")
            return None
        self._lone.stand_by()
        return Verdict(
            chunks=chunks,
            changed=answer.changed,
            kind=answer.kind,
            reason=answer.reason,
            by=DecidedBy.SERVICE,
            sla_bank=answer.sla_bank,
        )

    def _alone(self, beat: Heartbeat) -> Verdict:
        if self._fixed:
            reason = "the plan is not to be changed"
            return Verdict(
                chunks=self._initial_plan, changed=False, kind=DecisionKind.HOLD, reason=reason, by=DecidedBy.AGENT
            )
        decision = self._lone.decide(beat)
        return Verdict(
            chunks=decision.chunks,
            changed=decision.changed,
            kind=str(decision.kind),
            reason=decision.reason,
            by=DecidedBy.AGENT,
            sla_bank=decision.sla_bank,
        )

    # What comes of it.

    def _follow(self, engine: Tunable, beat: Heartbeat, verdict: Verdict, *, elapsed_s: float) -> None:
        self._unshared = verdict.chunks if self._fixed else apply_user_settings(verdict.chunks, self._by_hand)
        plan, before = cut_to_share(self._unshared, self._share), self._plan
        if self._permitted is not None and (cut := cut_to_share(plan, Caps(streams=self._permitted))) != plan:
            why = f"the server permits {format_count(self._permitted, 'connection')} at once"
            plan, verdict = cut, replace(verdict, reason=why)
        if plan != before and engine.retune(plan) is False:
            self._tell_refused(plan)
            plan = before
        elif plan != before and beat.sequence and not _is_the_end(verdict, beat):
            self._say(change_line(elapsed_s, before, plan, verdict.reason))
        self._plan, changed = plan, plan != before
        self._note(Tick(elapsed_s=elapsed_s, heartbeat=beat, verdict=replace(verdict, chunks=plan, changed=changed)))

    def _tell_refused(self, plan: tuple[ChunkPlan, ...]) -> None:
        """Say once of each cut of the share that the tool goes on beyond it; other changes are only a gain missed."""
        if plan not in (self._unshared, self._refused):
            cut = sum(each.parameters.streams for each in plan)
            self._say(f"the share was cut to {format_count(cut, 'stream')}, which this tool cannot follow as it runs")
            self._refused = plan

    def _note_undecided(self, beat: Heartbeat, elapsed_s: float, *, kind: str, reason: str) -> None:
        verdict = Verdict(chunks=self._plan, changed=False, kind=kind, reason=reason, by=DecidedBy.AGENT)
        self._note(Tick(elapsed_s=elapsed_s, heartbeat=beat, verdict=verdict))

    def _note(self, tick: Tick) -> None:
        self.ticks.append(tick)
        self._keeping.add(tick)
        if self._correspondence is not None:
            self._keeping.drop_journalled(self._correspondence.journalled_sequence)


def _is_the_end(verdict: Verdict, beat: Heartbeat) -> bool:
    """Whether there is only less to do because few files are left, which is not worth a word."""
    files_at_once = sum(each.parameters.concurrency or 1 for each in verdict.chunks)
    ended = verdict.kind == DecisionKind.REDISTRIBUTE and files_at_once >= beat.remaining_files
    return verdict.kind == DecisionKind.FINISH or ended


def _within(wait_s: float, bounds_s: tuple[float, float]) -> float:
    """``wait_s`` within bounds; the lower one for what is no number."""
    low_s, high_s = bounds_s
    return min(max(wait_s, low_s), high_s) if wait_s == wait_s else low_s  # noqa: PLR0124 -- NaN alone differs from itself
