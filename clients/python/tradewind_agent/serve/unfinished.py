"""A file that is being received: bytes land in a part file beside its final place, and it appears there only whole."""

import asyncio
import fcntl
import hashlib
import os
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from http import HTTPStatus

from tradewind.units import MIB
from tradewind_agent.serve.byte_ranges import ByteRanges
from tradewind_agent.serve.folder import PART_PREFIX
from tradewind_agent.serve.journal import Journal, JournalState, read_journal
from tradewind_agent.serve.messages import Refused

_HASH_BLOCK_BYTES = 4 * MIB
_PART_FLAGS = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
_JOURNAL_SUFFIX = ".journal"


def part_name(name: str, upload_id: str) -> str:
    """Name of the part file for an upload of ``name``; ids are the client's, so they are hashed."""
    digest = hashlib.sha256(os.fsencode(name) + b"\0" + upload_id.encode("utf-8", "surrogateescape")).hexdigest()
    return f"{PART_PREFIX}{digest[:32]}"


class UnfinishedFile:
    """One resumable upload. Parts may come in any order, overlap and repeat, over any number of connections.

    Made by ``open_upload``. Writes go through threads; the state belongs to the event loop.
    """

    def __init__(
        self, folder: int, *, name: str, part: str, descriptor: int, journal: Journal, state: JournalState
    ) -> None:
        self.name = name
        self.total_bytes = state.total_bytes
        self.received = state.received
        self.sha256 = state.sha256
        self.finished = self.dropped = False
        self._folder, self._part = folder, part
        self._descriptor = descriptor
        self._journal = journal
        self._synced = ByteRanges() if state.trusted else ByteRanges(state.received)
        self._unsynced_bytes = 0
        self._writers = 0
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._finishing = asyncio.Lock()

    @property
    def complete(self) -> bool:
        return self.finished or self.dropped or self.received.cover(self.total_bytes)

    def expect(self, sha256: str) -> None:
        """Demand a digest of the whole.

        Raises
        ------
        Refused : 409 when another was demanded before.
        """
        if self.sha256 is None:
            self._journal.must_be(sha256)
            self.sha256 = sha256
        elif self.sha256 != sha256:
            raise Refused(HTTPStatus.CONFLICT, "an earlier part named another Tradewind-Sha256 for this upload")

    async def write(self, blocks: Sequence[bytes], first: int, *, sync_every_bytes: int) -> int:
        """Put bytes at ``first`` and note them; how many. Nothing is written once the file is complete.

        Each ``sync_every_bytes`` what is there is synced to disk and noted as safe.
        """
        count = sum(len(block) for block in blocks)
        if self.complete or count == 0:
            return count
        self._writers += 1
        self._quiet.clear()
        try:
            await asyncio.to_thread(write_fully, self._descriptor, blocks, first)
            self.received.add(first, first + count - 1)
            self._journal.wrote(first, first + count - 1)
            self._unsynced_bytes += count
            if self._unsynced_bytes >= sync_every_bytes and not self.complete:
                await self._make_safe()
        finally:
            self._writers -= 1
            if self._writers == 0:
                self._quiet.set()
        return count

    async def finish(self) -> bool:
        """Check, sync and rename to the final name; whether it was this call that did.

        Raises
        ------
        Refused : 422 when the digest is another; what was received is dropped then.
        OSError
        """
        async with self._finishing:
            await self._quiet.wait()
            if not (self.finished or self.dropped):
                await self._check_digest()
            if self.dropped:
                raise Refused(HTTPStatus.UNPROCESSABLE_ENTITY, f"the SHA-256 is not {self.sha256}; send the file again")
            if self.finished:
                return False
            await asyncio.to_thread(self._publish)
            self.finished = True
            return True

    async def _check_digest(self) -> None:
        if self.sha256 is not None:
            found = await asyncio.to_thread(_digest, self._descriptor, self.total_bytes)
            if found != self.sha256:
                self.drop()

    def drop(self) -> None:
        """Forget all that was received; the journal goes first, so that a crash leaves none without its file."""
        self.dropped = True
        for name in (self._part + _JOURNAL_SUFFIX, self._part):
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=self._folder)

    def close(self) -> None:
        """Let go of the files; what was received stays on disk."""
        self._journal.close()
        os.close(self._descriptor)
        os.close(self._folder)

    async def _make_safe(self) -> None:
        self._unsynced_bytes = 0
        ranges = list(self.received)
        await asyncio.to_thread(self._sync, ranges)
        self._synced = ByteRanges(ranges)
        if self._journal.long:
            self._journal.begin(self._synced, self.received, self.sha256)

    def _sync(self, ranges: list[tuple[int, int]]) -> None:
        os.fdatasync(self._descriptor)
        self._journal.synced(ranges)

    def _publish(self) -> None:
        os.fsync(self._descriptor)
        publish(self._folder, self._part, self.name)
        with suppress(FileNotFoundError):
            os.unlink(self._part + _JOURNAL_SUFFIX, dir_fd=self._folder)


