"""Metrics of a page's connections: volumes, reuse, encryption, idle time, effective concurrency.

Symbols of the definitions: L, load of the page; A_i, union of the intervals in which connection i receives objects;
A = ∪ A_i; |·|, total length in seconds.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tradewind.connections.assignment import HarConnection, assign_connections
from tradewind.connections.caching import CacheClass, classify_cache
from tradewind.connections.intervals import clip_intervals, compute_covered_s
from tradewind.connections.page_load import HttpVersion, Interval, LeftOut, PageLoad, WebObject

MOSTLY = 0.9
"""Share of connections above which a page counts as encrypted, or as plain (section 3, Fig. 5)."""


MAX_RTTS = 1_000_000
"""A higher count means a wrong round trip, not a slow object."""


class EncryptionClass(StrEnum):
    """The page types of the paper's Fig. 5."""

    ENCRYPTED = "encrypted"
    PLAIN = "plain"
    MIXED = "mixed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionMetrics:
    """One connection of a page.

    Attributes
    ----------
    opened_s : begin of its first request, s since the begin of the load.
    duration_s : from that to the last byte received over it (Figs 9 and 10); None where no object of it has times.
    receiving_s : |A_i|.
    rtt_s : the first TCP handshake that the log records, else what is known of the path; None if neither.
    first_object_rtts : the bin of its first object (Fig. 11), see `compute_rtt_bin`.
    """

    origin: str
    encrypted: bool
    http_version: HttpVersion
    inferred: bool
    objects: int
    wire_bytes: int
    opened_s: float
    duration_s: float | None
    receiving_s: float
    rtt_s: float | None
    first_object_bytes: int | None
    first_object_rtts: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PageAnalysis:
    """One page.

    Attributes
    ----------
    load_s : L: to the load event, or where the log has none (``load_told`` false) to the last byte, of objects
        without times to their request: at least so long.
    idle_s : `idle_s`; None where no object has times, or none came over the network. ``net_transfer_s`` = L - idle
        (section 4).
    effective_concurrency : `effective_concurrency`; None where nothing has times.
    untimed, unsized : objects without a time of receiving, or a size, in the log; they count for all else.
    """

    name: str
    started_at: datetime
    load_s: float
    load_told: bool
    idle_s: float | None
    effective_concurrency: float | None
    encryption: EncryptionClass | None
    objects: int
    wire_bytes: int
    untimed: int
    unsized: int
    caches: Mapping[CacheClass, int]
    left_out: Mapping[LeftOut, int]
    connections: Sequence[ConnectionMetrics]

    @property
    def net_transfer_s(self) -> float | None:
        """L - idle (section 4)."""
        return None if self.idle_s is None else self.load_s - self.idle_s

    @property
    def idle_share(self) -> float | None:
        """Idle time over L (Fig. 7); None for a load of no length."""
        return None if self.idle_s is None or self.load_s <= 0 else self.idle_s / self.load_s

    @property
    def reused(self) -> int:
        """Objects that came over a connection that another had used before."""
        return self.objects - len(self.connections)

    @property
    def rtt_s(self) -> float | None:
        """Return the least round trip of its connections: the path without queues."""
        return min((connection.rtt_s for connection in self.connections if connection.rtt_s is not None), default=None)


