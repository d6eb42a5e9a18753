"""Changes that make a page wait less for its servers, each with the gain that the round model expects."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from tradewind.connections.analysis import PageAnalysis
from tradewind.connections.assignment import HarConnection, assign_connections
from tradewind.connections.page_load import HttpVersion, PageLoad
from tradewind.connections.replay import ConnectionPlan, ReplayedRequest, simulate_waiting_s
from tradewind.connections.rounds import FLD_TCP, FLD_THRESHOLD_BYTES, Sender, count_rounds, send
from tradewind.path import Path
from tradewind.units import format_count

MAX_CONNECTIONS = 6
"""Connections of browsers to one server by HTTP/1.1 (section 1 says 6 to 8)."""

WINDOWS_SEGMENTS = (16, 24, 32, 48, 64)
"""Initial windows that are tried beyond the current one; none exceeds the path's bandwidth-delay product."""

ENOUGH = 0.9
"""Share of the largest gain by an initial window: the smallest window that reaches it is proposed."""

MIN_GAIN = 0.01
"""Share of the time waited for a server, below which no advice is given."""

MAX_SHORT_FLOWS = 200
"""Short flows that are listed; further ones are only counted."""
MAX_ORIGINS = 20
"""Servers of one page that are analysed."""

MAX_SERVERS = 100
"""Servers of all pages of a log that are analysed, counted for each page. Each is replayed some 15 times."""

MAX_REQUESTS = 1_000
"""Requests of one server that are replayed; the first ones stand for all."""


class AdviceKind(StrEnum):
    KEEP_ALIVE = "keep_alive"
    HTTP_1 = "http_1"
    HTTP_2 = "http_2"
    CONNECTIONS_PER_HOST = "connections_per_host"
    INITIAL_WINDOW = "initial_window"
    FLD_TCP = "fld_tcp"


@dataclass(frozen=True, slots=True, kw_only=True)
class PageAdvice:
    """One change at one server.

    Attributes
    ----------
    proposed : connections or segments, where the kind names a number; else None.
    waiting_s : for how long the page waits for this server as it is, by the model.
    saved_s : how much shorter that would be; gains of several pieces do not add up.
    saved_rtts : the same in round trips of the path.
    """

    kind: AdviceKind
    origin: str
    text: str
    proposed: int | None
    waiting_s: float
    saved_s: float
    saved_rtts: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortFlow:
    """A short connection as one flow from its first byte to its last, by the round model.

    ``connection`` : its place among the page's, from 0. ``rounds`` : that it takes as it is. ``saved_s``,
    ``saved_rtts`` : by FLD_TCP; None where no round trip is known.
    """

    connection: int
    wire_bytes: int
    rounds: int
    saved_s: float | None
    saved_rtts: float | None


@dataclass(frozen=True, slots=True)
class FlowLengths:
    """Count connections by their length (section 2.1, Fig. 3), and define which are short.

    ``first_window`` : no more than an initial window: nothing is faster than one round. ``short`` : below 2 MB, where
    FLD_TCP is ahead of others. ``long`` : all else. ``short_flows`` : the largest of the short ones.
    """

    first_window: int
    short: int
    long: int
    short_flows: Sequence[ShortFlow] = ()


def classify_flow_lengths(analysis: PageAnalysis, path: Path, sender: Sender) -> FlowLengths:
    """Count the page's connections by length, and estimate what FLD_TCP would save on the short ones."""
    sizes = [connection.wire_bytes for connection in analysis.connections]
    in_window = sum(size <= sender.initial_window_bytes for size in sizes)
    short = [place for place, size in enumerate(sizes) if sender.initial_window_bytes < size <= FLD_THRESHOLD_BYTES]
    largest = sorted(short, key=lambda place: -sizes[place])[:MAX_SHORT_FLOWS]
    flows = [_build_short_flow(analysis, place, path, sender) for place in sorted(largest)]
    return FlowLengths(in_window, len(short), len(sizes) - in_window - len(short), flows)


def _build_short_flow(analysis: PageAnalysis, place: int, path: Path, sender: Sender) -> ShortFlow:
    size_bytes = analysis.connections[place].wire_bytes
    rtt_s = path.rtt_s or analysis.connections[place].rtt_s or analysis.rtt_s
    saved_s = None
    if rtt_s and analysis.connections[place].http_version is not HttpVersion.HTTP_3:
        known, tripling = replace(path, rtt_s=rtt_s), replace(sender, growth=FLD_TCP)
        doubled_s, tripled_s = (send(size_bytes, each, known).duration_s for each in (sender, tripling))
        saved_s = 0.0 if math.isclose(doubled_s, tripled_s, rel_tol=1e-9) else doubled_s - tripled_s
    return ShortFlow(
        connection=place, wire_bytes=size_bytes, rounds=count_rounds(size_bytes, sender), saved_s=saved_s,
        saved_rtts=None if saved_s is None or not rtt_s else saved_s / rtt_s,
    )  # fmt: skip


