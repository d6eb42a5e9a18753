"""The heads and bodies of requests that wait to be written."""

from collections import deque

from tradewind_agent.engine.http.exchange import Exchange, Payload


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
