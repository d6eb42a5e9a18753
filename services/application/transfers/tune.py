"""Answer heartbeats of live transfers: each is a sample for the controller, whose decision is the answer.

The state of a transfer is in the memory of the process that answered last and, one tick later at most, in the store of
sessions, which may lose it. Where both lack it, a heartbeat carries enough to make it again, so that a late heartbeat
revives its transfer and no transfer fails because of the service. The session has the owner until the database does.
"""

import math
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from uuid import UUID

import orjson

from services.application.limits.claims import count_requested, count_used, fits_share, scale_to_share
from services.application.transfers.owners import Ownership, make_foreign_transfer_error
from services.application.transfers.sessions import (
    UNLIMITED,
    CapClaim,
    ExchangeOutcome,
    ExchangeResult,
    Sessions,
    SessionsUnreachable,
    Share,
    Tick,
    TransferKey,
)
from services.application.transfers.silence import TICK_S, compute_silence_limit_s
from tradewind.errors import Conflict, InvalidValue, TooLarge, TooManyLive
from tradewind.transfer import LinkKey
from tradewind.tuning import Basis, Decision, TickSample, TuningState, begin, resume, step
from tradewind.units import KIB
from tradewind.wire.heartbeats import Heartbeat
from tradewind.wire.recommendations import RecommendRequest

WAITING_TICK_S = 1.0
"""Time to the next heartbeat of a transfer without a share: others release their share at their own next heartbeat."""

LATE_TICKS = 8
"""A heartbeat may be this far behind a later one; if it is farther, the later one's number was impossible."""

ATTEMPTS = 4
"""Rounds against other processes that answer for the same transfer; two are rare, three a fault."""

MAX_STORED_BYTES = 4 * KIB
"""Size of one heartbeat without its request, twice what four chunks take: sessions and the journal store it."""

MAX_REQUEST_BYTES = 8 * KIB
"""Size of a request, more than the longest histogram takes: a session stores one as long as it lives."""

LONGEST_RETRY_S = 60
"""Longest time to a retry of a transfer without a session: most transfers end long before their sessions expire."""

MAX_LIVE = 20_000
"""Transfers whose state a process has in memory; a few kilobytes each."""


@dataclass(frozen=True, slots=True)
class TransferOpening:
    """The basis that a transfer is tuned on, its link, and its request and start as JSON."""

    basis: Basis
    link: LinkKey
    request: bytes
    start: bytes = b""


@dataclass(frozen=True, slots=True)
class TuningAnswer:
    """An answer; ``share`` : granted now. ``journalled_sequence`` : heartbeats up to it are stored for good."""

    sequence: int
    decision: Decision
    share: Share
    journalled_sequence: int
    next_heartbeat_s: float


@dataclass(frozen=True, slots=True)
class _ReceivedHeartbeat:
    """A heartbeat, its sample for the controller, its JSON, and the key that sent it."""

    beat: Heartbeat
    sample: TickSample
    body: bytes
    weight: float
    key_id: UUID