def advise(loads: Sequence[PageLoad], path: Path, sender: Sender) -> list[list[PageAdvice]]:
    """Return the changes proposed for the servers of each page, largest gain first; none where no round trip is known.

    Only the servers with most bytes are analysed: `MAX_ORIGINS` of a page, `MAX_SERVERS` of all.

    Parameters
    ----------
    loads : the pages of a log.
    path : what is known of it; a round trip of its own is used for every server, else each server's handshakes tell it.
        A rate that is not known does not limit.
    sender : how the servers begin now.
    """
    pages = [assign_connections(load.objects) for load in loads]
    servers = [(place, server) for place, page in enumerate(pages) for server in _list_largest_servers(page)]
    found: list[list[PageAdvice]] = [[] for _ in loads]
    for place, server in sorted(servers, key=lambda each: -_compute_wire_bytes(each[1]))[:MAX_SERVERS]:
        rtt_s = path.rtt_s or _compute_handshake_s(server) or _compute_handshake_s(pages[place])
        if rtt_s is not None:
            found[place] += _advise_server(server, replace(path, rtt_s=rtt_s), sender)
    return [sorted(page, key=lambda each: -each.saved_s) for page in found]


def _list_largest_servers(connections: Sequence[HarConnection]) -> list[list[HarConnection]]:
    """Return the connections of each of a page's servers, those with most bytes first."""
    by_origin: dict[str, list[HarConnection]] = defaultdict(list)
    for connection in connections:
        by_origin[connection.origin].append(connection)
    return sorted(by_origin.values(), key=_compute_wire_bytes, reverse=True)[:MAX_ORIGINS]


def _compute_wire_bytes(connections: Sequence[HarConnection]) -> int:
    return sum(connection.wire_bytes for connection in connections)


def _compute_handshake_s(connections: Sequence[HarConnection]) -> float | None:
    return min(
        (connection.handshake_s for connection in connections if connection.handshake_s is not None), default=None
    )


def _advise_server(connections: Sequence[HarConnection], path: Path, sender: Sender) -> Iterator[PageAdvice]:
    every = [
        ReplayedRequest(item.started_s, item.wire_bytes or 0)
        for connection in connections
        for item in connection.objects
    ]
    requests = sorted(every, key=lambda each: each.released_s)[:MAX_REQUESTS]
    usual = _select_usual(connections)
    now = _derive_plan(usual, sender)
    waited_s = simulate_waiting_s(requests, now, path)
    if waited_s <= 0:
        return
    rtt_s = path.rtt_s
    assert rtt_s is not None
    least_s = max(MIN_GAIN * waited_s, MIN_GAIN * rtt_s)

    def compute_saved_s(plan: ConnectionPlan) -> float:
        return waited_s - simulate_waiting_s(requests, plan, path)

    for kind, text, proposed, gain_s in _try_changes(now, len(usual), path, compute_saved_s):
        if gain_s >= least_s:
            yield PageAdvice(
                kind=kind, origin=connections[0].origin, text=text, proposed=proposed, waiting_s=waited_s,
                saved_s=gain_s, saved_rtts=gain_s / rtt_s,
            )  # fmt: skip


def _select_usual(connections: Sequence[HarConnection]) -> list[HarConnection]:
    """Return the connections of the version that carried most objects: a browser may discover HTTP/2 by HTTP/1.1."""
    objects = Counter[bool]()
    for connection in connections:
        objects[connection.version.multiplexes] += len(connection.objects)
    ((multiplexes, _),) = objects.most_common(1)
    return [connection for connection in connections if connection.version.multiplexes == multiplexes]


def _derive_plan(connections: Sequence[HarConnection], sender: Sender) -> ConnectionPlan:
    """Return how a server's objects were fetched over connections of one version."""
    objects = sum(len(connection.objects) for connection in connections)
    return ConnectionPlan(
        multiplexed=connections[0].version.multiplexes,
        connections=min(len(connections), MAX_CONNECTIONS),
        keep_alive=len(connections) < objects or not _has_needless_connections(connections),
        encrypted=connections[0].encrypted,
        quic=all(connection.version is HttpVersion.HTTP_3 for connection in connections),
        sender=sender,
    )