def write_fully(descriptor: int, blocks: Sequence[bytes], offset: int) -> None:
    """Write all blocks, one after the other, from ``offset`` on."""
    data = memoryview(b"".join(blocks))
    while data:
        written = os.pwrite(descriptor, data, offset)
        data, offset = data[written:], offset + written


def publish(folder: int, part: str, name: str) -> None:
    """Give a synced part file its final name, for good: the folder is synced too."""
    os.rename(part, name, src_dir_fd=folder, dst_dir_fd=folder)
    os.fsync(folder)


def open_upload(folder: int, name: str, upload_id: str, total_bytes: int | None, boot: str) -> UnfinishedFile | None:
    """Open an upload as its journal left it, or begin it; None when there is none and ``total_bytes`` is None.

    Parameters
    ----------
    folder : descriptor of the folder the file goes to; duplicated, so the caller keeps its own.

    Raises
    ------
    Refused : 409 when another server process receives it.
    OSError
    """
    part = part_name(name, upload_id)
    with ExitStack() as on_failure:
        try:
            data = os.open(part, _PART_FLAGS, dir_fd=folder)
        except FileNotFoundError:
            if total_bytes is None:
                return None
            with suppress(FileNotFoundError):  # left by a crash: it speaks of another file
                os.unlink(part + _JOURNAL_SUFFIX, dir_fd=folder)
            data = os.open(part, _PART_FLAGS | os.O_CREAT | os.O_EXCL, 0o666, dir_fd=folder)
        on_failure.callback(os.close, data)
        _lock(data)
        notes = os.open(part + _JOURNAL_SUFFIX, _PART_FLAGS | os.O_CREAT | os.O_APPEND, 0o600, dir_fd=folder)
        on_failure.callback(os.close, notes)
        inode = os.fstat(data).st_ino
        state = read_journal(_text(notes), boot=boot, inode=inode) or JournalState(total_bytes or 0, trusted=True)
        journal = Journal(notes, total_bytes=state.total_bytes, boot=boot, inode=inode)
        journal.begin(
            *((ByteRanges(), state.received) if state.trusted else (state.received, ByteRanges())), state.sha256
        )
        os.ftruncate(data, state.total_bytes)
        upload = UnfinishedFile(os.dup(folder), name=name, part=part, descriptor=data, journal=journal, state=state)
        on_failure.pop_all()
    return upload


def _lock(descriptor: int) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise Refused(HTTPStatus.CONFLICT, "another server process is receiving this upload") from error


def _text(descriptor: int) -> str:
    size = os.fstat(descriptor).st_size
    return os.pread(descriptor, size, 0).decode("ascii", "replace")


def _digest(descriptor: int, size_bytes: int) -> str:
    digest = hashlib.sha256()
    for offset in range(0, size_bytes, _HASH_BLOCK_BYTES):
        digest.update(os.pread(descriptor, _HASH_BLOCK_BYTES, offset))
    return digest.hexdigest()