@dataclass(slots=True)
class _Live:
    """A transfer in memory: ``basis`` is the opening's within the granted share; ``start`` is not stored yet.

    ``owner`` : its key, confirmed by the database where ``is_owner_known``. ``successor`` : a key that acts in its
    place. ``is_stored`` : the store of sessions has accepted the owner.
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
    start: bytes = b""

    def grant(self, share: Share) -> None:
        if share != self.share:
            self.share, self.basis = share, scale_to_share(self.opening.basis, share)


NO_ROOM = "the caps of this path are in use by other transfers; send the next heartbeat to get a share"

Open = Callable[[RecommendRequest], Awaitable[TransferOpening]]
Claims = Callable[[LinkKey], tuple[CapClaim, ...]]


class Tuner:
    """Answers the heartbeats that this process receives.

    Parameters
    ----------
    sessions : the store outside the process.
    owners : finds the owners of transfers.
    capacity : transfers in memory; the longest silent is evicted first.
    """

    def __init__(self, sessions: Sessions, owners: Ownership, *, capacity: int = MAX_LIVE) -> None:
        self._sessions = sessions
        self._owners = owners
        self._capacity = capacity
        self._live: OrderedDict[TransferKey, _Live] = OrderedDict()

    async def answer(
        self, key: TransferKey, beat: Heartbeat, *, key_id: UUID, weight: float, claims: Claims, open_: Open
    ) -> TuningAnswer:
        """Return the answer to one heartbeat.

        Parameters
        ----------
        key_id : API key that sends it.
        weight : of the transfer where several share a cap.
        claims : returns the claims of a link under the current limits.
        open_ : returns the opening of a transfer that this process does not know.

        Raises
        ------
        Conflict : the transfer has ended or is of another key, or it is unknown and the heartbeat lacks its request.
        InvalidValue : the sample is impossible.
        TooLarge : the heartbeat is larger than the store accepts.
        TooManyLive : the key or its tenant has the maximum of live transfers already.
        """
        sample = beat.to_sample()
        # serialized again, since it may have come with padding
        stored = beat.model_dump_json(exclude_none=True, exclude={"enquiry"}).encode()
        _require_size("heartbeat without its request", stored, MAX_STORED_BYTES)
        live = await self._recall(key, key_id)
        if live is None:
            live = self._remember(key, await self._open(key, beat, sample, key_id, open_))
        else:
            self._live.move_to_end(key)
        if _runs_behind(sample, live.known):
            live.state = _resume(live.opening.basis, sample)
        elif _is_answered(sample, live.known, live.share):
            return _to_answer(live, live.state.decision)
        received = _ReceivedHeartbeat(beat, sample, stored, weight, key_id)
        return await self._decide(key, live, received, claims(live.opening.link))

    async def end(self, key: TransferKey) -> None:
        """End a transfer and release its share; while sessions are unreachable, the share expires by itself."""
        self._live.pop(key, None)
        try:
            await self._sessions.end(key)
        except SessionsUnreachable:
            return

    def _remember(self, key: TransferKey, live: _Live) -> _Live:
        self._live[key] = live
        if len(self._live) > self._capacity:
            self._live.popitem(last=False)
        return live

    async def _recall(self, key: TransferKey, key_id: UUID) -> _Live | None:
        """Return the transfer in memory, if it is of this key; raise ``Conflict`` where it is of another key."""
        live = self._live.get(key)
        if live is None or key_id in {live.owner, live.successor}:
            return live
        if not live.is_stored or await self._has_other_owner(key, live, key_id):  # only that key claims to own it
            return None
        if await self._owners.is_of_other_key(key, live.owner, key_id):
            raise make_foreign_transfer_error(key.transfer_id)
        live.successor = key_id
        return live

    async def _has_other_owner(self, key: TransferKey, live: _Live, key_id: UUID) -> bool:
        """Return whether the database has another owner of the transfer by now than the one in memory."""
        if live.is_owner_known:
            return False
        known = await self._owners.find(key, key_id)
        return known.owner is not None and known.owner != live.owner

    async def _open(self, key: TransferKey, beat: Heartbeat, sample: TickSample, key_id: UUID, open_: Open) -> _Live:
        known = await self._owners.find(key, key_id)
        if known.is_of_other_key:
            raise make_foreign_transfer_error(key.transfer_id)
        if known.is_over:
            raise Conflict(f"transfer {key.transfer_id} has ended")
        request = beat.enquiry
        if request is None:
            request = await self._load_request(key)
        opening = await open_(request)
        _require_size("request (`enquiry`)", opening.request, MAX_REQUEST_BYTES)
        state = begin(opening.basis) if sample.sequence == 0 else resume(opening.basis, sample)
        return _Live(
            opening,
            opening.basis,
            state,
            owner=known.owner or key_id,
            is_owner_known=known.owner is not None,
            successor=key_id,
            start=opening.start,
        )

    async def _load_request(self, key: TransferKey) -> RecommendRequest:
        try:
            stored = await self._sessions.find_request(key)
        except SessionsUnreachable:
            stored = None
        if stored is None:
            raise Conflict(
                f"transfer {key.transfer_id} has no session: send its request, `enquiry`, with the heartbeat"
            )
        return RecommendRequest.model_validate_json(stored)

    async def _decide(
        self, key: TransferKey, live: _Live, received: _ReceivedHeartbeat, claims: tuple[CapClaim, ...]
    ) -> TuningAnswer:
        sample = received.sample
        before = live.state
        for _ in range(ATTEMPTS):
            waits = sample.sequence == 0 and not live.share.granted  # and claims everything that it would start with
            basis = live.opening.basis if waits else live.basis
            if sample.sequence == 0:
                before = begin(basis)
            state, decision = step(basis, before, sample)
            exchanged = await self._exchange(key, live, _to_tick(live, received, state, claims))
            match exchanged.outcome:
                case ExchangeOutcome.ENDED:
                    self._live.pop(key, None)
                    raise Conflict(f"transfer {key.transfer_id} has ended")
                case ExchangeOutcome.OTHER_KEY:
                    await self._join(key, live, exchanged.owner, received.key_id)
                    continue
                case ExchangeOutcome.FULL:
                    self._live.pop(key, None)
                    raise _make_too_many_live(exchanged)
                case ExchangeOutcome.OVERTAKEN:
                    before = self._adopt(live, sample, exchanged)
                    if _runs_behind(sample, before.sequence):
                        before = _resume(live.opening.basis, sample)
                    elif _is_answered(sample, before.sequence, live.share):
                        return _to_answer(live, before.decision)
                    continue
            live.known, live.state = sample.sequence, state
            live.journalled = exchanged.journalled_sequence
            live.grant(exchanged.share)
            if not live.share.granted or fits_share(decision.chunks, live.share):
                break
        return _to_answer(live, decision)

    async def _exchange(self, key: TransferKey, live: _Live, tick: Tick) -> ExchangeResult:
        try:
            exchanged = await self._sessions.exchange(key, tick)
        except SessionsUnreachable:  # continue with what the process has in memory; nothing new is journalled
            return ExchangeResult(outcome=ExchangeOutcome.STORED, journalled_sequence=live.journalled, share=live.share)
        if exchanged.outcome is ExchangeOutcome.STORED:
            live.start = b""
            live.is_stored = True
        return exchanged

    async def _join(self, key: TransferKey, live: _Live, owner: UUID | None, key_id: UUID) -> None:
        """Continue the session of another key where ``key_id`` replaces it; raise ``Conflict`` otherwise."""
        if owner is None or await self._owners.is_of_other_key(key, owner, key_id):
            self._live.pop(key, None)
            raise make_foreign_transfer_error(key.transfer_id)
        live.owner, live.successor = owner, key_id

    @staticmethod
    def _adopt(live: _Live, sample: TickSample, exchanged: ExchangeResult) -> TuningState:
        """Return the state that another process stored, or a new one where it cannot be read."""
        try:
            state = TuningState.from_dict(orjson.loads(exchanged.state or b"{}"))
        except InvalidValue:
            state = _resume(live.opening.basis, sample)
        live.is_stored = True
        live.state, live.known, live.journalled = state, state.sequence, exchanged.journalled_sequence
        live.grant(exchanged.share)
        return state


def _require_size(what: str, stored: bytes, most_bytes: int) -> None:
    if len(stored) > most_bytes:
        raise TooLarge(f"the {what} has {len(stored)} bytes without blanks; at most {most_bytes} are accepted")


def _make_too_many_live(exchanged: ExchangeResult) -> TooManyLive:
    return TooManyLive(
        "all keys of this tenant" if exchanged.is_of_tenant else "this key",
        retry_after_s=min(max(math.ceil(exchanged.retry_after_s), 1), LONGEST_RETRY_S),
    )


def _runs_behind(sample: TickSample, known: int) -> bool:
    """Return whether ``known`` cannot be a number of this transfer; a jump must not make all later ones count as old.

    A first heartbeat that comes again restarts nothing, however late it is: the transfer would seem to use nothing.
    """
    return 0 < sample.sequence < known - LATE_TICKS


def _is_answered(sample: TickSample, known: int, share: Share) -> bool:
    """Return whether this or a later heartbeat was answered; a transfer that waits for a share starts repeatedly."""
    return sample.sequence <= known and (share.granted or known > 0)


def _resume(basis: Basis, sample: TickSample) -> TuningState:
    return replace(resume(basis, sample), sequence=sample.sequence - 1)


def _to_tick(live: _Live, received: _ReceivedHeartbeat, state: TuningState, claims: tuple[CapClaim, ...]) -> Tick:
    stored = state.to_dict()
    decision = orjson.dumps(stored["decision"])
    return Tick(
        sequence=received.sample.sequence,
        known=live.known,
        owner=live.owner,
        state=orjson.dumps(stored | {"decision": orjson.Fragment(decision)}),
        request=live.opening.request,
        heartbeat=received.body,
        decision=decision,
        claims=claims,
        used=count_used(received.beat),
        requested=count_requested(received.beat, state.decision, live.opening.basis.caps),
        weight=received.weight,
        silent_after_s=compute_silence_limit_s(received.sample.interval_s),
        start=live.start,
        is_owner_known=live.is_owner_known,
        is_idle=received.beat.sequence > 0 and not received.beat.throughput_bps,
    )


def _to_answer(live: _Live, decision: Decision) -> TuningAnswer:
    if not live.share.granted:
        decision = replace(decision, reason=NO_ROOM, changed=False)
        return TuningAnswer(live.state.sequence, decision, live.share, live.journalled, WAITING_TICK_S)
    return TuningAnswer(live.state.sequence, decision, live.share, live.journalled, TICK_S)
