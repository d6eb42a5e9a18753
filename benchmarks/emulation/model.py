"""Model the path as discrete events without sockets: bytes go in, and come out when they would have arrived.

Events keep the instant they belong to even when they are processed later, so that a busy machine delays deliveries a
little but changes neither windows nor rates.
"""

import random
from dataclasses import replace
from weakref import WeakSet

from benchmarks.emulation.bottleneck import Bottleneck
from benchmarks.emulation.events import EventQueue
from benchmarks.emulation.flow import Ends, Flow, Piece
from benchmarks.emulation.profile import PathProfile
from benchmarks.emulation.window import CongestionWindow
from benchmarks.support.direction import Direction


class OneWay:
    """One direction of the path: its bottleneck, then the propagation."""

    def __init__(self, profile: PathProfile, direction: Direction, events: EventQueue) -> None:
        self.bottleneck = Bottleneck[Piece](
            rate_bps=profile.rate_bps,
            quantum_bytes=profile.chunk_bytes,
            cross_traffic=profile.cross_traffic,
            seed=f"{profile.seed}:{direction}",
        )
        self._rtt_s = profile.rtt_s
        self._events = events
        self._serving = False

    def change(self, *, rate_bps: float, rtt_s: float) -> None:
        self.bottleneck.change_rate(rate_bps)
        self._rtt_s = rtt_s

    def transmit(self, piece: Piece, now_s: float) -> None:
        self.bottleneck.enqueue(piece.flow.number, piece)
        if not self._serving:
            self._serving = True
            self._serve(now_s)

    def _serve(self, now_s: float) -> None:
        if self.bottleneck.is_idle:
            self._serving = False
            return
        piece, left_s = self.bottleneck.serve(now_s)
        flow = piece.flow
        # A lost piece is sent again a round trip later, and later pieces wait for it: TCP delivers in order.
        arrives_s = left_s + self._rtt_s / 2 + (self._rtt_s if piece.lost else 0.0)
        flow.last_arrival_s = max(arrives_s, flow.last_arrival_s)
        self._events.schedule(flow.last_arrival_s, lambda _: flow.ends.arrive(piece.data))
        self._events.schedule(left_s + self._rtt_s, lambda at_s: flow.acknowledge(piece, at_s))
        self._events.schedule(left_s, self._serve)


class PathModel:
    """Both directions of a path that any number of connections share."""

    def __init__(self, profile: PathProfile) -> None:
        self.profile = profile
        self.events = EventQueue()
        self.connections = 0
        self.ways = {direction: OneWay(profile, direction, self.events) for direction in Direction}
        self._windows: WeakSet[CongestionWindow] = WeakSet()

    def change(self, profile: PathProfile) -> None:
        """Change rate, round trip and loss from now on, also for open connections; all else stays."""
        self.profile = replace(
            self.profile, rate_bps=profile.rate_bps, rtt_s=profile.rtt_s, loss_rate=profile.loss_rate
        )
        for way in self.ways.values():
            way.change(rate_bps=profile.rate_bps, rtt_s=profile.rtt_s)
        for window in self._windows:
            window.change(rtt_s=profile.rtt_s, loss_rate=profile.loss_rate)

    def connect(self, now_s: float, up: Ends, down: Ends) -> dict[Direction, Flow]:
        """Open a connection for a client at ``now_s``; its handshake costs a round trip before the first byte.

        The n-th connection meets the same losses in every run with the same seed.
        """
        self.connections += 1
        established_s = now_s + self.profile.rtt_s
        return {
            Direction.UP: self._build_flow(Direction.UP, up, established_s),
            Direction.DOWN: self._build_flow(Direction.DOWN, down, established_s),
        }

    def _build_flow(self, direction: Direction, ends: Ends, ready_s: float) -> Flow:
        profile = self.profile
        window = CongestionWindow(
            limit_bytes=profile.receive_buffer_bytes,
            rtt_s=profile.rtt_s,
            loss_rate=profile.loss_rate,
            random_source=random.Random(f"{profile.seed}:{direction}:{self.connections}"),
        )
        self._windows.add(window)
        return Flow(
            self.connections,
            window,
            ends,
            chunk_bytes=profile.chunk_bytes,
            ready_s=ready_s,
            transmit=self.ways[direction].transmit,
            schedule=self.events.schedule,
        )
