"""Bodies of uploads, written aside while they arrive: in memory while they are small, then on disk."""

import errno
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import IO

from starlette.concurrency import run_in_threadpool

from tradewind.errors import TooLarge, Unavailable
from tradewind.units import GIB, MIB

MAX_BODY_BYTES = GIB
"""Limit of an upload as it is sent, compressed or not."""

MOST_BYTES = 2 * GIB
"""Limit of all uploads that a process has written aside: half of what a pod may write, so that they cannot fill the
disk that the database may be on.
"""

HELD_IN_MEMORY_BYTES = MIB
WRITTEN_AT_ONCE_BYTES = MIB
"""A write takes a thread, because a slow disk would block everybody else; small writes would take a thousand."""

NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class Spools:
    """Uploads of one event loop.

    Parameters
    ----------
    most_bytes : of all bodies together, apart from what is held in memory of each.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self.free_bytes = most_bytes

    @contextmanager
    def open_spool(self) -> Iterator["Spool"]:
        """Yield a new body, which is removed afterwards."""
        with tempfile.SpooledTemporaryFile(HELD_IN_MEMORY_BYTES) as file:
            spool = Spool(self, file)
            try:
                yield spool
            finally:
                self.free_bytes += spool.taken_bytes

    def take(self, count: int) -> None:
        """Reserve bytes on the disk.

        Raises
        ------
        Unavailable : others have reserved too many.
        """
        if count > self.free_bytes:
            raise Unavailable("too much is being uploaded at once; send it again")
        self.free_bytes -= count


class Spool:
    """A body that arrives, and is then read."""

    def __init__(self, spools: Spools, file: IO[bytes]) -> None:
        self._spools = spools
        self.file = file
        self.taken_bytes = 0

    async def receive(self, chunks: AsyncIterator[bytes]) -> None:
        """Write all chunks aside.

        Raises
        ------
        TooLarge : the body is larger than an upload may be.
        Unavailable : there is no room for it now.
        """
        received, waiting = 0, bytearray()
        async for chunk in chunks:
            received += len(chunk)
            if received > MAX_BODY_BYTES:
                raise TooLarge(f"an upload may have {MAX_BODY_BYTES} bytes; split it")
            waiting += chunk
            if len(waiting) >= WRITTEN_AT_ONCE_BYTES:
                await self._put(waiting)
                waiting = bytearray()
        await self._put(waiting)

    async def _put(self, data: bytearray) -> None:
        if self.file.tell() + len(data) <= HELD_IN_MEMORY_BYTES:
            self.file.write(data)
            return
        self._spools.take(len(data))
        self.taken_bytes += len(data)
        try:
            await run_in_threadpool(self.file.write, data)
        except OSError as error:
            if error.errno not in NO_ROOM:
                raise
            raise Unavailable("there is no room to put the upload aside; send it again later") from error
