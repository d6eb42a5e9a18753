"""The sending half of a connection: answers share writes, large files go out by sendfile or in large blocks."""

import asyncio
import os
from collections.abc import Callable

from tradewind.units import KIB, MIB
from tradewind_agent.serve.energy_shares import TransferAccount
from tradewind_agent.serve.messages import FileSpan, PackedSpan

SENDFILE_FROM_BYTES = 128 * KIB  # below, one read and one write cost less than sendfile's bookkeeping
SENDFILE_SLICE_BYTES = 4 * MIB  # progress is reported this often
COPY_BLOCK_BYTES = 256 * KIB
LAST_BYTES = 4 * KIB  # of a large body, which are held back until the file has been looked at once more
BATCH_BYTES = 64 * KIB  # answers to pipelined requests share a write up to this size


class PeerGone(Exception):
    """The client closed the connection, or can no longer be answered honestly."""


class Outbox:
    """Writes to a transport.

    Parameters
    ----------
    by_kernel : whether large files may go by ``sendfile``; only a plain TCP transport can.
    on_progress : called before each large piece is sent.

    Attributes
    ----------
    account : what is sent of files counts as moved by it.
    """

    def __init__(self, transport: asyncio.Transport, *, by_kernel: bool, on_progress: Callable[[], None]) -> None:
        self._transport = transport
        self._by_kernel = by_kernel
        self._on_progress = on_progress
        self._held: list[bytes] = []
        self._held_bytes = 0
        self._is_gone = False
        self._room = asyncio.Event()
        self._room.set()
        self.in_sendfile = False
        self.account = TransferAccount()

    @property
    def is_full(self) -> bool:
        """Return whether what is held back is worth a write of its own."""
        return self._held_bytes >= BATCH_BYTES

    def pause(self) -> None:
        self._room.clear()

    def resume(self) -> None:
        self._room.set()

    def lose_peer(self) -> None:
        self._is_gone = True
        self._room.set()

    def hold(self, data: bytes) -> None:
        """Keep ``data`` to be written with what follows, or by ``flush``."""
        self._held.append(data)
        self._held_bytes += len(data)

    def flush(self) -> None:
        if self._held and not self._is_gone:
            self._transport.write(b"".join(self._held))
        self._held.clear()
        self._held_bytes = 0

    async def wait_drained(self) -> None:
        """Wait until the transport takes more.

        Raises
        ------
        PeerGone
        """
        await self._room.wait()
        if self._is_gone or self._transport.is_closing():
            raise PeerGone

    async def send_file(self, span: FileSpan) -> None:
        """Send a span of a file after what is held.

        Raises
        ------
        PeerGone : also when the file shrank, or was overwritten, after its length was announced: only cutting the body
            short is honest then.
        """
        if span.count < SENDFILE_FROM_BYTES:
            data = _read_exactly(span.descriptor, span.count, span.offset)
            _require_unchanged(span)
            self.hold(data)
            self.account.moved_bytes += span.count
            return
        self.flush()
        end = span.offset + span.count - LAST_BYTES
        if self._by_kernel:
            await self._send_by_kernel(span, end)
        else:
            await self._send_by_copy(span, end)
        await self.wait_drained()
        data = _read_exactly(span.descriptor, LAST_BYTES, end)
        _require_unchanged(span)
        self._transport.write(data)
        self.account.moved_bytes += LAST_BYTES

    async def send_pieces(self, span: PackedSpan) -> None:
        """Send pieces as chunks while they are packed, after held data; the wait for each is the time of the path.

        Raises
        ------
        PeerGone
        """
        self.flush()
        while True:
            making = asyncio.ensure_future(asyncio.to_thread(next, span.pieces, None))
            try:
                piece = await asyncio.shield(making)
            except asyncio.CancelledError:
                await asyncio.wait([making])  # the file stays open as long as it is read
                raise
            if piece is None:
                break
            self._on_progress()
            self._transport.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            span.sent_bytes += len(piece)
            self.account.moved_bytes += len(piece)
            await self.wait_drained()
        self._transport.write(b"0\r\n\r\n")

    async def _send_by_kernel(self, span: FileSpan, end: int) -> None:
        loop = asyncio.get_running_loop()
        with os.fdopen(span.descriptor, "rb", buffering=0, closefd=False) as file:
            for offset in range(span.offset, end, SENDFILE_SLICE_BYTES):
                await self.wait_drained()
                self._on_progress()
                count = min(SENDFILE_SLICE_BYTES, end - offset)
                self.in_sendfile = True
                try:
                    sent = await loop.sendfile(self._transport, file, offset, count)
                finally:
                    self.in_sendfile = False
                self.account.moved_bytes += sent
                if sent < count:
                    raise PeerGone

    async def _send_by_copy(self, span: FileSpan, end: int) -> None:
        for offset in range(span.offset, end, COPY_BLOCK_BYTES):
            await self.wait_drained()
            self._on_progress()
            block = _read_exactly(span.descriptor, min(COPY_BLOCK_BYTES, end - offset), offset)
            self._transport.write(block)
            self.account.moved_bytes += len(block)


def _require_unchanged(span: FileSpan) -> None:
    """See that a file is the one whose tag was announced, before the last bytes of a body complete it."""
    if span.has_changed:
        raise PeerGone


def _read_exactly(descriptor: int, count: int, offset: int) -> bytes:
    block = os.pread(descriptor, count, offset)
    if len(block) < count:
        raise PeerGone
    return block
