"""A path of a given rate on the loopback: real sockets, whose bytes wait for their turn between the two ends."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

PIECE_BYTES = 16 * 1024
BUFFER_BYTES = 64 * 1024
"""Of each socket, so that a sender soon feels the path."""

LONGEST_BURST_S = 0.02


class SlowPath:
    """Listens on ``port`` and carries each connection to ``upstream``, each direction at ``bytes_per_s``."""

    def __init__(self, upstream: int, bytes_per_s: float) -> None:
        self._upstream, self._bytes_per_s = upstream, bytes_per_s
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
            for source, sink in ((client, server), (server, client)):
                threading.Thread(target=self._carry, args=(source, sink), daemon=True).start()

    def _carry(self, source: socket.socket, sink: socket.socket) -> None:
        free_at_s = time.monotonic()
        with suppress(OSError):
            while data := source.recv(PIECE_BYTES):
                free_at_s = max(free_at_s, time.monotonic() - LONGEST_BURST_S) + len(data) / self._bytes_per_s
                if (wait_s := free_at_s - time.monotonic()) > 0:
                    time.sleep(wait_s)
                sink.sendall(data)
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
