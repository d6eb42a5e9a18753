"""Caps that hold for all live transfers of a tenant, an endpoint or a path together."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, Protocol
from uuid import UUID

from services.application.limits.live_shares import ScopeUsage
from services.application.shared.jobs import LimitsChanged
from services.application.shared.unit_of_work import UnitOfWork
from services.application.transfers.sessions import CapClaim
from tradewind.errors import InvalidValue
from tradewind.parameters import NO_CAPS, Caps
from tradewind.wire.limits import WireLimit

if TYPE_CHECKING:
    from services.application.limits.learned_caps import LearnedCap

NO_USAGE: Mapping[str, ScopeUsage] = MappingProxyType({})


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

    @property
    def place(self) -> str:
        """What it limits, as text."""
        ends = " → ".join(end for end in (self.source, self.destination) if end is not None)
        return f"{self.scope} {ends}".rstrip()

    def claim(self) -> CapClaim:
        """Return the cap under a unique name: names of ends may have colons, but no control characters."""
        return CapClaim(
            "\t".join((self.scope, self.source or "", self.destination or "")), self.concurrency, self.streams
        )

    def compute_remaining_caps(self, others: ScopeUsage | None, weight: float) -> Caps:
        """Return the caps for a new transfer: what is free, or its fair part once the others have shrunk."""
        if others is None:
            return Caps(concurrency=self.concurrency, streams=self.streams)
        part = weight / (others.weight + weight)

        def compute_remaining(cap: int | None, held: int) -> int | None:
            return None if cap is None else max(cap - held, math.floor(cap * part), 1)

        return Caps(
            concurrency=compute_remaining(self.concurrency, others.concurrency),
            streams=compute_remaining(self.streams, others.streams),
        )


class EffectiveCaps(NamedTuple):
    """The caps of one transfer, and the largest number of live transfers that share one of them."""

    caps: Caps
    shared_with: int


class Limits:
    """All limits of a tenant."""

    def __init__(self, limits: Iterable[Limit] = ()) -> None:
        self._by_place = {(limit.scope, limit.source, limit.destination): limit for limit in limits}
        self._claims = {limit: limit.claim() for limit in self._by_place.values()}

    def __bool__(self) -> bool:
        return bool(self._by_place)

    def list_applying(self, source: str, destination: str) -> tuple[Limit, ...]:
        """Return the limits that a transfer falls under."""
        places = [
            (LimitScope.TENANT, None, None),
            (LimitScope.LINK, source, destination),
            *((LimitScope.ENDPOINT, end, None) for end in dict.fromkeys((source, destination))),
        ]
        return tuple(self._by_place[place] for place in places if place in self._by_place)

    @property
    def scopes(self) -> Sequence[str]:
        """Names of limited scopes, as in claims."""
        return [claim.scope for claim in self._claims.values()]

    def compute_permitted(
        self, source: str, destination: str, *, held: Mapping[str, ScopeUsage] = NO_USAGE, weight: float = 1.0
    ) -> EffectiveCaps:
        """Return what one transfer of a weight may use next to the live ones."""
        caps, shared_with = NO_CAPS, 0
        for limit in self.list_applying(source, destination):
            others = held.get(self._claims[limit].scope)
            caps = caps.tighten(limit.compute_remaining_caps(others, weight))
            shared_with = max(shared_with, others.transfers if others else 0)
        return EffectiveCaps(caps, shared_with)

    def list_claims(self, source: str, destination: str) -> tuple[CapClaim, ...]:
        """Return the caps that a live transfer has to claim a share of."""
        return tuple(self._claims[limit] for limit in self.list_applying(source, destination))


NO_LIMITS = Limits()


class LimitRepository(Protocol):
    """Limits of one tenant; a port because the application may not import persistence."""

    def list_all(self) -> Sequence[Limit]: ...
    def put(self, limit: Limit) -> None: ...
    def list_learned(self) -> "Sequence[LearnedCap]": ...
    def put_learned(self, endpoint: str, key_id: UUID, *, streams: int, refused_at: datetime) -> None: ...


def put_limit(limit: Limit, *, uow: UnitOfWork) -> None:
    """Set one limit, and notify every process."""
    uow.limits.put(limit)
    uow.audit.note("limit.set", limit.place, concurrency=limit.concurrency, streams=limit.streams)
    uow.publish(LimitsChanged(uow.tenant_id))
    uow.commit()


def limit_from_wire(wire: WireLimit) -> Limit:
    """Return the limit of a request.

    Raises
    ------
    InvalidValue : it is said to be learned, which only agents report.
    """
    if wire.learned_at is not None:
        raise InvalidValue("learned_at", "is reported by agents; leave it out")
    return Limit(
        scope=LimitScope(wire.scope),
        source=wire.endpoint or wire.source,
        destination=wire.destination,
        concurrency=wire.concurrency,
        streams=wire.streams,
    )


def limit_to_wire(limit: Limit) -> WireLimit:
    """Return the limit as the API shows it."""
    ends = {"endpoint": limit.source} if limit.scope is LimitScope.ENDPOINT else {"source": limit.source}
    return WireLimit(
        scope=limit.scope.value,
        destination=limit.destination,
        concurrency=limit.concurrency,
        streams=limit.streams,
        **ends,
    )
