"""A path of a given rate on the loopback: real sockets, whose bytes wait for their turn between the two ends.

All connections share the rate, a direction each.
"""

import math
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

PIECE_BYTES = 16 * 1024
BUFFER_BYTES = 64 * 1024
"""Of each socket, so that a sender soon feels the path."""

LONGEST_BURST_S = 0.02
"""That the path makes up for where it was served late."""

LONGEST_GAP_S = 0.002
"""Longer without a byte, the path was idle, and has nothing to make up for: else a probe would pass at once."""


class SlowPath:
    """Listens on ``port`` and carries all connections to ``upstream``, each direction at ``bytes_per_s`` in all."""

    def __init__(self, upstream: int, bytes_per_s: float) -> None:
        self._upstream = upstream
        self._up, self._down = Turns(bytes_per_s), Turns(bytes_per_s)
        self._listening = socket.socket()
        self._listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
        self._listening.bind(("127.0.0.1", 0))
        self._listening.listen()
        self.port: int = self._listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listening.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            server = socket.socket()
            for each in (client, server):
                each.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER_BYTES)
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
            server.connect(("127.0.0.1", self._upstream))
            for turns, source, sink in ((self._up, client, server), (self._down, server, client)):
                threading.Thread(target=_carry, args=(turns, source, sink), daemon=True).start()


class Turns:
    """When the path is free for the next bytes of one direction, whichever connection they are of."""

    def __init__(self, bytes_per_s: float, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._bytes_per_s, self._clock_s = bytes_per_s, clock_s
        self._free_at_s = clock_s()
        self._lock = threading.Lock()

    def take(self, count: int, *, gap_s: float) -> float:
        """How long to wait until so many bytes have passed, s; ``gap_s`` : for which they had been waited for."""
        late_s = LONGEST_BURST_S if gap_s <= LONGEST_GAP_S else 0.0
        with self._lock:
            now_s = self._clock_s()
            self._free_at_s = max(self._free_at_s, now_s - late_s) + count / self._bytes_per_s
            return self._free_at_s - now_s


def _carry(turns: Turns, source: socket.socket, sink: socket.socket) -> None:
    with source:
        with suppress(OSError):
            asked_s = -math.inf  # of a connection nothing was late before its first byte
            while data := source.recv(PIECE_BYTES):
                if (wait_s := turns.take(len(data), gap_s=time.monotonic() - asked_s)) > 0:
                    time.sleep(wait_s)
                sink.sendall(data)
                asked_s = time.monotonic()
        with suppress(OSError):
            sink.shutdown(socket.SHUT_WR)


@contextmanager
def slow_path(upstream: int, bytes_per_s: float) -> Iterator[str]:
    """The address of a server on the port ``upstream``, as seen through a path of that rate."""
    path = SlowPath(upstream, bytes_per_s)
    try:
        yield f"http://127.0.0.1:{path.port}/"
    finally:
        path.close()
