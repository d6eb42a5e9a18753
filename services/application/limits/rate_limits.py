"""Rate limits of keys, users, customers and tenants: a token bucket for each, by kind of call, that fills steadily.

A process has its buckets in memory, so that checking a call costs a look-up and no round trip. Each second it reports
to a store, which all processes share, the calls taken, and takes over the level left by all processes. A level may be
below zero; it has to fill up before any call is permitted.
"""

import asyncio
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import Literal, NamedTuple, Protocol, Self
from uuid import UUID

from services.application.access.authenticate import Principal
from tradewind.errors import TooOften, Unavailable

EVERY_S = 1.0
BURST_S = 10.0
"""A full bucket holds the calls of so many seconds: agents that start together, or return after an outage, are
answered at once."""

BUCKETS_AT_ONCE = 500
"""Buckets in one request, during which the store answers no other."""


class CallKind(StrEnum):
    """Calls that are counted together."""

    RECOMMEND = "recommend"
    HEARTBEAT = "heartbeat"
    UPLOAD = "upload"
    QUERY = "query"
    PAGE = "page"
    OTHER = "other"


USUAL_CALLS_PER_S: Mapping[CallKind, float] = MappingProxyType(
    {
        CallKind.RECOMMEND: 300.0,
        CallKind.HEARTBEAT: 600.0,
        CallKind.UPLOAD: 200.0,
        CallKind.QUERY: 10.0,
        CallKind.PAGE: 100.0,
        CallKind.OTHER: 100.0,
    }
)
"""Rates of each key. An organisation may have one key for all its agents: 1,000 of them send 200 heartbeats a second,
and start and end as many transfers at most as their ticks allow; the limits are three times that."""

KEYS_AT_ONCE = 4
"""All keys of a tenant together may call this many times as often as one. A tenant creates any number of keys and sets
the rate of each: what it takes from other tenants must not depend on either."""

OFF = "off"


class CallLimits(NamedTuple):
    """Calls a second by kind; a kind that is missing is not limited.

    Attributes
    ----------
    of_key : for a key whose factor is 1.
    of_tenant : for all keys of a tenant together, whatever their factors.
    """

    of_key: Mapping[CallKind, float]
    of_tenant: Mapping[CallKind, float]

    @classmethod
    def usual(cls, of_key: Mapping[CallKind, float] = USUAL_CALLS_PER_S) -> Self:
        """Return limits of keys, and limits of tenants that follow from them.

        Both are plain dictionaries: limits are sent to other processes, and a read-only view cannot be pickled.
        """
        return cls(dict(of_key), {kind: per_s * KEYS_AT_ONCE for kind, per_s in of_key.items()})


def parse_call_rates(text: str, usual: Mapping[CallKind, float] = USUAL_CALLS_PER_S) -> Mapping[CallKind, float]:
    """Parse calls a second by kind, as an operator writes them: ``query=5 heartbeat=off``, or ``off`` for all.

    ``usual`` : rates of the kinds that are not named.

    Raises
    ------
    ValueError : a kind is unknown, or a rate is no number above 0.
    """
    if text == OFF:
        return {}
    rates, unnamed = dict(usual), set(CallKind)
    for word in text.split():
        name, _, number = word.partition("=")
        if name not in unnamed:
            raise ValueError(
                f"must be {OFF}, or KIND=NUMBER separated by blanks; each KIND once, of {', '.join(CallKind)}"
            )
        kind = CallKind(name)
        unnamed.remove(kind)
        if number == OFF:
            rates.pop(kind, None)
            continue
        try:
            rates[kind] = float(number)
        except ValueError:
            rates[kind] = math.nan
        if not 0 < rates[kind] < math.inf:
            raise ValueError(f"{name} must be a number of calls a second above 0, or {OFF}")
    return rates


