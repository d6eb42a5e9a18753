"""Which object came over which connection: as the log names it, else as browsers use connections."""

from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from tradewind.connections.page_load import HttpVersion, WebObject


@dataclass(frozen=True, slots=True)
class HarConnection:
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


def assign_connections(objects: Sequence[WebObject]) -> list[HarConnection]:
    """Return the connections of a page's objects, in the order of their first requests.

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
    found = [HarConnection(tuple(group), inferred=False) for group in named.values()]
    for (_, multiplexes), group in nameless.items():
        inferred = _over_one(group) if multiplexes else _in_turns(group)
        found += [HarConnection(tuple(each), inferred=True) for each in inferred]
    return sorted(found, key=lambda each: each.first.started_s)


def _over_one(objects: Sequence[WebObject]) -> list[list[WebObject]]:
    found: list[list[WebObject]] = []
    for each in objects:
        if each.opens or not found:
            found.append([])
        found[-1].append(each)
    return found


def _in_turns(objects: Sequence[WebObject]) -> list[list[WebObject]]:
    openings_told = any(each.opens for each in objects)
    found: list[list[WebObject]] = []
    ends: list[_End] = []
    for each in objects:
        at = None if each.opens else _reused(ends, each.sent_s, openings_told=openings_told)
        if at is None:
            busy_until_s, place = each.sent_s, -len(found)
            found.append([])
        else:
            busy_until_s, place = ends.pop(at)
        found[-place].append(each)
        insort(ends, (max(busy_until_s, each.receive[1] if each.receive else each.sent_s), place))
    return found


_End = tuple[float, int]
"""When a connection will be idle, and its place as a negative: of those idle at once, the first opened is last."""


def _reused(ends: Sequence[_End], sent_s: float, *, openings_told: bool) -> int | None:
    """Return which of ``ends``, in their order, is the connection that an object takes; None for another."""
    if idle := bisect_right(ends, (sent_s, 0)):
        return idle - 1
    return bisect_right(ends, (ends[0][0], 0)) - 1 if ends and openings_told else None
