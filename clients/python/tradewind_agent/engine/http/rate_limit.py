"""A rate limit for all connections of a transfer together: a token bucket, which may be changed at any time."""

import asyncio
import math
from itertools import islice
from typing import Protocol

from tradewind.units import KIB

BURST_S = 0.1
"""The bucket holds what the rate allows in this time: in any time t at most rate · (t + BURST_S) bytes pass."""

ROUND_S = BURST_S / 2
"""Time that an empty bucket fills before waiting connections resume; half of it is left for lateness."""

PART_BYTES = 16 * KIB
"""Least part of a connection in a round, if the rate permits: fewer connections resume then. A small read costs as much
processor as one of many; left to read what came in meanwhile, twenty connections kept a core busy for 8 Mbit/s."""

WORTH_BYTES = PART_BYTES // 4
"""Fewer bytes than this are not worth a read; at a low rate, fewer than a quarter of the bucket."""


class RateLimited(Protocol):
    """A connection that has stopped because the bucket, or its part of it, was empty."""

    def resume(self) -> None: ...


class RateLimit:
    """A limit of the bytes received in answers and sent in bodies, all connections together.

    Connections that wait go on in rounds, in turn, each with a part of what the bucket holds then; who has used up its
    part waits at the end of the line. A part that is not used, for want of data, is the next one's in the next round.

    Parameters
    ----------
    rate_bytes_per_s : ``None`` for no limit.
    loop : whose clock is counted by.
    """

    def __init__(self, rate_bytes_per_s: float | None, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._rate = rate_bytes_per_s
        self._filled_at = loop.time()
        self._tokens = self._capacity
        self._waiting: dict[RateLimited, None] = {}
        self._parts: dict[RateLimited, float] = {}
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_set(self) -> bool:
        return self._rate is not None

    def change(self, rate_bytes_per_s: float | None) -> None:
        """Change the rate from now on."""
        self._fill()  # at the old rate
        self._rate = rate_bytes_per_s
        self._tokens = min(self._tokens, self._capacity)
        self._parts.clear()
        self.close()
        if self._waiting:
            self._wake_later()

    def compute_allowance(self, connection: RateLimited, most_bytes: int) -> int:
        """Return the bytes that a connection may move at once, 1 at least and ``most_bytes`` at most."""
        if self._rate is None:
            return most_bytes
        self._fill()
        return max(int(min(most_bytes, self._tokens, self._parts.get(connection, math.inf))), 1)

    def count_moved(self, connection: RateLimited, moved_bytes: int) -> bool:
        """Count bytes that it has moved; whether it is to `wait` now: its part, or the bucket, is used up."""
        if self._rate is None:
            return False
        self._tokens -= moved_bytes
        if connection in self._parts:
            self._parts[connection] -= moved_bytes
        return self.is_exhausted or self._parts.get(connection, math.inf) < self._worth

    def charge(self, nbytes: float) -> None:
        """Take bytes out of the bucket that no connection carries: it may owe some then."""
        if self._rate is not None:
            self._tokens -= nbytes

    @property
    def is_limited(self) -> bool:
        """Return whether there is a limit now."""
        return self._rate is not None

    @property
    def is_exhausted(self) -> bool:
        """Return whether a connection has to `wait`: the rest of the bucket is not worth a read."""
        if self._rate is None:
            return False
        self._fill()
        return self._tokens < self._worth

    def wait(self, connection: RateLimited) -> None:
        """Call the connection's ``resume`` in one of the next rounds."""
        self._parts.pop(connection, None)
        self._waiting[connection] = None
        if self._timer is None:
            self._wake_later()

    def is_held(self, connection: RateLimited) -> bool:
        """Return whether the connection waits here."""
        return connection in self._waiting

    def forget(self, connection: RateLimited) -> None:
        """Forget a closed connection."""
        self._waiting.pop(connection, None)
        self._parts.pop(connection, None)

    def close(self) -> None:
        """Stop the rounds."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    @property
    def _capacity(self) -> float:
        return 0.0 if self._rate is None else max(self._rate * BURST_S, 1.0)

    @property
    def _worth(self) -> float:
        return min(self._capacity / 4, WORTH_BYTES)

    def _fill(self) -> None:
        now_s = self._loop.time()
        if self._rate is not None:
            self._tokens = min(self._tokens + self._rate * (now_s - self._filled_at), self._capacity)
            if self._tokens == self._capacity:
                self._parts.clear()  # nobody wants more than there is: small parts would only cost reads
        self._filled_at = now_s

    def _wake_later(self) -> None:
        """Schedule the next round: when the bucket holds it besides unused parts, at the latest a round from now."""
        delay_s = 0.0
        if self._rate is not None:
            free = self._tokens - min(sum(self._parts.values()), max(self._tokens, 0.0))
            delay_s = max((max(self._rate * ROUND_S, 1.0) - free) / self._rate, 0.0)
        self._timer = self._loop.call_later(delay_s, self._wake)

    def _wake(self) -> None:
        self._timer = None
        self._fill()
        places = len(self._waiting) if self._rate is None else max(int(self._tokens / PART_BYTES), 1)
        woken = list(islice(self._waiting, places))
        for connection in woken:
            del self._waiting[connection]
            self._parts[connection] = self._tokens / len(woken)
        for connection in woken:
            connection.resume()
        if self._waiting and self._timer is None:
            self._wake_later()