def _has_needless_connections(connections: Sequence[HarConnection]) -> bool:
    """Return whether one was opened when another was idle; those that were all needed at once tell nothing of keeping
    them.
    """
    ended_s = [max((item.receive[1] for item in one.objects if item.receive), default=math.inf) for one in connections]
    opened_s = [one.first.sent_s - 2 * (one.first.handshake_s or 0.0) for one in connections]  # TLS takes as long, too
    return min(ended_s) <= max(opened_s)


_Trial = tuple[AdviceKind, str, int | None, float]


def _try_changes(
    now: ConnectionPlan, used: int, path: Path, saved_s: Callable[[ConnectionPlan], float]
) -> Iterator[_Trial]:
    yield from _try_http_2_changes(now, saved_s) if now.multiplexed else _try_http_1_changes(now, used, saved_s)
    if not now.quic:  # whose windows are the server program's, not the kernel's
        yield from _try_windows(now, path, saved_s)


def _try_http_1_changes(now: ConnectionPlan, used: int, saved_s: Callable[[ConnectionPlan], float]) -> Iterator[_Trial]:
    """Yield the changes to a server that is reached by HTTP/1, with what each saves.

    ``used`` : connections of the page to the server; the plan has no more of them than browsers open at once.
    """
    if not now.keep_alive:
        text = "Keep connections open: each object opened one of its own."
        yield AdviceKind.KEEP_ALIVE, text, None, saved_s(replace(now, keep_alive=True))
    by_http_2 = replace(now, multiplexed=True, connections=1, keep_alive=True, encrypted=True)
    text = "Serve it by HTTP/2: all objects share one connection, its handshakes and its grown window."
    if not now.encrypted:
        text += " Browsers speak it over TLS alone, whose handshake is counted."
    yield AdviceKind.HTTP_2, text, None, saved_s(by_http_2)
    gains = {count: saved_s(replace(now, connections=count)) for count in range(1, MAX_CONNECTIONS + 1)}
    count = _find_fewest(gains)
    text = f"Let browsers have {format_count(count, 'connection')} to it; they used {used}."
    if count != now.connections:
        yield AdviceKind.CONNECTIONS_PER_HOST, text, count, gains[count]


def _try_http_2_changes(now: ConnectionPlan, saved_s: Callable[[ConnectionPlan], float]) -> Iterator[_Trial]:
    """Yield the change back to HTTP/1.1: a window for each connection can outweigh sharing one that has grown."""
    several = replace(now, multiplexed=False, keep_alive=True, quic=False)
    gains = {count: saved_s(replace(several, connections=count)) for count in range(2, MAX_CONNECTIONS + 1)}
    count = _find_fewest(gains)
    text = f"Serve it by HTTP/1.1 over {count} connections; each begins with a window of its own."
    yield AdviceKind.HTTP_1, text, count, gains[count]


def _find_fewest(gains: Mapping[int, float]) -> int:
    """Return the least number that gains as much as any."""
    best = max(gains.values())
    return next(count for count, gain_s in gains.items() if gain_s >= best - MIN_GAIN * max(best, 0.0))


def _try_windows(now: ConnectionPlan, path: Path, saved_s: Callable[[ConnectionPlan], float]) -> Iterator[_Trial]:
    segments, size = now.sender.initial_window_segments, now.sender.segment_bytes
    most = math.inf if path.bdp_bytes is None else path.bdp_bytes / size
    larger = [segments_tried for segments_tried in WINDOWS_SEGMENTS if segments < segments_tried <= most]
    gains = {
        segments_tried: saved_s(replace(now, sender=replace(now.sender, initial_window_segments=segments_tried)))
        for segments_tried in larger
    }
    if (best := max(gains.values(), default=0.0)) > 0:
        chosen = next(each for each, gain_s in gains.items() if gain_s >= ENOUGH * best)
        text = f"Begin with a window of {chosen} segments instead of {segments} (ip route … initcwnd {chosen})."
        yield AdviceKind.INITIAL_WINDOW, text, chosen, gains[chosen]
    if now.sender.growth != FLD_TCP:
        text = "Send by FLD_TCP, which triples the window each round trip where others double it."
        yield AdviceKind.FLD_TCP, text, None, saved_s(replace(now, sender=replace(now.sender, growth=FLD_TCP)))
