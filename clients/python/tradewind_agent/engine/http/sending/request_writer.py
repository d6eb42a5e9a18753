"""Writes requests to a connection: heads and bodies in order, as the socket and the rate limit take them.

Where nothing stands in between, the kernel sends the bytes of a file to the socket itself (sendfile): they are not
copied into this process and out again, and one call sends as much as the socket's buffer takes. TLS needs the bytes
here, and a rate limit smaller parts.

The kernel sends pages as they are when their turn comes, which may be later than the file was last checked. The end of
a body is therefore read and checked here, once the other end has confirmed the rest: it gets a complete body only of a
file that did not change on its way. A receiver on this very host may see later changes; the check after its answer
finds them. The wait is a round trip, so that far servers get all bytes by reading.
"""

import asyncio
import fcntl
import os
import sys
import termios
from collections.abc import Callable
from typing import Protocol

from tradewind.units import MIB
from tradewind_agent.engine.http.exchange import Exchange, FileBody, Payload
from tradewind_agent.engine.http.rate_limit import RateLimit, RateLimited
from tradewind_agent.engine.http.sending.send_queue import SendQueue
from tradewind_agent.engine.http.tcp_info import read_tcp_info
from tradewind_agent.errors import FileFault

KERNEL_BLOCK_BYTES = 4 * MIB
"""What the kernel sends before the other connections have their turn."""

FAR_RTT_S = 0.005
"""Round trip from which on bytes are read here: the wait for what the kernel has sent would cost more than it saves."""

_DRAIN_S = 0.0005
"""Time between two looks whether the other end has all that the kernel sent."""


class WritingConnection(RateLimited, Protocol):
    """The connection, as its writer sees it. A protocol, because connections own writers."""

    @property
    def block_bytes(self) -> int:
        """Return the most bytes of a body that are read at once."""

    def note_sent(self, body_bytes: int) -> None:
        """Note that so much of a body has left."""

    def abort(self, fault: FileFault | None = None) -> None:
        """Close the connection now."""


