"""The connection of each object: as the log names it, else as browsers use connections."""

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
        """Return the origin of its first object; HTTP/2 may serve others of the same server over it."""
        return self.first.origin

    @property
    def encrypted(self) -> bool:
        return self.first.encrypted

    @property
    def version(self) -> HttpVersion:
        return self.first.version

    @property
    def wire_bytes(self) -> int:
        """Return the bytes of its objects as far as they are known."""
        return sum(item.wire_bytes or 0 for item in self.objects)

    @property
    def handshake_s(self) -> float | None:
        """Return the duration of TCP's handshake, one round trip, s; ``None`` where the log has none."""
        return next((item.handshake_s for item in self.objects if item.handshake_s is not None), None)


def assign_connections(objects: Sequence[WebObject]) -> list[HarConnection]:
    """Return the connections of a page's objects, in the order of their first requests.

    Objects without the name of a connection are given to those of their origin: HTTP/2 and 3 use one until another is
    opened. With HTTP/1.1 an object goes to the connection that was idle last; where none is idle it had to wait for
    one, if the log records when connections are opened, else another was opened.
    """
    named: dict[str, list[WebObject]] = defaultdict(list)
    nameless: dict[tuple[str, bool], list[WebObject]] = defaultdict(list)
    for item in sorted(objects, key=lambda each: each.started_s):
        if item.connection_id is not None:
            named[item.connection_id].append(item)
        else:
            nameless[item.origin, item.version.multiplexes].append(item)
    found = [HarConnection(tuple(group), inferred=False) for group in named.values()]
    for (_, multiplexes), group in nameless.items():
        inferred = _assign_multiplexed(group) if multiplexes else _assign_http_1(group)
        found += [HarConnection(tuple(each), inferred=True) for each in inferred]
    return sorted(found, key=lambda each: each.first.started_s)


def _assign_multiplexed(objects: Sequence[WebObject]) -> list[list[WebObject]]:
    found: list[list[WebObject]] = []
    for item in objects:
        if item.opens or not found:
            found.append([])
        found[-1].append(item)
    return found


def _assign_http_1(objects: Sequence[WebObject]) -> list[list[WebObject]]:
    has_openings = any(item.opens for item in objects)
    found: list[list[WebObject]] = []
    ends: list[_End] = []
    for item in objects:
        at = None if item.opens else _find_reused(ends, item.sent_s, has_openings=has_openings)
        if at is None:
            busy_until_s, place = item.sent_s, -len(found)
            found.append([])
        else:
            busy_until_s, place = ends.pop(at)
        found[-place].append(item)
        insort(ends, (max(busy_until_s, item.receive[1] if item.receive else item.sent_s), place))
    return found


_End = tuple[float, int]
"""When a connection will be idle, and its place as a negative: of those idle at once, the first opened is last."""


def _find_reused(ends: Sequence[_End], sent_s: float, *, has_openings: bool) -> int | None:
    """Return which of ``ends``, in their order, is the connection that an object takes; None for another."""
    if idle := bisect_right(ends, (sent_s, 0)):
        return idle - 1
    return bisect_right(ends, (ends[0][0], 0)) - 1 if ends and has_openings else None
