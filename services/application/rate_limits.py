"""How often a key may call: a bucket of calls for each key and kind, filled again at a steady rate.

A process keeps its buckets in memory, so that asking whether a call is permitted costs a look-up and no trip. Each
second it tells a store, which all processes share, what was taken, and takes over the level that is left over all of
them; a level may be below zero, which is paid back before anything else is permitted.
"""

import asyncio
import math
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple, Protocol
from uuid import UUID

from services.application.authenticate import Principal
from tradewind.errors import TooOften, Unavailable

EVERY_S = 1.0
BURST_S = 10.0
"""A full bucket holds the calls of so many seconds: agents that begin together, or come back after the service was
away, are answered at once."""

BUCKETS_AT_ONCE = 500
"""Told in one step, in which the store answers nobody else."""


class CallKind(StrEnum):
    """Calls that are counted together."""

    RECOMMEND = "recommend"
    HEARTBEAT = "heartbeat"
    UPLOAD = "upload"
    QUERY = "query"
    OTHER = "other"


USUAL_CALLS_PER_S: Mapping[CallKind, float] = MappingProxyType(
    {
        CallKind.RECOMMEND: 300.0,
        CallKind.HEARTBEAT: 600.0,
        CallKind.UPLOAD: 200.0,
        CallKind.QUERY: 10.0,
        CallKind.OTHER: 100.0,
    }
)
"""For each key. An organisation may have one for all its agents: 1,000 of them send 200 heartbeats a second, and begin
and end as many transfers at the very most as their ticks allow; three times that is left to them."""


OFF = "off"


def calls_from(text: str) -> Mapping[CallKind, float]:
    """Calls a second by kind, as an operator writes them: ``query=5 heartbeat=off``, or ``off`` for all.

    Raises
    ------
    ValueError : another kind, or no number above 0.
    """
    if text == OFF:
        return {}
    found = dict(USUAL_CALLS_PER_S)
    for word in text.split():
        name, _, number = word.partition("=")
        if name not in found:
            raise ValueError(
                f"must be {OFF}, or KIND=NUMBER by blanks, each kind one of {', '.join(CallKind)} and once"
            )
        kind = CallKind(name)
        if number == OFF:
            del found[kind]
            continue
        try:
            found[kind] = float(number)
        except ValueError:
            found[kind] = math.nan
        if not 0 < found[kind] < math.inf:
            raise ValueError(f"{name} must be a number of calls a second above 0, or {OFF}")
    return found


class Taken(NamedTuple):
    """Calls taken from one bucket since they were last told; ``per_s`` and ``burst`` say how it fills, and how far."""

    key_id: UUID
    kind: CallKind
    calls: int
    per_s: float
    burst: float


class SharedLevels(Protocol):
    async def take(self, taken: Sequence[Taken]) -> Sequence[float]:
        """Take calls from buckets that all processes share; the level of each afterwards, below zero if overdrawn.

        Raises
        ------
        Unavailable : the store does not answer; nothing is known to be taken.
        """


class Refused(NamedTuple):
    """Calls that were refused since that was last told."""

    tenant_id: UUID
    key_id: UUID
    kind: CallKind
    calls: int


class _Bucket:
    """Of one key and kind, as this process knows it."""

    __slots__ = ("at_s", "burst", "factor", "level", "per_s", "refused", "taken", "tenant_id")

    def __init__(self, principal: Principal, per_s: float, at_s: float) -> None:
        self.tenant_id = principal.tenant_id
        self.factor = principal.rate_factor
        self.per_s = per_s * principal.rate_factor
        self.burst = max(self.per_s * BURST_S, 1.0)
        self.level = self.burst
        self.at_s = at_s
        self.taken = self.refused = 0

    def fill(self, at_s: float) -> None:
        self.level = min(self.burst, self.level + (at_s - self.at_s) * self.per_s)
        self.at_s = at_s


