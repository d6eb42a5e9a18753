"""Bodies of uploads, written aside while they arrive: in memory while they are small, then on disk."""

import errno
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import IO
from uuid import UUID

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


TENANTS_PART, KEYS_PART = 2.0, 1.0
"""What a tenant may hold, and one of its keys, for each byte that stays free. So a key alone has room for the largest
upload, and however many hold how much, some room is left for whoever comes next: bodies may arrive for days.
"""


class Spools:
    """Uploads of one event loop.

    Parameters
    ----------
    most_bytes : of all bodies together, apart from what is held in memory of each.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self.free_bytes = most_bytes
        self._held_bytes: Counter[UUID] = Counter()

    @contextmanager
    def open_spool(self, tenant_id: UUID, key_id: UUID) -> Iterator["Spool"]:
        """Yield a new body of a key, which is removed afterwards."""
        with tempfile.SpooledTemporaryFile(HELD_IN_MEMORY_BYTES) as file:
            spool = Spool(file, partial(self._take, tenant_id, key_id))
            try:
                yield spool
            finally:
                self._add(tenant_id, key_id, -spool.taken_bytes)

    def _take(self, tenant_id: UUID, key_id: UUID, count: int) -> None:
        """Reserve bytes on the disk.

        Raises
        ------
        Unavailable : too many are reserved, by all, by the tenant or by the key.
        """
        left_bytes = self.free_bytes - count
        if (
            left_bytes < 0
            or self._held_bytes[tenant_id] + count > TENANTS_PART * left_bytes
            or self._held_bytes[key_id] + count > KEYS_PART * left_bytes
        ):
            raise Unavailable("too much is being uploaded at once; send it again")
        self._add(tenant_id, key_id, count)

    def _add(self, tenant_id: UUID, key_id: UUID, count: int) -> None:
        self.free_bytes -= count
        for holder in (tenant_id, key_id):
            self._held_bytes[holder] += count
            if not self._held_bytes[holder]:
                del self._held_bytes[holder]


class Spool:
    """A body that arrives, and is then read. ``take`` : reserves bytes on the disk, or raises ``Unavailable``."""

    def __init__(self, file: IO[bytes], take: Callable[[int], None]) -> None:
        self.file = file
        self._take = take
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
        self._take(len(data))
        self.taken_bytes += len(data)
        try:
            await run_in_threadpool(self.file.write, data)
        except OSError as error:
            if error.errno not in NO_ROOM:
                raise
            raise Unavailable("there is no room to put the upload aside; send it again later") from error
