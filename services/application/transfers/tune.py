"""Heartbeats of live transfers: each is a sample for the controller, whose decision is the answer.

The state of a transfer stands in the memory of the process that answered last and, one tick later at most, in the
store of sessions, which may forget it. A heartbeat that finds neither makes it again from what it carries itself, so
that a late heartbeat revives its transfer and no transfer fails because of the service.

A transfer belongs to the key that began it. The database says whose it is, and before it knows, the session does.
"""

import math
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from uuid import UUID

import orjson

from services.application.limits.claims import count_requested, count_used, fits_share, scale_to_share
from services.application.transfers.owners import Ownership, foreign_transfer_error
from services.application.transfers.sessions import (
    UNLIMITED,
    Claim,
    ExchangeOutcome,
    ExchangeResult,
    Sessions,
    SessionsUnreachable,
    Share,
    Tick,
    TransferKey,
)
from services.application.transfers.silence import TICK_S, silent_after_s
from tradewind.errors import Conflict, InvalidValue, TooLarge, TooManyLive
from tradewind.transfer import LinkKey
from tradewind.tuning import Basis, Decision, TickSample, TuningState, begin, resume, step
from tradewind.units import KIB
from tradewind.wire.heartbeats import Heartbeat
from tradewind.wire.recommendations import RecommendRequest

WAITING_TICK_S = 1.0
"""Until the next heartbeat of a transfer that has no share yet: others give theirs back at their own next one."""

LATE_TICKS = 8
"""Heartbeats that may come after a later one: from far more behind, the later one had a number it could not have."""

ATTEMPTS = 4
"""Rounds against other processes that answer for the same transfer; more than one is rare, more than two a fault."""

MAX_STORED_BYTES = 4 * KIB
"""Of one heartbeat without its enquiry, more than twice what four chunks take: sessions and the journal hold it."""

MAX_ENQUIRY_BYTES = 8 * KIB
"""Of an enquiry, more than the longest histogram takes: a session holds one as long as it lives."""

LONGEST_RETRY_S = 60
"""After which a transfer that found no session free asks again: most end long before their sessions are forgotten."""

MAX_LIVE = 20_000
"""Transfers whose state a process keeps; a few kilobytes each."""


@dataclass(frozen=True, slots=True)
class TransferOpening:
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
    """A heartbeat, the sample that it is to the controller, its JSON, and the key that sent it."""

    beat: Heartbeat
    sample: TickSample
    body: bytes
    weight: float
    key_id: UUID


@dataclass(slots=True)
class _Live:
    """A transfer in memory: ``basis`` is the opening's under the share granted now; ``begun`` is to be told.

    ``owner`` : its key, as the database says where ``is_owner_known``; ``successor`` : a key that acts in its place.
    ``is_stored`` : whether the store of sessions has taken the owner for such.
    """

    opening: TransferOpening
    basis: Basis
    state: TuningState
    owner: UUID
    is_owner_known: bool = False
    successor: UUID | None = None
    is_stored: bool = False
    known: int = -1
    share: Share = UNLIMITED
    journalled: int = -1
    begun: bytes = b""

    def grant(self, share: Share) -> None:
        if share != self.share:
            self.share, self.basis = share, scale_to_share(self.opening.basis, share)


NO_ROOM = "the caps of this path are in use by other transfers; ask again for a share"

Open = Callable[[RecommendRequest], Awaitable[TransferOpening]]
Claims = Callable[[LinkKey], tuple[Claim, ...]]