class RateLimits:
    """Parameters
    ----------
    calls_per_s : of each kind, for a key whose factor is 1; a kind that is missing is not limited.
    levels : what all processes share.
    monotonic : seconds of a clock that never goes back.
    on_refused : told once a second of what was refused.
    on_failed : told of what is no absence of the store, but a fault.
    """

    def __init__(
        self,
        calls_per_s: Mapping[CallKind, float],
        levels: SharedLevels,
        monotonic: Callable[[], float],
        on_refused: Callable[[Refused], None],
        on_failed: Callable[[Exception], None],
    ) -> None:
        self._calls_per_s = calls_per_s
        self._levels = levels
        self._monotonic = monotonic
        self._on_refused = on_refused
        self._on_failed = on_failed
        self._buckets: dict[tuple[UUID, CallKind], _Bucket] = {}

    def permits(self, principal: Principal, kind: CallKind) -> bool:
        """Take a call from the key's bucket if there is one left."""
        bucket = self._bucket(principal, kind)
        if bucket is None:
            return True
        bucket.fill(self._monotonic())
        if bucket.level < 1.0:
            return False
        bucket.level -= 1.0
        bucket.taken += 1
        return True

    def require(self, principal: Principal, kind: CallKind) -> None:
        """Take a call from the key's bucket.

        Raises
        ------
        TooOften : there is none left; the refusal is counted.
        """
        if self.permits(principal, kind):
            return
        bucket = self._buckets[principal.key_id, kind]
        bucket.refused += 1
        raise TooOften(
            kind,
            calls=int(bucket.burst),
            window_s=math.ceil(bucket.burst / bucket.per_s),
            retry_after_s=math.ceil((1.0 - bucket.level) / bucket.per_s),
        )

    async def follow(self, *, every_s: float = EVERY_S) -> None:
        """Share what was taken again and again, until cancelled; while the store is away each process counts alone."""
        while True:
            await asyncio.sleep(every_s)
            try:
                await self.share()
            except Unavailable:
                continue
            except Exception as error:  # noqa: BLE001  # the turns must not end with the first that fails
                self._on_failed(error)

    async def share(self) -> None:
        """Tell what was taken and refused since the last time, and take over what is left over all processes.

        Raises
        ------
        Unavailable : the store does not answer. What was not told never is: a store that comes back after an hour must
            not ask for that hour at once.
        """
        self._tell_refused()
        self._forget_full()
        used = [(name, bucket) for name, bucket in self._buckets.items() if bucket.taken]
        told = [Taken(*name, bucket.taken, bucket.per_s, bucket.burst) for name, bucket in used]
        for _, bucket in used:
            bucket.taken = 0
        for first in range(0, len(used), BUCKETS_AT_ONCE):
            part = slice(first, first + BUCKETS_AT_ONCE)
            levels = await self._levels.take(told[part])
            for (_, bucket), level in zip(used[part], levels, strict=True):
                bucket.level = level - bucket.taken  # taken while the store was asked
                bucket.at_s = self._monotonic()

    def _bucket(self, principal: Principal, kind: CallKind) -> _Bucket | None:
        bucket = self._buckets.get((principal.key_id, kind))
        if bucket is not None and bucket.factor == principal.rate_factor:
            return bucket
        per_s = self._calls_per_s.get(kind)
        if per_s is None:
            return None
        made = _Bucket(principal, per_s, self._monotonic())
        if bucket is not None:  # the factor was changed
            made.level = min(made.burst, bucket.level)
            made.taken, made.refused = bucket.taken, bucket.refused
        self._buckets[principal.key_id, kind] = made
        return made

    def _tell_refused(self) -> None:
        for (key_id, kind), bucket in self._buckets.items():
            if bucket.refused:
                self._on_refused(Refused(bucket.tenant_id, key_id, kind, bucket.refused))
                bucket.refused = 0

    def _forget_full(self) -> None:
        """Buckets that are as new: keys that have not called for a while."""
        now_s = self._monotonic()
        for name, bucket in list(self._buckets.items()):
            bucket.fill(now_s)
            if bucket.level >= bucket.burst and not bucket.taken:
                del self._buckets[name]
