"""Caps of endpoints that agents have learned from servers which refused more connections."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from services.application.shared.jobs import LimitsChanged
from services.application.shared.ports import Clock
from services.application.shared.unit_of_work import UnitOfWork
from tradewind.errors import InvalidValue
from tradewind.wire.limits import LearnedLimit, WireLimit

MAX_AGE = timedelta(days=1)
"""Lifetime of a learned cap: it may have been a bad hour of the server. Agents keep their own as long."""

MOST_LEARNED_OF_KEY = 1_000
"""Most endpoints for which a key learns a cap in that time: each process has all of them in memory."""

MAX_CLOCK_LEAD = timedelta(minutes=5)
"""By how much the clock of an agent may be ahead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedCap:
    """The streams that the server of an endpoint permitted the agents of one key, when it refused more.

    ``customer`` : of the key: the ID of its customer, or its name, since keys without a customer that have one name
    replace each other.
    """

    endpoint: str
    key_id: UUID
    customer: UUID | str
    streams: int
    refused_at: datetime


class LearnedCaps:
    """All learned caps of a tenant.

    A key's own report binds its own transfers. It binds those of other keys once another customer's key has reported
    as little, so that no customer slows down another.
    """

    def __init__(self, caps: Iterable[LearnedCap] = ()) -> None:
        self._by_endpoint: dict[str, list[LearnedCap]] = defaultdict(list)
        for cap in caps:
            self._by_endpoint[cap.endpoint].append(cap)

    def find_streams(self, ends: Iterable[str], key_id: UUID | None) -> int | None:
        """Return the streams that a transfer of a key between ``ends`` may have; ``None`` where nothing is known."""
        found = [cap.streams for end in ends for cap in self._list_binding(end, key_id)]
        return min(found, default=None)

    def list_visible(self, key_id: UUID | None) -> Sequence[LearnedCap]:
        """Return the lowest cap of each endpoint by its name: of those that bind a key, or of all where it is none."""
        lowest = []
        for endpoint in sorted(self._by_endpoint):
            caps = self._by_endpoint[endpoint] if key_id is None else self._list_binding(endpoint, key_id)
            if caps:
                lowest.append(min(caps, key=lambda cap: cap.streams))
        return lowest

    def _list_binding(self, endpoint: str, key_id: UUID | None) -> Sequence[LearnedCap]:
        """Return what binds a key: its own report, and the lowest one that another customer's confirms."""
        caps = sorted(self._by_endpoint.get(endpoint, ()), key=lambda cap: cap.streams)
        confirmed = [cap for cap in caps if cap.customer != caps[0].customer]
        return [*confirmed[:1], *(cap for cap in caps if cap.key_id == key_id)]


NOTHING_LEARNED = LearnedCaps()


def note_learned_limit(learned: LearnedLimit, key_id: UUID, *, uow: UnitOfWork, clock: Clock) -> None:
    """Store what a server permitted the agents of a key, and notify every process.

    Raises
    ------
    InvalidValue : the refusal is too long ago, or in the future.
    """
    now = clock.now()
    if not now - MAX_AGE < learned.refused_at <= now + MAX_CLOCK_LEAD:
        raise InvalidValue("refused_at", "must be within the last day")
    uow.limits.put_learned(learned.endpoint, key_id, streams=learned.streams, refused_at=min(learned.refused_at, now))
    uow.publish(LimitsChanged(uow.tenant_id))
    uow.commit()


def to_wire(cap: LearnedCap) -> WireLimit:
    """Return a learned cap as the API shows it among the limits."""
    return WireLimit(scope="endpoint", endpoint=cap.endpoint, streams=cap.streams, learned_at=cap.refused_at)
