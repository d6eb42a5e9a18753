"""Heartbeats of live transfers: each is a sample for the controller, whose decision is the answer.

The state of a transfer stands in the memory of the process that answered last and, one tick later at most, in the
store of sessions, which may forget it. A heartbeat that finds neither makes it again from what it carries itself, so
that a late heartbeat revives its transfer and no transfer fails because of the service.
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

import orjson

from services.application.share_claims import fits, used, wanted, within
from services.application.silence import TICK_S, silent_after_s
from services.application.tuning_sessions import (
    UNLIMITED,
    Claim,
    Exchanged,
    Outcome,
    Sessions,
    SessionsAway,
    Share,
    Tick,
    TransferKey,
)
from tradewind.errors import Conflict, InvalidValue
from tradewind.transfer import LinkKey
from tradewind.tuning import Basis, Decision, Sample, TuningState, begin, resume, step
from tradewind.wire.heartbeats import Heartbeat
from tradewind.wire.recommendations import RecommendRequest

WAITING_TICK_S = 1.0
"""Until the next heartbeat of a transfer that has no share yet: others give theirs back at their own next one."""

LATE_TICKS = 8
"""Heartbeats that may come after a later one: from far more behind, the later one had a number it could not have."""

ATTEMPTS = 4
"""Rounds against other processes that answer for the same transfer; more than one is rare, more than two a fault."""

MAX_LIVE = 20_000
"""Transfers whose state a process keeps; a few kilobytes each."""


@dataclass(frozen=True, slots=True)
class Opening:
    """What a transfer is tuned on, the link whose limits it falls under, its enquiry and what its begin tells, JSON."""

    basis: Basis
    link: LinkKey
    enquiry: bytes
    begun: bytes = b""


@dataclass(frozen=True, slots=True)
class Answer:
    """``share`` : granted now. ``journalled_sequence`` : heartbeats up to it are stored for good."""

    sequence: int
    decision: Decision
    share: Share
    journalled_sequence: int
    next_heartbeat_s: float


@dataclass(frozen=True, slots=True)
class _Told:
    """A heartbeat, the sample that it is to the controller, and how it came."""

    beat: Heartbeat
    sample: Sample
    body: bytes
    weight: float


@dataclass(slots=True)
class _Live:
    """A transfer in memory: ``basis`` is the opening's under the share granted now; ``begun`` is to be told."""

    opening: Opening
    basis: Basis
    state: TuningState
    known: int = -1
    share: Share = UNLIMITED
    journalled: int = -1
    begun: bytes = b""

    def grant(self, share: Share) -> None:
        if share != self.share:
            self.share, self.basis = share, within(self.opening.basis, share)


NO_ROOM = "the caps of this path are in use by other transfers; ask again for a share"

Open = Callable[[RecommendRequest], Awaitable[Opening]]
Claims = Callable[[LinkKey], tuple[Claim, ...]]