def analyse(load: PageLoad, *, rtt_s: float | None = None, proxy: str | None = None) -> PageAnalysis:
    """Return the metrics of a page.

    Parameters
    ----------
    rtt_s : round trip of the path, s, for connections whose handshake the log does not tell.
    proxy : name of one's own cache, see `classify_cache`.
    """
    connections = assign_connections(load.objects)
    received = [item.receive for item in load.objects if item.receive is not None]
    load_s = load.load_s if load.load_s is not None else _find_last_s(load.objects)
    return PageAnalysis(
        name=load.name,
        started_at=load.started_at,
        load_s=load_s,
        load_told=load.load_s is not None,
        idle_s=compute_idle_s(load_s, received) if received else None,
        effective_concurrency=compute_effective_concurrency([_list_received(connection) for connection in connections]),
        encryption=classify_encryption(sum(connection.encrypted for connection in connections), len(connections)),
        objects=len(load.objects),
        wire_bytes=sum(item.wire_bytes or 0 for item in load.objects),
        untimed=sum(item.receive is None for item in load.objects),
        unsized=sum(item.wire_bytes is None for item in load.objects),
        caches=Counter(classify_cache(item.x_cache, proxy) for item in load.objects),
        left_out=load.left_out,
        connections=[_measure_connection(connection, rtt_s) for connection in connections],
    )


def _find_last_s(objects: Iterable[WebObject]) -> float:
    """Return the time of the last known event, s since the begin of the load."""
    known_s = (item.started_s if item.receive is None else item.receive[1] for item in objects)
    return max(max(known_s, default=0.0), 0.0)


def compute_idle_s(load_s: float, received: Sequence[Interval]) -> float:
    """Return the time of a load in which nothing is received: L - |A ∩ [0, L]| (section 4).

    Parameters
    ----------
    load_s : L, s.
    received : intervals in which objects were received, s since the begin of the load.
    """
    return load_s - compute_covered_s(clip_intervals(received, load_s))


def compute_effective_concurrency(received: Sequence[Sequence[Interval]]) -> float | None:
    """Return how many connections receive at once while any does: Σ |A_i| / |A| (section 4, Fig. 8).

    The paper prints no formula; this is its "cumulative duration" of active connections over the time that is not
    idle: 1.5 if one and a half connections, always busy, had served the page. Objects that share a connection count
    once at a time.

    Parameters
    ----------
    received : of each connection, the intervals in which its objects were received.

    Returns
    -------
    1 or more; None where nothing took any time.
    """
    busy_s = compute_covered_s([interval for connection in received for interval in connection])
    return sum(compute_covered_s(connection) for connection in received) / busy_s if busy_s > 0 else None


def classify_encryption(encrypted: int, connections: int) -> EncryptionClass | None:
    """Classify a page: more than 90 % of the connections encrypted, more than 90 % not, or neither (section 3, Fig.
    5).
    """
    if connections == 0:
        return None
    if encrypted > MOSTLY * connections:
        return EncryptionClass.ENCRYPTED
    return EncryptionClass.PLAIN if connections - encrypted > MOSTLY * connections else EncryptionClass.MIXED


def compute_rtt_bin(receive_s: float, rtt_s: float) -> int:
    """Return the round trip, from 1, in which an object is complete that was received for ``receive_s`` (Fig. 11).

    What comes with the first byte belongs to the first round: a window later than the first takes a round trip more.
    """
    return min(int(receive_s / rtt_s), MAX_RTTS) + 1


def _list_received(connection: HarConnection) -> list[Interval]:
    return [item.receive for item in connection.objects if item.receive is not None]


def _measure_connection(connection: HarConnection, path_rtt_s: float | None) -> ConnectionMetrics:
    received, first = _list_received(connection), connection.first
    rtt_s = connection.handshake_s or path_rtt_s
    opened_s = min(item.started_s for item in connection.objects)
    known = rtt_s is not None and first.receive is not None and first.opens
    return ConnectionMetrics(
        origin=connection.origin,
        encrypted=connection.encrypted,
        http_version=connection.version,
        inferred=connection.inferred,
        objects=len(connection.objects),
        wire_bytes=connection.wire_bytes,
        opened_s=opened_s,
        duration_s=max(end for _, end in received) - opened_s if received else None,
        receiving_s=compute_covered_s(received),
        rtt_s=rtt_s,
        first_object_bytes=first.wire_bytes,
        first_object_rtts=compute_rtt_bin(first.receive[1] - first.receive[0], rtt_s) if known else None,  # type: ignore[index, arg-type]
    )