class Tuner:
    """Answers the heartbeats that come to this process.

    Parameters
    ----------
    sessions : what is remembered outside the process.
    owners : whose transfers are.
    capacity : transfers kept in memory, the longest silent given up first.
    """

    def __init__(self, sessions: Sessions, owners: Ownership, *, capacity: int = MAX_LIVE) -> None:
        self._sessions = sessions
        self._owners = owners
        self._capacity = capacity
        self._live: OrderedDict[TransferKey, _Live] = OrderedDict()

    async def answer(
        self, key: TransferKey, beat: Heartbeat, *, key_id: UUID, weight: float, claims: Claims, open_: Open
    ) -> Answer:
        """The decision on one heartbeat.

        Parameters
        ----------
        key_id : API key that sends it.
        weight : of the transfer where several share a cap.
        claims : of a link, under the limits of now.
        open_ : makes the basis of a transfer that this process does not know.

        Raises
        ------
        Conflict : the transfer is over or another key's, or nobody knows it and the heartbeat does not carry its
            enquiry.
        InvalidValue : a sample that no transfer can have.
        TooLarge : more than one heartbeat may take in the store.
        TooManyLive : the key or its tenant has as many live transfers as it may, and this would be one more.
        """
        sample = beat.to_sample()
        stored = beat.model_dump_json(exclude_none=True, exclude={"enquiry"}).encode()  # not padded as it may come
        _require_size("heartbeat without its enquiry", stored, MAX_STORED_BYTES)
        live = await self._known(key, key_id)
        if live is None:
            live = self._keep(key, await self._opened(key, beat, sample, key_id, open_))
        else:
            self._live.move_to_end(key)
        if _runs_behind(sample, live.known):
            live.state = _resumed(live.opening.basis, sample)
        elif _is_answered(sample, live.known, live.share):
            return _answer(live, live.state.decision)
        return await self._decide(key, live, _Told(beat, sample, stored, weight, key_id), claims(live.opening.link))

    async def end(self, key: TransferKey) -> None:
        """The transfer is over: its share is free. Without the store of sessions the share runs out by itself."""
        self._live.pop(key, None)
        try:
            await self._sessions.end(key)
        except SessionsUnreachable:
            return

    def _keep(self, key: TransferKey, live: _Live) -> _Live:
        self._live[key] = live
        if len(self._live) > self._capacity:
            self._live.popitem(last=False)
        return live

    async def _known(self, key: TransferKey, key_id: UUID) -> _Live | None:
        """Return the transfer in memory, if it is one of this key; raise ``Conflict`` where it is another's."""
        live = self._live.get(key)
        if live is None or key_id in {live.owner, live.successor}:
            return live
        if not live.is_stored or await self._is_owned_otherwise(key, live, key_id):  # that key has only said so
            return None
        if await self._owners.is_of_other_key(key, live.owner, key_id):
            raise foreign_transfer_error(key.transfer_id)
        live.successor = key_id
        return live

    async def _is_owned_otherwise(self, key: TransferKey, live: _Live, key_id: UUID) -> bool:
        """Return whether the database says by now that another key began the transfer than the one in memory."""
        if live.is_owner_known:
            return False
        known = await self._owners.find(key, key_id)
        return known.owner is not None and known.owner != live.owner

    async def _opened(self, key: TransferKey, beat: Heartbeat, sample: TickSample, key_id: UUID, open_: Open) -> _Live:
        known = await self._owners.find(key, key_id)
        if known.is_of_other_key:
            raise foreign_transfer_error(key.transfer_id)
        if known.is_over:
            raise Conflict(f"transfer {key.transfer_id} is over")
        enquiry = beat.enquiry
        if enquiry is None:
            enquiry = await self._remembered_enquiry(key)
        opening = await open_(enquiry)
        _require_size("enquiry", opening.enquiry, MAX_ENQUIRY_BYTES)
        state = begin(opening.basis) if sample.sequence == 0 else resume(opening.basis, sample)
        return _Live(
            opening,
            opening.basis,
            state,
            owner=known.owner or key_id,
            is_owner_known=known.owner is not None,
            successor=key_id,
            begun=opening.begun,
        )

    async def _remembered_enquiry(self, key: TransferKey) -> RecommendRequest:
        try:
            stored = await self._sessions.enquiry(key)
        except SessionsUnreachable:
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
                case ExchangeOutcome.ENDED:
                    self._live.pop(key, None)
                    raise Conflict(f"transfer {key.transfer_id} is over")
                case ExchangeOutcome.OTHER_KEY:
                    await self._join(key, live, exchanged.owner, told.key_id)
                    continue
                case ExchangeOutcome.FULL:
                    self._live.pop(key, None)
                    raise _refuse_more(exchanged)
                case ExchangeOutcome.OVERTAKEN:
                    before = self._adopted(live, sample, exchanged)
                    if _runs_behind(sample, before.sequence):
                        before = _resumed(live.opening.basis, sample)
                    elif _is_answered(sample, before.sequence, live.share):
                        return _answer(live, before.decision)
                    continue
            live.known, live.state = sample.sequence, state
            live.journalled = exchanged.journalled_sequence
            live.grant(exchanged.share)
            if not live.share.granted or fits_share(decision.chunks, live.share):
                break
        return _answer(live, decision)

    async def _exchange(self, key: TransferKey, live: _Live, tick: Tick) -> ExchangeResult:
        try:
            exchanged = await self._sessions.exchange(key, tick)
        except SessionsUnreachable:  # goes on with what the process knows; nothing new is journalled
            return ExchangeResult(outcome=ExchangeOutcome.STORED, journalled_sequence=live.journalled, share=live.share)
        if exchanged.outcome is ExchangeOutcome.STORED:
            live.begun = b""
            live.is_stored = True
        return exchanged

    async def _join(self, key: TransferKey, live: _Live, owner: UUID | None, key_id: UUID) -> None:
        """Go on with the session of another key, where ``key_id`` replaces it; raise ``Conflict`` otherwise."""
        if owner is None or await self._owners.is_of_other_key(key, owner, key_id):
            self._live.pop(key, None)
            raise foreign_transfer_error(key.transfer_id)
        live.owner, live.successor = owner, key_id

    @staticmethod
    def _adopted(live: _Live, sample: TickSample, exchanged: ExchangeResult) -> TuningState:
        """The state that another process has left, or one made again where it cannot be read."""
        try:
            state = TuningState.from_dict(orjson.loads(exchanged.state or b"{}"))
        except InvalidValue:
            state = _resumed(live.opening.basis, sample)
        live.is_stored = True
        live.state, live.known, live.journalled = state, state.sequence, exchanged.journalled_sequence
        live.grant(exchanged.share)
        return state


