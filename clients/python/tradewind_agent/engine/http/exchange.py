"""A request, its body, and the handling of its answer, as connections see them; and those that wait to be sent."""

from collections import deque
from collections.abc import Callable
from typing import Protocol

from tradewind_agent.engine.http.http1 import RequestHead, ResponseHead
from tradewind_agent.errors import FileFault


class Payload(Protocol):
    """A request body, read as the connection can take it.

    The body frames itself: it is as long as the request's Content-Length, or comes in chunks (RFC 9112 §7.1).
    """

    @property
    def is_finished(self) -> bool:
        """Return whether every byte has been read."""

    def read(self, most_bytes: int) -> bytes:
        """Return the next bytes; none where they are still being made, see `call_when_ready`.

        Raises
        ------
        FileFault : they cannot be had; the connection has to be closed, because the body was announced.
        """

    def call_when_ready(self, wake: Callable[[], None]) -> None:
        """Call ``wake`` in the event loop, once, when `read` has bytes again. Called after a `read` without any."""


class ReceiveGate(Protocol):
    """A bound on the received bytes that wait to be processed; the connection stops reading while it is closed."""

    @property
    def is_open(self) -> bool: ...

    def call_when_open(self, wake: Callable[[], None]) -> None:
        """Call ``wake`` in the event loop, once, when the gate is open again."""


class Exchange(Protocol):
    """A request and the handling of its answer."""

    request: RequestHead
    payload: Payload | None

    @property
    def receive_gate(self) -> ReceiveGate | None:
        """Return the bound on received bytes; ``None`` where `on_data` is done with them when it returns."""

    def on_head(self, head: ResponseHead) -> None: ...

    def on_data(self, data: memoryview) -> None: ...

    def on_end(self) -> None: ...

    def on_lost(self, fault: FileFault | None) -> None:
        """Handle a lost connection; ``None`` means through no fault of this request: send it again at once."""


class SendQueue:
    """The heads and bodies that wait to be written.

    Attributes
    ----------
    unsent_heads : requests that have not been written at all.
    waits_for_payload : the body in turn is still being made; the socket has taken all that there was.
    """

    def __init__(self) -> None:
        self.unsent_heads = 0
        self.waits_for_payload = False
        self._queue: deque[bytes | Payload] = deque()

    def __bool__(self) -> bool:
        return bool(self._queue)

    def __contains__(self, payload: object) -> bool:
        return payload in self._queue

    def add(self, exchange: Exchange) -> None:
        """Add a request behind the others."""
        self._queue.append(exchange.request.encode())
        self.unsent_heads += 1
        if exchange.payload is not None and not exchange.payload.is_finished:
            self._queue.append(exchange.payload)

    def clear(self) -> None:
        """Forget everything: the connection is lost."""
        self._queue.clear()
        self.unsent_heads = 0
        self.waits_for_payload = False

    @property
    def payload(self) -> Payload | None:
        """Return the body that is next; ``None`` where a head is, or nothing."""
        first = self._queue[0] if self._queue else None
        return None if isinstance(first, bytes) else first

    def take_heads(self) -> bytes:
        """Return the request heads next in line, joined."""
        heads = bytearray()
        while self._queue and isinstance(head := self._queue[0], bytes):
            heads += head
            self._queue.popleft()
            self.unsent_heads -= 1
        return bytes(heads)

    def read_payload(self, payload: Payload, most_bytes: int) -> bytes:
        """Return the next bytes of the body that is next, and drop it after its last; none while it is being made.

        Raises
        ------
        FileFault : see `Payload.read`.
        """
        block = payload.read(most_bytes)
        self.waits_for_payload = not block and not payload.is_finished
        if payload.is_finished:
            self._queue.popleft()
        return block
