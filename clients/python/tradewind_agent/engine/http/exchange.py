"""A request, its body, and the handling of its answer, as connections see them."""

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

    @property
    def file_body(self) -> "FileBody | None":
        """Return the body as the kernel can send it now; ``None`` where `read` has to be used."""

    @property
    def follows_kernel(self) -> bool:
        """Return whether the kernel has sent what is before the next bytes."""


class FileBody(Protocol):
    """A body whose next bytes are in a file as they are to be sent."""

    @property
    def kernel_bytes(self) -> int:
        """Return how many of the next bytes the kernel can send, one at least."""

    def send_by_kernel(self, socket_fd: int, most_bytes: int) -> int:
        """Send some of the next `kernel_bytes` to a socket that does not block, and return how many.

        Raises
        ------
        FileFault : as `Payload.read` does.
        OSError : the socket takes nothing now (`BlockingIOError`), or the two do not go together. Nothing was sent.
        """


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
