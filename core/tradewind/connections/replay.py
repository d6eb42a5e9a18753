"""Replay of a page's requests to one server by the round model under another plan.

Every connection sends in flights of its window, as in `rounds`; the flights of all pass the path one after another, at
its rate. Requests leave when they did; what is compared is how long the page then waits for this server. A browser
would request some objects earlier when others arrive sooner; this is not replayed, so gains are conservative.
"""

import heapq
import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count

from tradewind.connections.intervals import compute_covered_s
from tradewind.connections.page_load import Interval
from tradewind.connections.rounds import Sender, Window
from tradewind.path import Path
from tradewind.units import BITS_PER_BYTE

HANDSHAKE_ROUNDS = 1
"""Round trips of TCP's handshake, before the request can leave."""

TLS_ROUNDS = 1
"""Round trips of TLS 1.3 (RFC 8446)."""

MIN_TIMEOUT_S = 0.2
"""Least retransmission timeout in Linux; a connection idle for longer starts with the initial window again."""

MAX_FLIGHTS = 1000
"""Flights of all objects of a server, in addition to one each: on a path that holds few bytes, flights get longer."""


@dataclass(frozen=True, slots=True)
class ReplayedRequest:
    """``released_s`` : when the page asked for it; ``size_bytes`` : of the answer."""

    released_s: float
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionPlan:
    """How a server's objects are fetched.

    ``connections`` : at most so many at once; HTTP/2 (``multiplexed``) has one. ``quic`` : HTTP/3, whose one handshake
    is that of TLS, too (RFC 9001).
    """

    multiplexed: bool
    connections: int = 1
    keep_alive: bool = True
    encrypted: bool = True
    quic: bool = False
    sender: Sender

    @property
    def setup_rounds(self) -> int:
        return HANDSHAKE_ROUNDS + (TLS_ROUNDS if self.encrypted and not self.quic else 0)


def simulate_waiting_s(requests: Sequence[ReplayedRequest], plan: ConnectionPlan, path: Path) -> float:
    """Return how long the page waits for the server: |∪ [request, last byte]|, s; the path's round trip must be
    known.
    """
    return compute_covered_s(
        _Replay(plan, path, sum(request.size_bytes for request in requests)).simulate_spans(requests)
    )


@dataclass(slots=True)
class _Object:
    """``left_bytes`` : not sent yet."""

    released_s: float
    left_bytes: float


@dataclass(slots=True)
class _Line:
    """A connection and its requested objects.

    ``opened_s`` : when its first request can leave. ``flights``, ``flying_bytes`` : sent and not acknowledged.
    ``quiet_s`` : since when nothing comes. ``taken`` : by an object of HTTP/1.1 that is not there yet.
    """

    window: Window
    opened_s: float
    flights: int = 0
    flying_bytes: float = 0.0
    quiet_s: float = math.inf
    taken: bool = False
    objects: deque[_Object] = field(default_factory=deque)


class _Replay:
    """A simulation of the connections of a plan over one path, event by event."""

    def __init__(self, plan: ConnectionPlan, path: Path, total_bytes: float) -> None:
        self._plan, self._sender = plan, plan.sender
        self._rtt_s, self._rate_bps = path.rtt_s or 0.0, path.bandwidth_bps or math.inf
        # More than fills the path makes nothing faster, and would only keep others from it for longer.
        least_bytes = max(self._sender.initial_window_bytes, total_bytes / MAX_FLIGHTS)
        self._most_bytes = math.inf if path.bdp_bytes is None else max(path.bdp_bytes, least_bytes)
        self._path_free_s = -math.inf
        self._lines: list[_Line] = []
        self._waiting: deque[_Object] = deque()
        self._spans: list[Interval] = []
        self._events: list[tuple[float, int, Callable[[float], None]]] = []
        self._order = count()

    def simulate_spans(self, requests: Sequence[ReplayedRequest]) -> Sequence[Interval]:
        """Return the interval of each object, from its request to its last byte."""
        for request in requests:
            self._schedule(request.released_s, partial(self._request, _Object(request.released_s, request.size_bytes)))
        while self._events:
            now_s, _, happen = heapq.heappop(self._events)
            happen(now_s)
        return self._spans

    def _schedule(self, when_s: float, happen: Callable[[float], None]) -> None:
        heapq.heappush(self._events, (when_s, next(self._order), happen))

    def _request(self, what: _Object, now_s: float) -> None:
        line = self._find_line(now_s)
        if line is None:
            self._waiting.append(what)
            return
        line.objects.append(what)
        line.taken = not self._plan.multiplexed
        self._schedule(max(now_s, line.opened_s), partial(self._send, line))

    def _find_line(self, now_s: float) -> _Line | None:
        """Return the connection for an object; ``None`` where the object has to wait.

        It is the only one, by HTTP/1.1 the one that became idle last, else a new one.
        """
        free = [line for line in self._lines if not line.taken]
        if free and (self._plan.keep_alive or self._plan.multiplexed):
            return max(free, key=lambda line: line.quiet_s)
        for line in free:  # the object before has closed it
            self._lines.remove(line)
        if len(self._lines) == self._plan.connections:
            return None
        self._lines.append(_Line(Window.of(self._sender), now_s + self._plan.setup_rounds * self._rtt_s))
        return self._lines[-1]

    def _send(self, line: _Line, now_s: float) -> None:
        """Send as much as the window permits, in the order of the requests."""
        if not line.flights and now_s - line.quiet_s > max(MIN_TIMEOUT_S, 2 * self._rtt_s):
            line.window = line.window.reset_after_pause(self._sender)
        room = min(line.window.window_bytes - line.flying_bytes, self._most_bytes)
        begin_s, flight = max(now_s, self._path_free_s), 0.0
        arrival_s = begin_s
        while line.objects and (flight < room or not line.objects[0].left_bytes):
            what = line.objects[0]
            part = min(what.left_bytes, room - flight)
            flight += part
            what.left_bytes -= part
            arrival_s = begin_s + BITS_PER_BYTE * flight / self._rate_bps + self._rtt_s
            if what.left_bytes:
                break
            line.objects.popleft()
            self._spans.append((what.released_s, arrival_s))
            self._schedule(arrival_s, partial(self._finish, line))
        if flight:
            self._path_free_s = arrival_s - self._rtt_s
            line.flights += 1
            line.flying_bytes += flight
            line.quiet_s = math.inf
            self._schedule(max(begin_s + self._rtt_s, self._path_free_s), partial(self._acknowledge, line, flight))

    def _acknowledge(self, line: _Line, flight: float, now_s: float) -> None:
        line.flights -= 1
        line.flying_bytes = line.flying_bytes - flight if line.flights else 0.0
        line.window = line.window.acknowledge_flight(flight, self._sender)
        if line.objects:
            self._send(line, now_s)

    def _finish(self, line: _Line, now_s: float) -> None:
        """Return the last byte of an object; by HTTP/1.1 the line is free for the next one then."""
        line.quiet_s = now_s
        if self._plan.multiplexed:
            return
        line.taken = False
        if self._waiting:
            self._request(self._waiting.popleft(), now_s)