class Tuner:
    """Answers the heartbeats that come to this process.

    Parameters
    ----------
    sessions : what is remembered outside the process.
    capacity : transfers kept in memory, the longest silent given up first.
    """

    def __init__(self, sessions: Sessions, *, capacity: int = MAX_LIVE) -> None:
        self._sessions = sessions
        self._capacity = capacity
        self._live: OrderedDict[TransferKey, _Live] = OrderedDict()

    async def answer(
        self, key: TransferKey, beat: Heartbeat, body: bytes, *, weight: float, claims: Claims, open_: Open
    ) -> Answer:
        """The decision on one heartbeat.

        Parameters
        ----------
        body : the heartbeat as it came, for the journal.
        weight : of the transfer where several share a cap.
        claims : of a link, under the limits of now.
        open_ : makes the basis of a transfer that this process does not know.

        Raises
        ------
        Conflict : the transfer is over, or nobody knows it and the heartbeat does not carry its enquiry.
        InvalidValue : a sample that no transfer can have.
        """
        sample = beat.to_sample()
        live = self._live.get(key)
        if live is None:
            live = self._keep(key, await self._opened(key, beat, sample, open_))
        else:
            self._live.move_to_end(key)
        if _runs_behind(sample, live.known):
            live.state = _resumed(live.opening.basis, sample)
        elif _is_answered(sample, live.known, live.share):
            return _answer(live, live.state.decision)
        return await self._decide(key, live, _Told(beat, sample, body, weight), claims(live.opening.link))

    async def end(self, key: TransferKey) -> None:
        """The transfer is over: its share is free. Without the store of sessions the share runs out by itself."""
        self._live.pop(key, None)
        try:
            await self._sessions.end(key)
        except SessionsAway:
            return

    def _keep(self, key: TransferKey, live: _Live) -> _Live:
        self._live[key] = live
        if len(self._live) > self._capacity:
            self._live.popitem(last=False)
        return live

    async def _opened(self, key: TransferKey, beat: Heartbeat, sample: Sample, open_: Open) -> _Live:
        enquiry = beat.enquiry
        if enquiry is None:
            enquiry = await self._remembered_enquiry(key)
        opening = await open_(enquiry)
        state = begin(opening.basis) if sample.sequence == 0 else resume(opening.basis, sample)
        return _Live(opening, opening.basis, state, begun=opening.begun)

    async def _remembered_enquiry(self, key: TransferKey) -> RecommendRequest:
        try:
            stored = await self._sessions.enquiry(key)
        except SessionsAway:
            stored = None
        if stored is None:
            raise Conflict(f"transfer {key.transfer_id} has no session: send the heartbeat again with its enquiry")
        return RecommendRequest.model_validate_json(stored)

    async def _decide(self, key: TransferKey, live: _Live, told: _Told, claims: tuple[Claim, ...]) -> Answer:
        sample = told.sample
        before = live.state
        for _ in range(ATTEMPTS):
            waits = sample.sequence == 0 and not live.share.granted  # and asks for all that it would begin with
            basis = live.opening.basis if waits else live.basis
            if sample.sequence == 0:
                before = begin(basis)
            state, decision = step(basis, before, sample)
            exchanged = await self._exchange(key, live, _tick(live, told, state, claims))
            match exchanged.outcome:
                case Outcome.ENDED:
                    self._live.pop(key, None)
                    raise Conflict(f"transfer {key.transfer_id} is over")
                case Outcome.OVERTAKEN:
                    before = self._adopted(live, sample, exchanged)
                    if _runs_behind(sample, before.sequence):
                        before = _resumed(live.opening.basis, sample)
                    elif _is_answered(sample, before.sequence, live.share):
                        return _answer(live, before.decision)
                    continue
            live.known, live.state = sample.sequence, state
            live.journalled = exchanged.journalled_sequence
            live.grant(exchanged.share)
            if not live.share.granted or fits(decision.chunks, live.share):
                break
        return _answer(live, decision)

    async def _exchange(self, key: TransferKey, live: _Live, tick: Tick) -> Exchanged:
        try:
            exchanged = await self._sessions.exchange(key, tick)
        except SessionsAway:  # goes on with what the process knows; nothing new is journalled
            return Exchanged(outcome=Outcome.STORED, journalled_sequence=live.journalled, share=live.share)
        if exchanged.outcome is Outcome.STORED:
            live.begun = b""
        return exchanged

    @staticmethod
    def _adopted(live: _Live, sample: Sample, exchanged: Exchanged) -> TuningState:
        """The state that another process has left, or one made again where it cannot be read."""
        try:
            state = TuningState.from_dict(orjson.loads(exchanged.state or b"{}"))
        except InvalidValue:
            state = _resumed(live.opening.basis, sample)
        live.state, live.known, live.journalled = state, state.sequence, exchanged.journalled_sequence
        live.grant(exchanged.share)
        return state


def _runs_behind(sample: Sample, known: int) -> bool:
    """Whether ``known`` is no number of this transfer: a jump ahead must not make all that follows count as old.

    A beginning that comes again begins nothing, however late it is: the transfer would seem to use nothing.
    """
    return 0 < sample.sequence < known - LATE_TICKS


def _is_answered(sample: Sample, known: int, share: Share) -> bool:
    """Whether a heartbeat has come before, or a later one has; who waits for a share begins again and again."""
    return sample.sequence <= known and (share.granted or known > 0)


def _resumed(basis: Basis, sample: Sample) -> TuningState:
    return replace(resume(basis, sample), sequence=sample.sequence - 1)


def _tick(live: _Live, told: _Told, state: TuningState, claims: tuple[Claim, ...]) -> Tick:
    sample = told.sample
    stored = state.to_dict()
    decision = orjson.dumps(stored["decision"])
    stored["decision"] = orjson.Fragment(decision)
    return Tick(
        sequence=sample.sequence,
        known=live.known,
        state=orjson.dumps(stored),
        enquiry=live.opening.enquiry,
        heartbeat=told.body,
        decision=decision,
        claims=claims,
        used=used(told.beat),
        wanted=wanted(told.beat, state.decision, live.opening.basis.caps),
        weight=told.weight,
        silent_after_s=silent_after_s(sample.interval_s),
        tells_enquiry=told.beat.enquiry is not None,
        begun=live.begun,
    )


def _answer(live: _Live, decision: Decision) -> Answer:
    if not live.share.granted:
        decision = replace(decision, reason=NO_ROOM, changed=False)
        return Answer(live.state.sequence, decision, live.share, live.journalled, WAITING_TICK_S)
    return Answer(live.state.sequence, decision, live.share, live.journalled, TICK_S)
