"""Sockets that connect early: their handshakes pass while files are listed."""

import asyncio
import errno
import socket
from contextlib import suppress

from tradewind_agent.engine.http.address import Origin
from tradewind_agent.engine.http.tcp_info import TcpInfo, read_tcp_info

USUAL_SOCKETS = 16
"""Most transfers of many files use this many; a plan with more opens the others at its start."""

HANDSHAKE_PATIENCE_S = 3.0
"""Longest wait for the first handshake: the time of two lost packets."""

MAX_UNUSED_S = 1.0
"""Time after the start of a transfer when sockets that its plan did not use are closed."""


class EarlySockets:
    """Sockets to the server that is being listed; each is taken once.

    The kernel makes the connections by itself: no event loop is bound, so that another one may take them.

    Parameters
    ----------
    most : number of sockets to open.
    """

    def __init__(self, most: int = USUAL_SOCKETS) -> None:
        self.most = most
        self._origin: Origin | None = None
        self._sockets: list[socket.socket] = []

    async def connect(self, origin: Origin) -> None:
        """Start to connect to ``origin``. Errors are left to the transfer's own connections, which report them."""
        loop = asyncio.get_running_loop()
        with suppress(OSError, UnicodeError):
            host = origin.host.encode("ascii")  # of text, Python first loads tables of Unicode
            found = await loop.getaddrinfo(host, origin.port, type=socket.SOCK_STREAM)
            family, kind, protocol, _, address = found[0]
            self._origin = origin
            while len(self._sockets) < self.most:
                connecting = socket.socket(family, kind, protocol)
                self._sockets.append(connecting)
                connecting.setblocking(False)
                if connecting.connect_ex(address) not in (0, errno.EINPROGRESS):
                    return

    async def wait_for_handshake(self, origin: Origin) -> TcpInfo | None:
        """Return what the kernel knows of the first connection once it is made; ``None`` where none is made in time."""
        if not self._sockets or origin != self._origin:
            return None
        first, loop, made = self._sockets[0], asyncio.get_running_loop(), asyncio.Event()
        loop.add_writer(first, made.set)
        try:
            await asyncio.wait_for(made.wait(), HANDSHAKE_PATIENCE_S)
        except TimeoutError:
            return None
        finally:
            loop.remove_writer(first)
        return read_tcp_info(first) if _is_connected(first) else None

    def take(self, origin: Origin) -> socket.socket | None:
        """Return a socket that is connected to ``origin``; ``None`` where there is none any more."""
        while self._sockets and origin == self._origin:
            taken = self._sockets.pop()
            if _is_connected(taken):
                return taken
            taken.close()
        return None

    def close(self) -> None:
        """Close the unused sockets."""
        while self._sockets:
            self._sockets.pop().close()


def _is_connected(candidate: socket.socket) -> bool:
    """Return whether the handshake is done, and the server has neither closed the connection nor said anything."""
    try:
        candidate.getpeername()
        candidate.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
