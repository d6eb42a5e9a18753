"""An encoded answer on its way through a thread: received in the event loop, decoded and stored in the thread."""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import suppress
from queue import SimpleQueue
from threading import Lock

from tradewind.units import MIB
from tradewind_agent.errors import FileFault

MOST_WAITING_BYTES = 4 * MIB
"""Received bytes that wait for the thread: at 1 Gbit/s it may pause for 30 ms before the connection does."""


class StreamLost(Exception):
    """The connection was lost before the end of the answer; ``fault`` : why, where it was the request's fault."""

    def __init__(self, fault: FileFault | None) -> None:
        super().__init__(str(fault))
        self.fault = fault


class ReceivedStream:
    """The stream; also the gate of its connection, which stops reading while too much waits.

    Parameters
    ----------
    decode : takes the pieces as they come, in the thread, and stores what they hold. The pieces end with `StreamLost`
        where the connection was lost.
    on_settled : called in the event loop with the error of ``decode``, once answer and thread have ended.
    """

    def __init__(
        self,
        decode: Callable[[Iterator[bytes]], None],
        pool: Executor,
        on_settled: Callable[[BaseException | None], None],
    ) -> None:
        self._decode, self._on_settled = decode, on_settled
        self._loop = asyncio.get_running_loop()
        self._queue: SimpleQueue[bytes | StreamLost | None] = SimpleQueue()
        self._waiting_bytes = 0
        self._lock = Lock()
        self._wake: Callable[[], None] | None = None
        self._is_over = self._has_ended = False
        self._error: BaseException | None = None
        self._thread: Future[None] = pool.submit(self._run)

    # Called in the event loop.

    @property
    def is_open(self) -> bool:
        return self._waiting_bytes < MOST_WAITING_BYTES or self._has_ended

    def call_when_open(self, wake: Callable[[], None]) -> None:
        with self._lock:
            self._wake = wake
        if self.is_open:
            self._open()

    def feed(self, data: bytes) -> None:
        """Take received bytes.

        Raises
        ------
        FileFault : they are of no use any more; the connection is closed.
        """
        if self._has_ended:
            raise FileFault(str(self._error or "more than was announced"))
        with self._lock:
            self._waiting_bytes += len(data)
        self._queue.put(data)

    def finish(self) -> None:
        """Note the end of the answer."""
        self._end(None)

    def lose(self, fault: FileFault | None) -> None:
        """Note that the answer breaks off; what has come is still decoded."""
        self._end(StreamLost(fault))

    def _end(self, end: StreamLost | None) -> None:
        self._is_over = True
        self._wake = None
        self._queue.put(end)
        self._settle()

    def _open(self) -> None:
        with self._lock:
            wake, self._wake = self._wake, None
        if wake is not None:
            wake()

    def _note_end(self, error: BaseException | None) -> None:
        self._error, self._has_ended = error, True
        self._open()
        self._settle()

    def _settle(self) -> None:
        if self._is_over and self._has_ended:
            self._on_settled(self._error)

    # Called in threads.

    def wait(self) -> None:
        """Return when the thread has ended."""
        self._thread.result()

    def _run(self) -> None:
        error: BaseException | None = None
        try:
            self._decode(self._take_pieces())
        except BaseException as raised:  # noqa: BLE001 -- it is handled in the event loop
            error = raised
        self._call(lambda: self._note_end(error))

    def _take_pieces(self) -> Iterator[bytes]:
        while (piece := self._queue.get()) is not None:
            if isinstance(piece, StreamLost):
                raise piece
            yield piece
            with self._lock:
                self._waiting_bytes -= len(piece)
                is_due = self._wake is not None and self._waiting_bytes <= MOST_WAITING_BYTES // 2
            if is_due:
                self._call(self._open)

    def _call(self, work: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the transfer is over, and its loop closed
            self._loop.call_soon_threadsafe(work)
