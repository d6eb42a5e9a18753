"""Which object came over which connection: as the log names it, else as browsers use connections."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from tradewind.connections.page_load import HttpVersion, WebObject


@dataclass(frozen=True, slots=True)
class Connection:
    """A connection by its objects, in the order in which they were asked for.

    ``inferred`` : the log does not name it.
    """

    objects: Sequence[WebObject]
    inferred: bool

    @property
    def first(self) -> WebObject:
        return self.objects[0]

    @property
    def origin(self) -> str:
        """Of its first object; HTTP/2 may serve others of the same server over it."""
        return self.first.origin

    @property
    def encrypted(self) -> bool:
        return self.first.encrypted

    @property
    def version(self) -> HttpVersion:
        return self.first.version

    @property
    def wire_bytes(self) -> int:
        """Its volume: the bytes of its objects as far as they are known."""
        return sum(each.wire_bytes or 0 for each in self.objects)

    @property
    def handshake_s(self) -> float | None:
        """Of TCP, which is a round trip; None where the log does not tell."""
        return next((each.handshake_s for each in self.objects if each.handshake_s is not None), None)


def connections_of(objects: Sequence[WebObject]) -> list[Connection]:
    """The connections of a page's objects, in the order of their first requests.

    Objects without the name of a connection are given to those of their origin: HTTP/2 and 3 use one until another is
    opened. With HTTP/1.1 an object goes to the connection that was idle last; where none is idle it had to wait for
    one, if the log tells when connections are opened, else another was opened.
    """
    named: dict[str, list[WebObject]] = defaultdict(list)
    nameless: dict[tuple[str, bool], list[WebObject]] = defaultdict(list)
    for each in sorted(objects, key=lambda each: each.started_s):
        if each.connection_id is not None:
            named[each.connection_id].append(each)
        else:
            nameless[each.origin, each.version.multiplexes].append(each)
    found = [Connection(tuple(group), inferred=False) for group in named.values()]
    for group in nameless.values():
        found += [Connection(tuple(each.objects), inferred=True) for each in _inferred(group)]
    return sorted(found, key=lambda each: each.first.started_s)


@dataclass(slots=True)
class _Open:
    """``busy_until_s`` : end of what it has received, or been asked for."""

    busy_until_s: float
    objects: list[WebObject] = field(default_factory=list)


def _inferred(objects: Sequence[WebObject]) -> list[_Open]:
    openings_told = any(each.opens for each in objects)
    connections: list[_Open] = []
    for each in objects:
        chosen = None if each.opens else _reused(connections, each, openings_told=openings_told)
        if chosen is None:
            connections.append(chosen := _Open(each.sent_s))
        chosen.objects.append(each)
        chosen.busy_until_s = max(chosen.busy_until_s, each.receive[1] if each.receive else each.sent_s)
    return connections


def _reused(connections: Sequence[_Open], asked: WebObject, *, openings_told: bool) -> _Open | None:
    if not connections:
        return None
    if asked.version.multiplexes:
        return connections[-1]
    idle = [each for each in connections if each.busy_until_s <= asked.sent_s]
    if idle:
        return max(idle, key=lambda each: each.busy_until_s)
    return min(connections, key=lambda each: each.busy_until_s) if openings_told else None