class RequestWriter:
    """The writing half of a connection.

    Attributes
    ----------
    queue : what waits to be written.
    """

    def __init__(self, connection: WritingConnection, rate_limit: RateLimit) -> None:
        self.queue = SendQueue()
        self._connection, self._rate_limit = connection, rate_limit
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._is_writable = True
        self._is_scheduled = False
        self._socket: _WatchedSocket | None = None
        self._drain_timer: asyncio.TimerHandle | None = None

    def start(self, transport: asyncio.Transport) -> None:
        """Begin to write: the connection is open."""
        self._transport = transport
        sock = transport.get_extra_info("socket")
        is_plain = sock is not None and transport.get_extra_info("sslcontext") is None
        if is_plain and hasattr(os, "sendfile") and (read_tcp_info(sock).rtt_s or 0.0) < FAR_RTT_S:
            self._socket = _WatchedSocket(sock.fileno(), self._loop, self._write)

    def add(self, exchange: Exchange) -> None:
        """Queue a request behind the others."""
        self.queue.add(exchange)
        self.write_soon()

    def close(self) -> None:
        """Forget what waits: the connection is lost."""
        self.queue.clear()
        self._stop_using_kernel()

    def pause(self) -> None:
        """Write nothing: the buffer of the transport is full."""
        self._is_writable = False

    def resume(self) -> None:
        """Go on: the buffer of the transport has room."""
        self._is_writable = True
        self.write_soon()

    def write_soon(self) -> None:
        if not self._is_scheduled and self._transport is not None:
            self._is_scheduled = True
            self._loop.call_soon(self._write)  # requests given in one go leave in one segment

    def _write(self) -> None:
        """Write heads and bodies in order until the socket's buffer is full, or our part of the rate is used up."""
        self._is_scheduled = False
        may_go_on = True
        while self.queue and self._is_writable and self._transport is not None and not self._transport.is_closing():
            payload = self.queue.payload
            if payload is None:
                self._transport.write(self.queue.take_heads())
            elif not may_go_on or self._rate_limit.is_exhausted:
                self._rate_limit.wait(self._connection)
                return
            elif self._socket is not None and (body := payload.file_body) and not self._rate_limit.is_limited:
                if not self._send_by_kernel(self._transport, self._socket, body):
                    return
            elif self._socket is not None and payload.follows_kernel and self._socket.has_unsent:
                self._look_again()
                return
            elif block := self._read(payload):
                may_go_on = not self._rate_limit.count_moved(self._connection, len(block))
                self._transport.write(block)
            elif self.queue.waits_for_payload:
                payload.call_when_ready(self._on_payload_ready)
                return

    def _look_again(self) -> None:
        """Write on when the other end may have confirmed what the kernel sent."""
        if self._drain_timer is None:
            self._drain_timer = self._loop.call_later(_DRAIN_S, self._on_drain_timer)

    def _on_drain_timer(self) -> None:
        self._drain_timer = None
        self._write()

    def _read(self, payload: Payload) -> bytes:
        """Return the next bytes of the body that is being sent; none where it is still being made, or has failed."""
        allowed_bytes = self._rate_limit.compute_allowance(self._connection, self._connection.block_bytes)
        try:
            block = self.queue.read_payload(payload, allowed_bytes)
        except FileFault as fault:
            self._connection.abort(fault)
            return b""
        self._connection.note_sent(len(block))
        return block

    def _on_payload_ready(self) -> None:
        self.queue.waits_for_payload = False
        self._connection.note_sent(0)
        self.write_soon()

    def _send_by_kernel(self, transport: asyncio.Transport, sock: "_WatchedSocket", body: FileBody) -> bool:
        """Have the kernel send what the socket takes; return whether to go on at once."""
        if transport.get_write_buffer_size():
            transport.set_write_buffer_limits(0)  # pauses until what was written before has left
            return True
        due_bytes = min(body.kernel_bytes, KERNEL_BLOCK_BYTES)
        try:
            sent_bytes = body.send_by_kernel(sock.fd, due_bytes)
        except BlockingIOError:
            sock.call_when_writable()
            return False
        except OSError:
            self._stop_using_kernel()  # reading and writing meet what is wrong, unless it was sendfile itself
            return True
        except FileFault as fault:
            self._connection.abort(fault)
            return False
        self._connection.note_sent(sent_bytes)
        if sent_bytes < due_bytes:
            sock.call_when_writable()
        else:
            self.write_soon()
        return False

    def _stop_using_kernel(self) -> None:
        sock, self._socket = self._socket, None
        if sock is not None:
            sock.close()


class _WatchedSocket:
    """The socket of a connection under a descriptor of its own, because asyncio lets no one watch that of a transport.

    The transport goes on to read meanwhile: a server may refuse a body in the middle of it.
    """

    def __init__(self, socket_fd: int, loop: asyncio.AbstractEventLoop, on_writable: Callable[[], None]) -> None:
        self._socket_fd = socket_fd
        self._own_fd: int | None = None
        self._loop, self._on_writable = loop, on_writable
        self._is_watched = self._is_awaited = False

    @property
    def fd(self) -> int:
        """Return the descriptor, made when it is first needed: most connections only read."""
        if self._own_fd is None:
            self._own_fd = os.dup(self._socket_fd)
        return self._own_fd

    @property
    def has_unsent(self) -> bool:
        """Return whether the other end has not confirmed all that was sent to it."""
        return int.from_bytes(fcntl.ioctl(self.fd, termios.TIOCOUTQ, bytes(4)), sys.byteorder) > 0

    def call_when_writable(self) -> None:
        """Call ``on_writable`` once, when the socket takes bytes again."""
        self._is_awaited = True
        if not self._is_watched:
            self._is_watched = True
            self._loop.add_writer(self.fd, self._handle_writable)

    def close(self) -> None:
        self._stop_watching()
        if self._own_fd is not None:
            os.close(self._own_fd)
            self._own_fd = None

    def _handle_writable(self) -> None:
        self._is_awaited = False
        self._on_writable()
        if not self._is_awaited:
            self._stop_watching()

    def _stop_watching(self) -> None:
        if self._is_watched:
            self._is_watched = False
            self._loop.remove_writer(self.fd)
