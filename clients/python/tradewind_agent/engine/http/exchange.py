"""A request, its body, and the handling of its answer, as connections see them."""

from typing import Protocol

from tradewind_agent.engine.http.http1 import RequestHead, ResponseHead
from tradewind_agent.errors import FileFault


class Payload(Protocol):
    """A request body, read as the connection can take it."""

    @property
    def remaining_bytes(self) -> int: ...

    def read(self, most_bytes: int) -> bytes:
        """Return the next bytes, at least one.

        Raises
        ------
        FileFault : they cannot be had; the connection has to be closed, because their number was announced.
        """


class Exchange(Protocol):
    """A request and the handling of its answer."""

    request: RequestHead
    payload: Payload | None

    def on_head(self, head: ResponseHead) -> None: ...

    def on_data(self, data: memoryview) -> None: ...

    def on_end(self) -> None: ...

    def on_lost(self, fault: FileFault | None) -> None:
        """Handle a lost connection; ``None`` means through no fault of this request: send it again at once."""
