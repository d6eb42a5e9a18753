"""A packed file as the body of a request: packed in a thread as the connection takes it, sent in chunks."""

import asyncio
from collections.abc import Callable, Generator
from concurrent.futures import Executor
from contextlib import closing, suppress
from functools import partial
from threading import Semaphore
from typing import BinaryIO

from tradewind_agent.compression.packing import PackedFile

_LAST_CHUNK = b"0\r\n\r\n"


class PackedPayload:
    """The body.

    Its thread encodes a piece when the connection asks for one, and goes on when the connection has taken it: the time
    in between is what the path takes for the piece, by which `PackedFile` chooses codec and level. Of the encoded bytes
    one piece at a time waits here.

    Parameters
    ----------
    source : the open file, which is closed when its thread ends.
    pool : of threads, one for each body that is being sent.
    on_sent : called with the plain and the packed bytes of each piece that the connection has taken.

    Attributes
    ----------
    plain_bytes : those of the pieces that the connection has taken.
    """

    file_body = None  # the kernel packs nothing
    follows_kernel = False

    def __init__(
        self, packed: PackedFile, source: BinaryIO, pool: Executor, on_sent: Callable[[int, int], None]
    ) -> None:
        self.packed = packed
        self.plain_bytes = 0
        self.is_finished = False
        self._source, self._pool, self._on_sent = source, pool, on_sent
        self._packed_bytes = 0
        self._loop = asyncio.get_running_loop()
        self._demand = Semaphore(0)
        self._has_started = self._is_closed = self._is_last = self._is_waiting = False
        self._piece = memoryview(b"")
        self._wake: Callable[[], None] | None = None

    # Called by the connection.

    def read(self, most_bytes: int) -> bytes:
        if not self._piece and not self._is_waiting:
            self._request_piece()
        block, self._piece = bytes(self._piece[:most_bytes]), self._piece[most_bytes:]
        self.is_finished = self._is_last and not self._piece
        return block

    def call_when_ready(self, wake: Callable[[], None]) -> None:
        self._wake = wake

    def close(self) -> None:
        """End the thread: the request is answered, or lost."""
        self._is_closed = True
        self._wake = None
        if self._has_started:
            self._demand.release()
        else:
            self._source.close()

    def _request_piece(self) -> None:
        self._is_waiting = True
        if self._has_started:
            self._demand.release()
        else:
            self._has_started = True
            self._pool.submit(self._run)

    def _take_piece(self, piece: bytes, plain_bytes: int, packed_bytes: int, *, is_last: bool) -> None:
        """Take a piece that is ready; the connection has taken those before it, with so many bytes in all."""
        if self._is_closed:
            return
        sent_bytes = plain_bytes - self.plain_bytes, packed_bytes - self._packed_bytes
        self.plain_bytes, self._packed_bytes = plain_bytes, packed_bytes
        self._piece, self._is_last, self._is_waiting = memoryview(piece), is_last, False
        if any(sent_bytes):
            self._on_sent(*sent_bytes)
        wake, self._wake = self._wake, None
        if wake is not None:
            wake()

    # In the thread.

    def _run(self) -> None:
        with self._source, closing(self.packed.encode_pieces()) as pieces:
            self._hand_over_all(pieces)

    def _hand_over_all(self, pieces: Generator[bytes]) -> None:
        for piece in pieces:
            if self._is_closed:
                return
            self._hand_over(b"%x\r\n%b\r\n" % (len(piece), piece))
            self._demand.acquire()
        if not self._is_closed:
            self._hand_over(_LAST_CHUNK, is_last=True)

    def _hand_over(self, piece: bytes, *, is_last: bool = False) -> None:
        sent_bytes = self.packed.work.plain_bytes, self.packed.work.packed_bytes
        with suppress(RuntimeError):  # the transfer is over, and its loop closed
            self._loop.call_soon_threadsafe(partial(self._take_piece, piece, *sent_bytes, is_last=is_last))
