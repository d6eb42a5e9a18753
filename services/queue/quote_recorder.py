"""Quotes on their way from answers to the stream that workers store them from."""

import asyncio
from collections import deque
from collections.abc import Callable
from uuid import UUID

import redis.asyncio
from redis.exceptions import RedisError

from services.application.billing.quote_consumer import StoredQuote, to_stream_fields
from services.application.transfers.sessions import TransferKey
from tradewind.units import MIB

QUOTES = "tradewind:quotes"
"""Stream of quotes on their way to the database."""

QUOTES_AN_ENTRY = 100

QUOTES_BYTES = 192 * MIB
"""Memory of the quotes that no worker takes, 300,000 entries and more; the oldest are dropped, and reported."""

MOST_WAITING = 50_000
"""Limit of one process while Redis is unreachable; the oldest are dropped, and reported."""

GATHERED_S = 0.25
"""How long quotes are gathered for one write."""

RETRY_PAUSE_S = 5.0
"""Pause before the next try while the store is unreachable."""

KEYS_REMEMBERED_S = 60
"""How long the store names the key that a transfer was quoted to, twice as long at most: quotes are in the database
some seconds after the answer, and later where workers lag.
"""


class QuoteRecorder:
    """Writes the quotes of answers, all of a moment in one round trip; an answer never waits for it.

    Until the database has a quote, the recorder knows which key it was made to.

    Parameters
    ----------
    on_failure : called with the reason why quotes could not be written; they are tried again.
    on_dropped : called with the number of quotes that this process has dropped for want of room, or of entries of up to
        a hundred that it has dropped from the stream.
    time_s : seconds since 1970, by a clock that the processes of an installation share.
    """

    def __init__(
        self,
        client: redis.asyncio.Redis,
        on_failure: Callable[[Exception], None],
        on_dropped: Callable[[int], None],
        time_s: Callable[[], float],
    ) -> None:
        self._client = client
        self._on_failure = on_failure
        self._on_dropped = on_dropped
        self._time_s = time_s
        self._unwritten_keys: dict[TransferKey, UUID] = {}
        self._waiting: deque[tuple[UUID, StoredQuote]] = deque()
        self._dropped = 0
        self._has_quotes = asyncio.Event()

    def note(self, tenant_id: UUID, quote: StoredQuote) -> None:
        """Queue a quote of a tenant; an answer costs no more than this."""
        self._waiting.append((tenant_id, quote))
        self._drop_oldest()
        self._unwritten_keys[TransferKey(tenant_id, quote.transfer_id)] = quote.key_id
        if len(self._unwritten_keys) > MOST_WAITING:
            del self._unwritten_keys[next(iter(self._unwritten_keys))]
        self._has_quotes.set()

    async def find_key(self, key: TransferKey) -> UUID | None:
        """Return the API key that a transfer was quoted to recently; ``None`` where it is older or unknown."""
        if (unwritten := self._unwritten_keys.get(key)) is not None:
            return unwritten
        try:
            async with self._client.pipeline(transaction=False) as pipeline:
                for spans_ago in (0, 1):
                    pipeline.hget(self._format_keys_name(key.tenant_id, spans_ago), key.transfer_id.bytes)
                found = await pipeline.execute()
        except (RedisError, OSError):
            return None
        return next((UUID(bytes=each) for each in found if each is not None), None)

    async def follow(self) -> None:
        """Write quotes as they come, until cancelled."""
        self._has_quotes = asyncio.Event()  # of the running loop
        if self._waiting:
            self._has_quotes.set()
        while True:
            await self._has_quotes.wait()
            await asyncio.sleep(GATHERED_S)
            try:
                await self.write()
            except (RedisError, OSError) as unreachable:
                self._on_failure(unreachable)
                self._report_dropped()
                await asyncio.sleep(RETRY_PAUSE_S)

    async def write(self) -> None:
        """Write the queued quotes; raise ``RedisError`` or ``OSError`` while the store is unreachable, and keep them
        then.
        """
        self._has_quotes.clear()
        taken = list(self._waiting)
        self._waiting.clear()
        if not taken:
            return
        by_tenant: dict[UUID, list[StoredQuote]] = {}
        for tenant_id, quote in taken:
            by_tenant.setdefault(tenant_id, []).append(quote)
        try:
            async with self._client.pipeline(transaction=False) as pipeline:
                for tenant_id, quotes in by_tenant.items():
                    for first in range(0, len(quotes), QUOTES_AN_ENTRY):
                        fields = to_stream_fields(tenant_id, quotes[first : first + QUOTES_AN_ENTRY])
                        pipeline.xadd(QUOTES, fields)  # type: ignore[arg-type]  # invariant there
                    keys = self._format_keys_name(tenant_id)
                    pipeline.hset(keys, mapping={each.transfer_id.bytes: each.key_id.bytes for each in quotes})
                    pipeline.expire(keys, 2 * KEYS_REMEMBERED_S)
                pipeline.memory_usage(QUOTES)
                *_, used_bytes = await pipeline.execute()
        except BaseException:  # perhaps some of it is written: a quote that comes twice is stored once
            self._put_back(taken)
            raise
        for tenant_id, quote in taken:
            self._unwritten_keys.pop(TransferKey(tenant_id, quote.transfer_id), None)
        if used_bytes is not None and used_bytes > QUOTES_BYTES:
            await self._trim(used_bytes)

    async def _trim(self, used_bytes: int) -> None:
        """Drop the oldest entries of the stream beyond the memory that it may use."""
        entries = await self._client.xlen(QUOTES)
        left = int(entries * QUOTES_BYTES / used_bytes)
        self._dropped += await self._client.xtrim(QUOTES, maxlen=left, approximate=False)
        self._report_dropped()

    async def close(self) -> None:
        """Write what is queued; what cannot be written any more is lost."""
        try:
            await self.write()
        except (RedisError, OSError) as unreachable:
            self._on_failure(unreachable)
        self._report_dropped()

    def _format_keys_name(self, tenant_id: UUID, spans_ago: int = 0) -> str:
        """Return the hash of transfers quoted in a span of time, by the keys that they were quoted to."""
        return f"tradewind:quoted:{tenant_id}:{int(self._time_s() // KEYS_REMEMBERED_S) - spans_ago}"

    def _put_back(self, taken: list[tuple[UUID, StoredQuote]]) -> None:
        """Queue quotes again and keep the newest, should others have come meanwhile."""
        self._waiting.extendleft(reversed(taken))
        self._drop_oldest()
        self._has_quotes.set()

    def _drop_oldest(self) -> None:
        while len(self._waiting) > MOST_WAITING:
            self._waiting.popleft()
            self._dropped += 1

    def _report_dropped(self) -> None:
        if self._dropped:
            self._on_dropped(self._dropped)
            self._dropped = 0