class TakenCalls(NamedTuple):
    """Calls taken from one bucket since the last report; it fills with ``per_s`` up to ``burst``.

    ``holder_id`` : id of the key, customer or tenant.
    """

    holder_id: UUID
    kind: CallKind
    calls: int
    per_s: float
    burst: float


class SharedLevels(Protocol):
    """The levels of buckets of all processes; a port because `services.queue` implements it."""

    async def take(self, taken: Sequence[TakenCalls]) -> Sequence[float]:
        """Take calls from buckets that all processes share; return the level of each, below zero if overdrawn.

        Raises
        ------
        Unavailable : the store does not answer; calls may or may not be taken.
        """


LimitKind = Literal["key", "customer", "tenant"]
"""Whose bucket was empty."""


class RefusedCalls(NamedTuple):
    """Calls that were refused since the last report."""

    tenant_id: UUID
    key_id: UUID
    kind: CallKind
    limit: LimitKind
    calls: int


_HOLDERS: Mapping[LimitKind, str] = MappingProxyType(
    {
        "key": "this key",
        "customer": "all keys of this customer together",
        "tenant": "all keys of this tenant together",
    }
)


_HOLDERS_OF_PAGES: Mapping[LimitKind, str] = MappingProxyType(
    {**_HOLDERS, "key": "one user", "tenant": "all users of this tenant together"}
)


class _Bucket:
    """The bucket of one key, customer or tenant and one kind, in this process."""

    __slots__ = ("at_s", "burst", "level", "per_s", "taken")

    def __init__(self, per_s: float, at_s: float) -> None:
        self.per_s = per_s
        self.burst = max(per_s * BURST_S, 1.0)
        self.level = self.burst
        self.at_s = at_s
        self.taken = 0

    def fill(self, at_s: float) -> None:
        self.level = min(self.burst, self.level + (at_s - self.at_s) * self.per_s)
        self.at_s = at_s

    def take(self) -> None:
        self.level -= 1.0
        self.taken += 1

    @property
    def empty_for_s(self) -> float:
        return (1.0 - self.level) / self.per_s