def _require_size(what: str, stored: bytes, most_bytes: int) -> None:
    if len(stored) > most_bytes:
        raise TooLarge(f"the {what} has {len(stored)} bytes apart from blanks; at most {most_bytes} are taken")


def _refuse_more(exchanged: ExchangeResult) -> TooManyLive:
    return TooManyLive(
        "all keys of this tenant" if exchanged.is_of_tenant else "this key",
        retry_after_s=min(max(math.ceil(exchanged.retry_after_s), 1), LONGEST_RETRY_S),
    )


def _runs_behind(sample: TickSample, known: int) -> bool:
    """Whether ``known`` is no number of this transfer: a jump ahead must not make all that follows count as old.

    A beginning that comes again begins nothing, however late it is: the transfer would seem to use nothing.
    """
    return 0 < sample.sequence < known - LATE_TICKS


def _is_answered(sample: TickSample, known: int, share: Share) -> bool:
    """Whether a heartbeat has come before, or a later one has; who waits for a share begins again and again."""
    return sample.sequence <= known and (share.granted or known > 0)


def _resumed(basis: Basis, sample: TickSample) -> TuningState:
    return replace(resume(basis, sample), sequence=sample.sequence - 1)


def _tick(live: _Live, told: _Told, state: TuningState, claims: tuple[Claim, ...]) -> Tick:
    sample = told.sample
    stored = state.to_dict()
    decision = orjson.dumps(stored["decision"])
    stored["decision"] = orjson.Fragment(decision)
    return Tick(
        sequence=sample.sequence,
        known=live.known,
        owner=live.owner,
        state=orjson.dumps(stored),
        enquiry=live.opening.enquiry,
        heartbeat=told.body,
        decision=decision,
        claims=claims,
        used=count_used(told.beat),
        wanted=count_requested(told.beat, state.decision, live.opening.basis.caps),
        weight=told.weight,
        silent_after_s=silent_after_s(sample.interval_s),
        begun=live.begun,
        is_owner_known=live.is_owner_known,
    )


def _answer(live: _Live, decision: Decision) -> Answer:
    if not live.share.granted:
        decision = replace(decision, reason=NO_ROOM, changed=False)
        return Answer(live.state.sequence, decision, live.share, live.journalled, WAITING_TICK_S)
    return Answer(live.state.sequence, decision, live.share, live.journalled, TICK_S)
