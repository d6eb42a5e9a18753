"""Sessions of live transfers in Redis: one script, and so one atomic round trip, for each heartbeat."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any, cast
from uuid import UUID

import redis.asyncio
from redis.exceptions import NoScriptError, RedisError

from services.application.limits.live_shares import ScopeUsage
from services.application.transfers.first_heartbeats import FirstHeartbeat
from services.application.transfers.sessions import (
    ExchangeOutcome,
    ExchangeResult,
    SessionLimits,
    SessionsUnreachable,
    Share,
    Tick,
    TransferKey,
)
from services.application.transfers.silence import COMING_BACK_S, LONGEST_GAP_S, LONGEST_SILENCE_S
from services.queue.shared_connection import SharedConnection
from tradewind.units import MIB

JOURNAL = "tradewind:heartbeats"
"""Stream of heartbeats on their way to the database."""

JOURNAL_BYTES = 256 * MIB
"""Memory of the heartbeats that no worker takes; dropped ones, the oldest, come again with the completion."""

_LONGEST_GAP_MS = round(1000 * LONGEST_GAP_S)
_LONGEST_SILENCE_MS = round(1000 * LONGEST_SILENCE_S)
_COMING_BACK_MS = round(1000 * COMING_BACK_S)

TURN_S = 60.0
"""Time for which a unit of a cap stays where it is while others wait. Handing it over takes two or three heartbeats."""

SESSION_TTL_S = 900
ENDED_TTL_S = 300
"""Longer than any heartbeat is under way; later ones find in the database that the transfer has finished."""

WATCH = "tradewind:watch"
"""Mark of the time since which the store was there for claims without a break."""

_FIRST_FIELDS = ("enquiry", "heartbeat", "begun", "began_ms", "heard_ms")
"""Fields of a session; the last four are updated until the journal has confirmed its progress."""

_SCRIPTS = files("services.queue") / "scripts"


class RedisSessions:
    """Sessions in Redis, which may be unreachable and may forget: the caller then goes on by itself."""

    def __init__(
        self,
        client: redis.asyncio.Redis,
        *,
        journal_bytes: int = JOURNAL_BYTES,
        limits: SessionLimits = SessionLimits(),  # noqa: B008 -- frozen
        trace: Callable[[], str] = lambda: "",
        turn_s: float = TURN_S,
    ) -> None:
        """Prepare the scripts; ``limits`` : of sessions at once; beyond them none is started, and those there are go
        on.

        ``trace`` : trace of the current heartbeat, for the worker that stores it; empty where none is traced.
        ``turn_s`` : where there are more keys than a cap has units, how long those that have one keep it.
        """
        self._limits = limits
        self._client = client
        self._trace = trace
        self._journal_bytes = journal_bytes
        watching = f"local longest_silence_ms = {_LONGEST_SILENCE_MS}\n{(_SCRIPTS / 'watch.lua').read_text()}"
        self._watch = client.register_script(f"{watching}return watched_since(KEYS[1], store_time_ms(), ARGV[1] + 0)")
        turn = f"local turn_ms = {round(1000 * turn_s)}\n"
        self._exchange = client.register_script(watching + turn + (_SCRIPTS / "exchange.lua").read_text())
        self._line = SharedConnection(client)
        self._end = client.register_script((_SCRIPTS / "end.lua").read_text())
        self._held = client.register_script(watching + (_SCRIPTS / "held.lua").read_text())

    async def exchange(self, key: TransferKey, tick: Tick) -> ExchangeResult:
        caps = [_format_text(cap) for claim in tick.claims for cap in (claim.concurrency, claim.streams)]
        counted = (_live_key(key.tenant_id, tick.owner), _live_key(key.tenant_id))
        keys = [
            format_session_key(key),
            JOURNAL,
            WATCH,
            *counted,
            *_list_scope_keys(key.tenant_id, [claim.scope for claim in tick.claims]),
        ]
        arguments: list[bytes | str | float] = [
            tick.known,
            tick.sequence,
            tick.state,
            tick.request,
            tick.heartbeat,
            tick.decision,
            SESSION_TTL_S,
            self._journal_bytes,
            str(key.tenant_id),
            str(key.transfer_id),
            tick.weight,
            *tick.requested,
            *tick.used,
            round(1000 * tick.silent_after_s),
            str(tick.owner),
            _LONGEST_GAP_MS,
            _COMING_BACK_MS,
            tick.start,
            self._trace(),
            "1" if tick.is_owner_known else "",
            self._limits.of_key,
            self._limits.of_tenant,
            "1" if tick.is_idle else "",
            *caps,
        ]
        try:
            outcome, *reply = await self._run_exchange(keys, arguments)
        except (RedisError, OSError) as away:
            raise SessionsUnreachable(str(away)) from away
        return _decode_reply(ExchangeOutcome(outcome.decode()), reply)

    async def _run_exchange(self, keys: Sequence[str], arguments: Sequence[bytes | str | float]) -> Sequence[Any]:
        """Run the script; load it first into a store that does not know it."""
        call = ("EVALSHA", self._exchange.sha, len(keys), *keys, *arguments)
        try:
            answer = await self._line.execute(*call)
        except NoScriptError:
            await self._client.script_load(self._exchange.script)
            answer = await self._line.execute(*call)
        return cast("Sequence[Any]", answer)

    async def find_request(self, key: TransferKey) -> bytes | None:
        try:
            found = await self._client.hget(format_session_key(key), "enquiry")
        except (RedisError, OSError) as away:
            raise SessionsUnreachable(str(away)) from away
        return found.encode() if isinstance(found, str) else found

    async def find_first_heartbeat(self, key: TransferKey) -> FirstHeartbeat | None:
        try:
            reply = await self._client.hmget(format_session_key(key), list(_FIRST_FIELDS))
        except (RedisError, OSError) as away:
            raise SessionsUnreachable(str(away)) from away
        if any(field is None for field in reply):
            return None
        request, heartbeat, start, started_ms, heard_ms = (cast("bytes", field) for field in reply)
        return FirstHeartbeat(
            request=request, heartbeat=heartbeat, start=start, started_at=_at(started_ms), heard_at=_at(heard_ms)
        )

    async def watch(self) -> None:
        try:
            await self._watch(keys=[WATCH], args=[_LONGEST_GAP_MS])
        except (RedisError, OSError) as away:
            raise SessionsUnreachable(str(away)) from away

    async def measure_held(self, tenant_id: UUID, scopes: Sequence[str]) -> Sequence[ScopeUsage]:
        try:
            reply = await self._held(keys=_list_scope_keys(tenant_id, scopes))
        except (RedisError, OSError) as away:
            raise SessionsUnreachable(str(away)) from away
        return [ScopeUsage(transfers, float(weight), files, streams) for transfers, weight, files, streams in reply]

    async def end(self, key: TransferKey) -> None:
        try:
            live = _live_key(key.tenant_id)
            await self._end(keys=[format_session_key(key), live], args=[str(key.transfer_id), ENDED_TTL_S])
        except (RedisError, OSError) as away:
            raise SessionsUnreachable(str(away)) from away


def format_session_key(key: TransferKey) -> str:
    return f"tradewind:session:{key.tenant_id}:{key.transfer_id}"


def _decode_reply(outcome: ExchangeOutcome, reply: Sequence[bytes]) -> ExchangeResult:
    match outcome:
        case ExchangeOutcome.ENDED:
            return ExchangeResult(outcome=outcome)
        case ExchangeOutcome.OTHER_KEY:
            return ExchangeResult(outcome=outcome, owner=UUID(reply[0].decode()))
        case ExchangeOutcome.FULL:
            whose, free_in_ms = reply
            return ExchangeResult(
                outcome=outcome, is_of_tenant=whose == b"tenant", retry_after_s=int(free_in_ms) / 1000
            )
        case ExchangeOutcome.OVERTAKEN:
            state, journalled, *granted = reply
            return ExchangeResult(
                outcome=outcome, state=state, journalled_sequence=int(journalled), share=_share(*granted)
            )
        case ExchangeOutcome.STORED:
            _, journalled, *granted = reply
            return ExchangeResult(outcome=outcome, journalled_sequence=int(journalled), share=_share(*granted))


def _list_scope_keys(tenant_id: UUID, scopes: Sequence[str]) -> list[str]:
    """Return the keys of the shares in each scope, then those of the shares' owners."""
    return [f"tradewind:{what}:{tenant_id}:{scope}" for what in ("shares", "share-owners") for scope in scopes]


def _live_key(tenant_id: UUID, key_id: UUID | None = None) -> str:
    """Return the sorted set of the sessions of a tenant, or of one of its keys, by when they are forgotten."""
    return f"tradewind:live:{tenant_id}" if key_id is None else f"tradewind:live:{tenant_id}:{key_id}"


def _at(milliseconds: bytes) -> datetime:
    return datetime.fromtimestamp(int(milliseconds) / 1000, UTC)


def _format_text(cap: int | None) -> str:
    return "" if cap is None else str(cap)


def _share(files: bytes | int, streams: bytes | int) -> Share:
    return Share(_number(files), _number(streams))


def _number(granted: bytes | int) -> int | None:
    """Return a number of a script, or ``None`` where no cap is set."""
    return None if granted == b"" else int(granted)