class RateLimits:
    """The rate limits of one process.

    Parameters
    ----------
    limits : of keys and of tenants.
    levels : the levels that all processes share.
    monotonic : returns seconds of a clock that never goes back.
    on_refused : called once a second with the refused calls.
    on_failed : called with an error other than an unreachable store.
    """

    def __init__(
        self,
        limits: CallLimits,
        levels: SharedLevels,
        monotonic: Callable[[], float],
        on_refused: Callable[[RefusedCalls], None],
        on_failed: Callable[[Exception], None],
    ) -> None:
        self._limits = limits
        self._levels = levels
        self._monotonic = monotonic
        self._on_refused = on_refused
        self._on_failed = on_failed
        self._buckets: dict[tuple[UUID, CallKind], _Bucket] = {}
        self._refused: Counter[tuple[UUID, UUID, CallKind, LimitKind]] = Counter()

    def permits(self, principal: Principal, kind: CallKind) -> bool:
        """Take a call from the buckets of the key, its customer and its tenant, if each has one; return whether."""
        of_key, of_tenant = self._of_key(principal, kind), self._of_tenant(principal, kind)
        if (of_key is not None and of_key.level < 1.0) or (of_tenant is not None and of_tenant.level < 1.0):
            return False
        of_customer = None if principal.customer_rate_factor is None else self._of_customer(principal, kind)
        if of_customer is not None:
            if of_customer.level < 1.0:
                return False
            of_customer.take()
        if of_key is not None:
            of_key.take()
        if of_tenant is not None:
            of_tenant.take()
        return True

    def require(self, principal: Principal, kind: CallKind) -> None:
        """Take a call from the buckets of the key, its customer and its tenant.

        Raises
        ------
        TooOften : one of them has none left; the refusal is counted.
        """
        if self.permits(principal, kind):
            return
        buckets: dict[LimitKind, _Bucket | None] = {
            "key": self._of_key(principal, kind),
            "customer": self._of_customer(principal, kind),
            "tenant": self._of_tenant(principal, kind),
        }
        limited = [(each.empty_for_s, name, each) for name, each in buckets.items() if each is not None]
        _, limit, empty = max(limited, key=lambda each: each[0])
        self._refused[principal.tenant_id, principal.key_id, kind, limit] += 1
        raise TooOften(
            kind,
            whose=(_HOLDERS_OF_PAGES if kind is CallKind.PAGE else _HOLDERS)[limit],
            calls=int(empty.burst),
            window_s=math.ceil(empty.burst / empty.per_s),
            retry_after_s=math.ceil(empty.empty_for_s),
        )

    async def follow(self, *, every_s: float = EVERY_S) -> None:
        """Share the calls taken until cancelled; while the store is unreachable each process counts alone."""
        while True:
            await asyncio.sleep(every_s)
            try:
                await self.share()
            except Unavailable:
                continue
            except Exception as error:  # noqa: BLE001  # one failure must not end the loop
                self._on_failed(error)

    async def share(self) -> None:
        """Report calls taken and refused since the last time, and take over the levels left by all processes.

        Raises
        ------
        Unavailable : the store does not answer. Unreported calls are forgotten: after an outage of an hour they must
            not be charged all at once.
        """
        self._report_refused()
        self._remove_full()
        used = [(name, bucket) for name, bucket in self._buckets.items() if bucket.taken]
        taken = [TakenCalls(*name, bucket.taken, bucket.per_s, bucket.burst) for name, bucket in used]
        for _, bucket in used:
            bucket.taken = 0
        for first in range(0, len(used), BUCKETS_AT_ONCE):
            part = slice(first, first + BUCKETS_AT_ONCE)
            levels = await self._levels.take(taken[part])
            for (_, bucket), level in zip(used[part], levels, strict=True):
                bucket.level = level - bucket.taken  # calls taken during the request
                bucket.at_s = self._monotonic()

    def _of_key(self, principal: Principal, kind: CallKind) -> _Bucket | None:
        per_s = self._limits.of_key.get(kind)
        return None if per_s is None else self._fill_bucket(principal.key_id, kind, per_s * principal.rate_factor)

    def _of_customer(self, principal: Principal, kind: CallKind) -> _Bucket | None:
        per_s, factor = self._limits.of_key.get(kind), principal.customer_rate_factor
        if per_s is None or factor is None or principal.customer_id is None:
            return None
        return self._fill_bucket(principal.customer_id, kind, per_s * factor)

    def _of_tenant(self, principal: Principal, kind: CallKind) -> _Bucket | None:
        per_s = self._limits.of_tenant.get(kind)
        return None if per_s is None else self._fill_bucket(principal.tenant_id, kind, per_s)

    def _fill_bucket(self, holder_id: UUID, kind: CallKind, per_s: float) -> _Bucket:
        now_s = self._monotonic()
        bucket = self._buckets.get((holder_id, kind))
        if bucket is None or bucket.per_s != per_s:
            made = _Bucket(per_s, now_s)
            if bucket is not None:  # the factor was changed
                made.level, made.taken = min(made.burst, bucket.level), bucket.taken
            self._buckets[holder_id, kind] = bucket = made
        bucket.fill(now_s)
        return bucket

    def _report_refused(self) -> None:
        refused, self._refused = self._refused, Counter()
        for (tenant_id, key_id, kind, limit), calls in refused.items():
            self._on_refused(RefusedCalls(tenant_id, key_id, kind, limit, calls))

    def _remove_full(self) -> None:
        """Remove full buckets: their keys and tenants have not called for a while."""
        now_s = self._monotonic()
        for name, bucket in list(self._buckets.items()):
            bucket.fill(now_s)
            if bucket.level >= bucket.burst and not bucket.taken:
                del self._buckets[name]
