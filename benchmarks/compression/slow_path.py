"""A path of a given rate and round trip on the loopback: real sockets, whose bytes wait between the two ends.

All connections share the rate, a direction each. A connection pays a round trip for its handshake and half of one for
every byte; windows and losses are not emulated.
"""

import math
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from queue import Queue

PIECE_S = 0.004
LEAST_PIECE_BYTES, MOST_PIECE_BYTES = 16 * 1024, 64 * 1024
"""Bytes that are passed on at once: fewer pieces of a fast path leave more of the processors to its ends."""

BUFFER_BYTES = 64 * 1024
"""Buffer of each socket, so that a sender soon notices the path."""

ROUND_TRIP_S = 0.03
"""The round trip across a country."""

LONGEST_BURST_S = 0.02
"""The most that the path catches up with where it was served late."""

LONGEST_GAP_S = 0.002
"""After a longer gap the path was idle, and has nothing to catch up with: else a probe would pass at once."""


class SlowPath:
    """Listens on ``port`` and carries all connections to ``upstream``, each direction at ``bytes_per_s`` in all."""

    def __init__(self, upstream: int, bytes_per_s: float, round_trip_s: float = ROUND_TRIP_S) -> None:
        self._upstream, self._round_trip_s = upstream, round_trip_s
        self._piece_bytes = min(max(int(PIECE_S * bytes_per_s), LEAST_PIECE_BYTES), MOST_PIECE_BYTES)
        self._pieces = 4 + math.ceil(bytes_per_s * round_trip_s / self._piece_bytes)
        self._up, self._down = RateLimiter(bytes_per_s), RateLimiter(bytes_per_s)
        self._listening = socket.socket()
        self._listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
        self._listening.bind(("127.0.0.1", 0))
        self._listening.listen()
        self.port: int = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            client, _ = self._listening.accept()
            server = socket.socket()
            for each in (client, server):
                each.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER_BYTES)
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
            server.connect(("127.0.0.1", self._upstream))
            self._carry(client, server)

    def _carry(self, client: socket.socket, server: socket.socket) -> None:
        opened_s = time.monotonic() + self._round_trip_s
        ends = ConnectionEnds(client, server)
        for limiter, source, sink in ((self._up, client, server), (self._down, server, client)):
            in_flight = InFlight(self._round_trip_s / 2, self._pieces)
            sending = partial(_send, limiter, source, in_flight, opened_s, self._piece_bytes)
            for work in (sending, partial(_deliver, in_flight, sink, ends)):
                threading.Thread(target=work, daemon=True).start()


class ConnectionEnds:
    """The two ends of a connection, closed once both directions are finished."""

    def __init__(self, *sockets: socket.socket) -> None:
        self._sockets = sockets
        self._open = len(sockets)
        self._lock = threading.Lock()

    def finish_one(self) -> None:
        with self._lock:
            self._open -= 1
            if not self._open:
                for each in self._sockets:
                    each.close()

    def drop(self) -> None:
        """Wake the threads that wait for either end, and reset it when it is closed: its peer learns that bytes are
        lost.
        """
        for each in self._sockets:
            with suppress(OSError):
                each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                each.shutdown(socket.SHUT_RDWR)


class RateLimiter:
    """The rate of one direction, which all its connections share."""

    def __init__(self, bytes_per_s: float, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._bytes_per_s, self._clock_s = bytes_per_s, clock_s
        self._free_at_s = clock_s()
        self._lock = threading.Lock()

    def reserve(self, count: int, *, gap_s: float) -> float:
        """Return how long to wait until so many bytes have passed, s; ``gap_s`` : time without a byte before them."""
        late_s = LONGEST_BURST_S if gap_s <= LONGEST_GAP_S else 0.0
        with self._lock:
            now_s = self._clock_s()
            self._free_at_s = max(self._free_at_s, now_s - late_s) + count / self._bytes_per_s
            return self._free_at_s - now_s


class InFlight:
    """The bytes of one direction of a connection that have left one end and not reached the other.

    There are few of them, so that a sender notices its path.
    """

    def __init__(self, one_way_s: float, pieces: int) -> None:
        self._one_way_s = one_way_s
        self._pieces: Queue[tuple[float, bytes]] = Queue(pieces)

    def send(self, data: bytes) -> None:
        self._pieces.put((time.monotonic() + self._one_way_s, data))

    def receive(self) -> bytes:
        """Return the next bytes once they have arrived; none after the last."""
        due_s, data = self._pieces.get()
        if (wait_s := due_s - time.monotonic()) > 0:
            time.sleep(wait_s)
        return data


def _send(limiter: RateLimiter, source: socket.socket, in_flight: InFlight, opened_s: float, piece_bytes: int) -> None:
    """Send pieces at the path's rate, none before the handshake is finished."""
    time.sleep(max(opened_s - time.monotonic(), 0.0))
    with suppress(OSError):
        received_s = -math.inf  # before its first byte a connection was not late
        while data := source.recv(piece_bytes):
            if (wait_s := limiter.reserve(len(data), gap_s=time.monotonic() - received_s)) > 0:
                time.sleep(wait_s)
            in_flight.send(data)
            received_s = time.monotonic()
    in_flight.send(b"")


def _deliver(in_flight: InFlight, sink: socket.socket, ends: ConnectionEnds) -> None:
    is_closed = False
    while data := in_flight.receive():
        if not is_closed:
            try:
                sink.sendall(data)
            except OSError:  # what is still under way is lost
                is_closed = True
                ends.drop()
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)
    ends.finish_one()


@contextmanager
def run_slow_path(upstream: int, bytes_per_s: float) -> Iterator[str]:
    """Yield the address of a server on the port ``upstream``, as seen through a path of that rate.

    The path is a process: as threads of one end it would wait for that end's interpreter.
    """
    command = [sys.executable, "-m", "benchmarks.compression.slow_path", str(upstream), str(bytes_per_s)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/"


def _main(upstream: str, bytes_per_s: str) -> None:
    """Carry until the program that started this one closes its input or is gone; ignore interrupts, which are for that
    one.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.stdout.write(f"{SlowPath(int(upstream), float(bytes_per_s)).port}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    _main(*sys.argv[1:])
