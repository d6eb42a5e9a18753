"""One emulated connection: the client's socket and the upstream's, with the model's flows between them."""

import asyncio
import socket
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from benchmarks.emulation.model import PathModel
from benchmarks.support.direction import Direction
from tradewind.units import KIB

if TYPE_CHECKING:
    from benchmarks.emulation.flow import Flow

# Small kernel buffers, so that bytes wait in the model, where the sender notices it.
SOCKET_BUFFER_BYTES = 256 * KIB
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)  # struct linger: on, 0 seconds


class Side(asyncio.Protocol):
    """One socket: what it sends goes into ``outgoing``, and what arrives on ``incoming`` is written to it.

    Parameters
    ----------
    stir : called after the model was given something to do.
    on_lost : called with the error, if any, when the socket is closed.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        on_work: Callable[[], None],
        on_made: Callable[[], None],
        on_lost: Callable[[Exception | None], None],
    ) -> None:
        self.outgoing: Flow
        self.incoming: Flow
        self._clock, self._on_work, self._on_made, self._on_lost = clock, on_work, on_made, on_lost
        self._transport: asyncio.Transport | None = None
        self._is_input_finished = self._is_output_finished = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._on_made()

    def data_received(self, data: bytes) -> None:
        if not self.outgoing.write(data, self._clock()) and self._transport is not None:
            self._transport.pause_reading()
        self._on_work()

    def eof_received(self) -> bool:
        self._is_input_finished = True
        self.outgoing.end(self._clock())
        self._on_work()
        self._close_if_done()
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._on_lost(exc)

    def pause_writing(self) -> None:
        self.incoming.withhold_acknowledgements()

    def resume_writing(self) -> None:
        self.incoming.release_acknowledgements(self._clock())
        self._on_work()

    def write(self, data: bytearray) -> None:
        """Write bytes that came over the path; no bytes mark the end of the stream."""
        if self._transport is None or self._transport.is_closing():
            return
        if data:
            self._transport.write(data)
            return
        self._is_output_finished = True
        try:
            self._transport.write_eof()
        except OSError:  # reset meanwhile, which the loop has not reported yet
            return
        self._close_if_done()

    def hold(self) -> None:
        if self._transport is not None:
            self._transport.pause_reading()

    def resume(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    def abort(self) -> None:
        """Reset the connection: an orderly close could be taken for the end of the data."""
        if self._transport is not None:
            sock = self._transport.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
            self._transport.abort()

    def _close_if_done(self) -> None:
        if self._is_input_finished and self._is_output_finished and self._transport is not None:
            self._transport.close()


class _Ends:
    """The sockets at the two ends of a flow."""

    def __init__(self, sender: Side, receiver: Side) -> None:
        self.arrive = receiver.write
        self.make_room = sender.resume


class Relay:
    """Joins an accepted connection to a new one to ``upstream`` over the path ``model``."""

    def __init__(
        self,
        model: PathModel,
        upstream: tuple[str, int],
        *,
        clock: Callable[[], float],
        on_work: Callable[[], None],
        on_closed: Callable[["Relay"], None],
    ) -> None:
        self.client = Side(clock, on_work, self._open, lambda error: self._handle_loss(self.server, error))
        self.server = Side(clock, on_work, lambda: None, lambda error: self._handle_loss(self.client, error))
        self._model, self._upstream = model, upstream
        self._clock, self._on_work, self._on_closed = clock, on_work, on_closed
        self._open_sides = 1
        self._connecting: asyncio.Task[None]

    def abort(self) -> None:
        self._connecting.cancel()
        self.client.abort()
        self.server.abort()

    def _open(self) -> None:
        self.client.hold()  # until the upstream is connected
        to_server, to_client = _Ends(self.client, self.server), _Ends(self.server, self.client)
        flows = self._model.connect(self._clock(), up=to_server, down=to_client)
        self.client.outgoing = self.server.incoming = flows[Direction.UP]
        self.server.outgoing = self.client.incoming = flows[Direction.DOWN]
        self._connecting = asyncio.get_running_loop().create_task(self._connect())

    async def _connect(self) -> None:
        loop = asyncio.get_running_loop()
        joined = socket.socket(socket.AF_INET6 if ":" in self._upstream[0] else socket.AF_INET)
        try:
            joined.setblocking(False)
            joined.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SOCKET_BUFFER_BYTES)
            await loop.sock_connect(joined, self._upstream)
            await loop.create_connection(lambda: self.server, sock=joined)
        except BaseException as error:
            joined.close()
            self.client.abort()
            if isinstance(error, OSError):
                return  # refused: the client sees its connection reset
            raise
        self._open_sides += 1
        self.client.resume()

    def _handle_loss(self, other: Side, error: Exception | None) -> None:
        """Handle a closed socket: the other one learns of a reset half a round trip later."""
        self._open_sides -= 1
        if self._open_sides == 0:
            self._connecting.cancel()
            self._on_closed(self)
        elif error is not None:
            self._model.events.schedule(self._clock() + self._model.profile.rtt_s / 2, lambda _: other.abort())
            self._on_work()
