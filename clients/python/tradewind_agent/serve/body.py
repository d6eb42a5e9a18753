"""The body of a request as it arrives, with flow control towards the socket."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable

from tradewind.units import KIB, MIB
from tradewind_agent.serve.energy_shares import TransferAccount

HIGH_WATER_BYTES = MIB
LOW_WATER_BYTES = 256 * KIB


class BodyCutOff(Exception):
    """The client went away, or sent something that is no HTTP, before the body was complete."""


class RequestBody:
    """Blocks of a body in order of arrival.

    ``trailer`` : fields behind a body in chunks that state its sums, by their names in lower case.

    Parameters
    ----------
    declared_bytes : Content-Length, or None when chunked.
    pause, resume : stop and continue reading from the socket.
    invite : sends "100 Continue"; called once, on the first read, when the client expects it.
    """

    def __init__(
        self,
        declared_bytes: int | None,
        *,
        pause: Callable[[], None],
        resume: Callable[[], None],
        invite: Callable[[], None] | None = None,
    ) -> None:
        self.declared_bytes = declared_bytes
        self.received_bytes = 0
        self.trailer: dict[str, str] = {}
        self.is_complete = False
        self._blocks: deque[bytes] = deque()
        self._buffered_bytes = 0
        self._paused = False
        self._cut_off: BodyCutOff | None = None
        self._account: TransferAccount | None = None
        self._arrival = asyncio.Event()
        self._pause, self._resume, self._invite = pause, resume, invite

    @property
    def awaits_invitation(self) -> bool:
        """Return whether the client holds the body back until the server says "100 Continue"."""
        return self._invite is not None and self.received_bytes == 0 and not self.is_complete

    @property
    def outstanding_bytes(self) -> int | None:
        """Return what is still to come from the socket; None when unknown."""
        if self.is_complete:
            return 0
        return None if self.declared_bytes is None else self.declared_bytes - self.received_bytes

    def charge_to(self, account: TransferAccount) -> None:
        """Count what has come and what is still to come as moved by ``account``."""
        account.moved_bytes += self.received_bytes
        self._account = account

    def feed(self, block: bytes) -> None:
        self.received_bytes += len(block)
        if self._account is not None:
            self._account.moved_bytes += len(block)
        self._blocks.append(block)
        self._buffered_bytes += len(block)
        if self._buffered_bytes >= HIGH_WATER_BYTES and not self._paused:
            self._paused = True
            self._pause()
        self._arrival.set()

    def finish(self) -> None:
        self.is_complete = True
        self._arrival.set()

    def cut_off(self, reason: str) -> None:
        if not self.is_complete and self._cut_off is None:
            self._cut_off = BodyCutOff(reason)
            self._arrival.set()

    async def read_blocks(self) -> AsyncIterator[bytes]:
        """Yield the blocks until the body is complete.

        Raises
        ------
        BodyCutOff : after all blocks that did arrive.
        """
        if self.awaits_invitation and self._invite is not None:
            self._invite()
            self._invite = None
        while True:
            while self._blocks:
                block = self._blocks.popleft()
                self._buffered_bytes -= len(block)
                self._resume_flow()
                yield block
            if self.is_complete:
                return
            if self._cut_off is not None:
                raise self._cut_off
            self._arrival.clear()
            await self._arrival.wait()

    async def discard(self) -> None:
        """Read the rest and forget it."""
        async for _ in self.read_blocks():
            pass

    def _resume_flow(self) -> None:
        if self._paused and self._buffered_bytes <= LOW_WATER_BYTES:
            self._paused = False
            self._resume()
