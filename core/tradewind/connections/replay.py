"""A page's requests to one server, played again by the round model under another plan.

Requests leave when they did; what is compared is how long the page then waits for this server. What a browser would
ask for earlier because it had something else sooner is not played: gains are on the careful side.
"""

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass

from tradewind.connections.intervals import covered_s
from tradewind.connections.page_load import Interval
from tradewind.connections.rounds import Sender, Window, send
from tradewind.path import Path
from tradewind.units import BITS_PER_BYTE

HANDSHAKE_ROUNDS = 1
"""Of TCP, before the request can leave."""

TLS_ROUNDS = 1
"""Of TLS 1.3 (RFC 8446)."""

LEAST_TIMEOUT_S = 0.2
"""Of retransmission in Linux; a connection that rests for longer begins with the initial window again."""


@dataclass(frozen=True, slots=True)
class Request:
    """``released_s`` : when the page asked for it; ``size_bytes`` : of the answer."""

    released_s: float
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
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


def waiting_s(requests: Sequence[Request], plan: Plan, path: Path) -> float:
    """How long the page waits for the server: |∪ [request, last byte]|, s; the round trip of the path must be known."""
    ordered = sorted(requests, key=lambda each: each.released_s)
    spans = _multiplexed(ordered, plan, path) if plan.multiplexed else _in_turns(ordered, plan, path)
    return covered_s(spans)


@dataclass(slots=True)
class _Line:
    """A connection of HTTP/1.1: free from then on, with its window; None: it must be opened."""

    free_s: float
    window: Window | None


def _in_turns(requests: Sequence[Request], plan: Plan, path: Path) -> list[Interval]:
    """One object at a time and connection; an object takes the connection idle last, else a new one, else it waits.

    Connections that are busy when an object begins share the path's rate with it evenly.
    """
    rtt_s, lines, spans = path.rtt_s or 0.0, list[_Line](), list[Interval]()
    ends: list[float] = []  # of what is under way, as a heap
    for request in requests:
        line = _line_for(request.released_s, lines, plan)
        begin_s = max(request.released_s, line.free_s)
        while ends and ends[0] <= begin_s:
            heapq.heappop(ends)
        window = line.window if plan.keep_alive else None
        if window is not None and begin_s - line.free_s > max(LEAST_TIMEOUT_S, 2 * rtt_s):
            window = window.at_rest(plan.sender)
        setup_s = plan.setup_rounds * rtt_s if window is None else 0.0
        share = path if path.bandwidth_bps is None else path.at_most(max(path.bandwidth_bps / (len(ends) + 1), 1.0))
        sent = send(request.size_bytes, plan.sender, share, window)
        line.free_s, line.window = begin_s + setup_s + sent.duration_s, sent.window
        heapq.heappush(ends, line.free_s)
        spans.append((request.released_s, line.free_s))
    return spans


def _line_for(released_s: float, lines: list[_Line], plan: Plan) -> _Line:
    idle = [line for line in lines if line.free_s <= released_s]
    if idle:
        return max(idle, key=lambda line: line.free_s)
    if len(lines) < plan.connections:
        lines.append(_Line(-math.inf, None))
        return lines[-1]
    return min(lines, key=lambda line: line.free_s)


def _multiplexed(requests: Sequence[Request], plan: Plan, path: Path) -> list[Interval]:
    """All objects over one connection, in flights of its window; what was asked for earlier goes first."""
    rtt_s, rate_bps = path.rtt_s or 0.0, path.bandwidth_bps or math.inf
    window, now_s, rested_s = Window.of(plan.sender), -math.inf, math.inf
    spans: list[Interval] = []
    outstanding: list[tuple[float, float]] = []  # of each request its release and the bytes still to come
    following = 0
    while outstanding or following < len(requests):
        if not outstanding:
            released_s = requests[following].released_s
            if not spans:
                released_s += plan.setup_rounds * rtt_s
            now_s = max(now_s, released_s)
            if now_s - rested_s > max(LEAST_TIMEOUT_S, 2 * rtt_s):
                window = window.at_rest(plan.sender)
        while following < len(requests) and requests[following].released_s <= now_s:
            outstanding.append((requests[following].released_s, float(requests[following].size_bytes)))
            following += 1
        flight, left = 0.0, list[tuple[float, float]]()
        for released_s, size in outstanding:
            part = min(size, window.window_bytes - flight)
            flight += part
            if part < size:
                left.append((released_s, size - part))
            else:
                spans.append((released_s, now_s + rtt_s + BITS_PER_BYTE * flight / rate_bps))
        full = flight >= window.window_bytes
        window, outstanding = window.sending(flight, plan.sender), left
        rested_s = now_s + rtt_s + BITS_PER_BYTE * flight / rate_bps
        now_s += max(rtt_s if full else 0.0, BITS_PER_BYTE * flight / rate_bps)
    return spans
