"""A file sent in one request: written under a part name, and renamed once it is complete."""

import asyncio
import os
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress

from tradewind_agent.serve.folder import PART_PREFIX
from tradewind_agent.serve.uploads.stated_sums import BodySums, StatedSum
from tradewind_agent.serve.uploads.unfinished import publish, write_fully


class SingleRequestFile:
    """Receives ``name`` from first to last byte; ``discard`` unless ``finish`` succeeded.

    Parameters
    ----------
    folder : descriptor of the folder; the caller keeps it open meanwhile.
    sums : that its bytes must have.

    Attributes
    ----------
    replaced_bytes : size of the file whose place it took; ``None`` where there was none.
    published : whether it has its final name.
    """

    def __init__(self, folder: int, name: str, sums: BodySums) -> None:
        self.size_bytes = 0
        self.replaced_bytes: int | None = None
        self.is_published = False
        self._folder, self._name = folder, name
        self._part = f"{PART_PREFIX}{uuid.uuid4().hex}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        self._descriptor = os.open(self._part, flags, 0o666, dir_fd=folder)
        self._sums = sums

    async def append(self, blocks: Sequence[bytes]) -> None:
        """Write what follows.

        Raises
        ------
        OSError
        """
        await asyncio.to_thread(self._append, blocks)

    async def finish(
        self, modified_at_s: int | None, trailing: Sequence[StatedSum], check_replacement: Callable[[], None]
    ) -> None:
        """Sync and rename; the file gets the time of its source where that is known.

        ``check_replacement`` : raises where the name must not be given to the file any more.

        Raises
        ------
        RequestRefused : 400 or 422 when a sum is another; see `StatedSum`.
        OSError
        """
        self._sums.require(trailing)
        if modified_at_s is not None:
            os.utime(self._descriptor, (modified_at_s, modified_at_s))
        await asyncio.to_thread(os.fsync, self._descriptor)
        check_replacement()
        self.replaced_bytes = publish(self._folder, self._part, self._name)
        self.is_published = True
        await asyncio.to_thread(os.fsync, self._folder)

    def discard(self) -> None:
        """Close, and remove what did not get its final name."""
        os.close(self._descriptor)
        with suppress(FileNotFoundError):
            os.unlink(self._part, dir_fd=self._folder)

    def _append(self, blocks: Sequence[bytes]) -> None:
        write_fully(self._descriptor, blocks, self.size_bytes)
        self.size_bytes += sum(len(block) for block in blocks)
        self._sums.update(blocks)
