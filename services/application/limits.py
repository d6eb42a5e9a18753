"""Caps that hold for all live transfers of a tenant, an endpoint or a path together."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol
from uuid import UUID

from services.application.jobs import Event, LimitsChanged
from services.application.tuning_sessions import Claim
from tradewind.parameters import NO_CAPS, Caps


class LimitScope(StrEnum):
    TENANT = "tenant"
    ENDPOINT = "endpoint"
    LINK = "link"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """Files and streams at once of everything in the scope; ``None`` where not limited.

    An endpoint's limit counts transfers from it and to it. A link's counts those from ``source`` to ``destination``,
    whatever moves them. Names are the endpoints' own.
    """

    scope: LimitScope
    source: str | None = None
    destination: str | None = None
    concurrency: int | None = None
    streams: int | None = None

    def claim(self) -> Claim:
        return Claim(":".join((self.scope, self.source or "", self.destination or "")), self.concurrency, self.streams)


class Limits:
    """All limits of a tenant."""

    def __init__(self, limits: Iterable[Limit] = ()) -> None:
        self._by_place = {(limit.scope, limit.source, limit.destination): limit for limit in limits}

    def __bool__(self) -> bool:
        return bool(self._by_place)

    def holding(self, source: str, destination: str) -> tuple[Limit, ...]:
        """The limits that a transfer falls under."""
        places = [
            (LimitScope.TENANT, None, None),
            (LimitScope.LINK, source, destination),
            *((LimitScope.ENDPOINT, end, None) for end in dict.fromkeys((source, destination))),
        ]
        return tuple(self._by_place[place] for place in places if place in self._by_place)

    def caps(self, source: str, destination: str) -> Caps:
        """What one transfer may use if no other runs."""
        caps = NO_CAPS
        for limit in self.holding(source, destination):
            caps = caps.tightened_by(Caps(concurrency=limit.concurrency, streams=limit.streams))
        return caps

    def claims(self, source: str, destination: str) -> tuple[Claim, ...]:
        """What a live transfer has to claim its share of."""
        return tuple(limit.claim() for limit in self.holding(source, destination))


NO_LIMITS = Limits()


class StoredLimits(Protocol):
    def all(self) -> Sequence[Limit]: ...
    def put(self, limit: Limit) -> None: ...


class LimitUnitOfWork(Protocol):
    """An open transaction of the tenant whose limits are set."""

    @property
    def tenant_id(self) -> UUID: ...
    @property
    def limits(self) -> StoredLimits: ...
    def publish(self, event: Event) -> None: ...
    def commit(self) -> None: ...


def put_limit(limit: Limit, *, uow: LimitUnitOfWork) -> Sequence[Limit]:
    """Set one limit, tell every process, and give all that stand now."""
    uow.limits.put(limit)
    stand = uow.limits.all()
    uow.publish(LimitsChanged(uow.tenant_id))
    uow.commit()
    return stand
