"""A file that is being received: bytes go to a part file next to its final place, where only the full file appears."""

import asyncio
import fcntl
import hashlib
import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from http import HTTPStatus

from tradewind_agent.serve.folder import PART_PREFIX
from tradewind_agent.serve.messages import RequestRefused
from tradewind_agent.serve.uploads.byte_ranges import ByteRanges
from tradewind_agent.serve.uploads.part_log import JOURNAL_SUFFIX, PartLog, PartLogState, is_journal, read_journal
from tradewind_agent.serve.uploads.quota import StorageQuota, check_free_space
from tradewind_agent.serve.uploads.stated_sums import StatedSum, compute_sums, make_own_sum

_PART_FLAGS = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC


def make_part_name(name: str, upload_id: str) -> str:
    """Name of the part file for an upload of ``name``; ids are the client's, so they are hashed."""
    digest = hashlib.sha256(os.fsencode(name) + b"\0" + upload_id.encode("utf-8", "surrogateescape")).hexdigest()
    return f"{PART_PREFIX}{digest[:32]}"


class UnfinishedFile:
    """One resumable upload. Parts may come in any order, overlap and repeat, over any number of connections.

    Made by ``open_upload``. Writes go through threads; the state belongs to the event loop.

    Attributes
    ----------
    replaced_bytes : size of the file whose place it took; ``None`` where there was none.
    """

    def __init__(
        self, folder: int, *, name: str, part: str, descriptor: int, journal: PartLog, state: PartLogState
    ) -> None:
        self.name = name
        self.total_bytes = state.total_bytes
        self.received = state.received
        self._sha256 = state.sha256
        self._sums = {} if state.sha256 is None else {"sha256": make_own_sum(state.sha256)}
        self._refusal: RequestRefused | None = None  # why it was dropped
        self.is_finished = self.is_dropped = False
        self.replaced_bytes: int | None = None
        self._folder, self._part = folder, part
        self._descriptor = descriptor
        self._journal = journal
        self._synced = ByteRanges() if state.is_trusted else ByteRanges(state.received)
        self._unsynced_bytes = 0
        self._writers = 0
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._finishing = asyncio.Lock()

    @property
    def journal_bytes(self) -> int:
        """Return the size of the journal on disk."""
        return self._journal.size_bytes

    @property
    def is_complete(self) -> bool:
        return self.is_finished or self.is_dropped or self.received.covers(self.total_bytes)

    def require_sums(self, stated: Sequence[StatedSum]) -> None:
        """Require sums of the full file; one by SHA-256 is also required after a restart of the server.

        Raises
        ------
        RequestRefused : 409 when another was demanded before.
        """
        for each in stated:
            algorithm, digest = each.checksum
            known = self._sums.setdefault(algorithm, each)
            if known.checksum != each.checksum:
                raise RequestRefused(HTTPStatus.CONFLICT, f"{each.field} differs from that of an earlier part")
            if algorithm == "sha256" and self._sha256 is None:
                self._sha256 = digest.hex()
                self._journal.note_sha256(self._sha256)

    async def write(self, blocks: Sequence[bytes], first: int, *, sync_every_bytes: int) -> int:
        """Put bytes at ``first`` and note them; how many. Nothing is written once the file is complete.

        Each ``sync_every_bytes`` what is there is synced to disk and noted as safe.
        """
        count = sum(len(block) for block in blocks)
        if self.is_complete or count == 0:
            return count
        self._writers += 1
        self._quiet.clear()
        try:
            await asyncio.to_thread(write_fully, self._descriptor, blocks, first)
            self.received.add(first, first + count - 1)
            self._journal.note_written(first, first + count - 1)
            self._unsynced_bytes += count
            if self._unsynced_bytes >= sync_every_bytes and not self.is_complete:
                await self._make_safe()
        finally:
            self._writers -= 1
            if self._writers == 0:
                self._quiet.set()
        return count

    async def finish(self, modified_at_s: int | None, check_replacement: Callable[[], None]) -> bool:
        """Check, sync and rename to the final name; return whether it was this call that did.

        The file gets the time of its source where that is known. ``check_replacement`` : raises where the name must not
        be given to it any more.

        Raises
        ------
        RequestRefused : 400 or 422 when a sum is another; what was received is dropped then.
        OSError
        """
        async with self._finishing:
            await self._quiet.wait()
            if not (self.is_finished or self.is_dropped):
                await self._check_sums()
            if self._refusal is not None:
                raise self._refusal
            if self.is_finished:
                return False
            if modified_at_s is not None:
                os.utime(self._descriptor, (modified_at_s, modified_at_s))
            await asyncio.to_thread(os.fsync, self._descriptor)
            try:
                check_replacement()
            except RequestRefused as refusal:
                self.drop(refusal)
                raise
            self.replaced_bytes = publish(self._folder, self._part, self.name)
            self.is_finished = True
            await asyncio.to_thread(self._remove_journal)
            return True

    async def _check_sums(self) -> None:
        if not self._sums:
            return
        found = await asyncio.to_thread(compute_sums, self._descriptor, self.total_bytes, tuple(self._sums))
        try:
            for each in self._sums.values():
                each.require(found[each.checksum.algorithm])
        except RequestRefused as refusal:
            self.drop(refusal)

    def drop(self, refusal: RequestRefused) -> None:
        """Forget all that was received; the journal goes first, so that a crash leaves none without its file."""
        self.is_dropped, self._refusal = True, refusal
        for name in (self._part + JOURNAL_SUFFIX, self._part):
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
        if self._journal.is_long:
            self._journal.rewrite(self._synced, self.received, self._sha256)

    def _sync(self, ranges: list[tuple[int, int]]) -> None:
        os.fdatasync(self._descriptor)
        self._journal.note_synced(ranges)

    def _remove_journal(self) -> None:
        os.fsync(self._folder)
        with suppress(FileNotFoundError):
            os.unlink(self._part + JOURNAL_SUFFIX, dir_fd=self._folder)


def write_fully(descriptor: int, blocks: Sequence[bytes], offset: int) -> None:
    """Write all blocks, one after the other, from ``offset`` on."""
    data = memoryview(b"".join(blocks))
    while data:
        written = os.pwrite(descriptor, data, offset)
        data, offset = data[written:], offset + written


def publish(folder: int, part: str, name: str) -> int | None:
    """Give a synced part file its final name; the caller syncs the folder.

    The event loop calls it, so that of two files of one name each knows what it replaced.

    Returns
    -------
    Size of the file that it replaced, ``None`` where there was none.
    """
    try:
        replaced_bytes = os.stat(name, dir_fd=folder, follow_symlinks=False).st_size
    except FileNotFoundError:
        replaced_bytes = None
    os.rename(part, name, src_dir_fd=folder, dst_dir_fd=folder)
    return replaced_bytes


def open_upload(
    folder: int, name: str, upload_id: str, total_bytes: int | None, *, boot: str, space: StorageQuota
) -> UnfinishedFile | None:
    """Open an upload as its journal left it, or begin it; None when there is none and ``total_bytes`` is None.

    Parameters
    ----------
    folder : descriptor of the folder the file goes to; duplicated, so the caller keeps its own.
    space : counts its part file and its journal from now on until they are removed. Those there are counted already.

    Raises
    ------
    RequestRefused : 409 when another server process receives it, 507; nothing new is left behind.
    OSError
    """
    part = make_part_name(name, upload_id)
    with ExitStack() as on_failure:
        try:
            data = os.open(part, _PART_FLAGS, dir_fd=folder)
        except FileNotFoundError:
            if total_bytes is None:
                return None
            remove_file(folder, part + JOURNAL_SUFFIX, space)  # left by a crash: it speaks of another file
            data = _create_part(folder, part, total_bytes, space, on_failure)
        on_failure.callback(os.close, data)
        _lock(data)
        notes = _open_journal(folder, part + JOURNAL_SUFFIX, space)
        on_failure.callback(os.close, notes)
        status = os.fstat(data)
        state = read_journal(_read_text(notes), boot=boot, inode=status.st_ino)
        if state is None:
            state = PartLogState(total_bytes or status.st_size, is_trusted=True)
            space.resize(status.st_size, state.total_bytes)
        journal = PartLog(
            notes, total_bytes=state.total_bytes, boot=boot, inode=status.st_ino, on_size=space.note_journal
        )
        journal.rewrite(
            *((ByteRanges(), state.received) if state.is_trusted else (state.received, ByteRanges())), state.sha256
        )
        os.ftruncate(data, state.total_bytes)
        upload = UnfinishedFile(os.dup(folder), name=name, part=part, descriptor=data, journal=journal, state=state)
        on_failure.pop_all()
    return upload


def _create_part(folder: int, part: str, total_bytes: int, space: StorageQuota, on_failure: ExitStack) -> int:
    """Return the descriptor of a new part file, for which there is room; on failure it is removed with its journal."""
    check_free_space(folder, total_bytes)
    space.reserve(total_bytes)
    try:
        data = os.open(part, _PART_FLAGS | os.O_CREAT | os.O_EXCL, 0o666, dir_fd=folder)
    except BaseException:
        space.release(total_bytes)
        raise
    on_failure.callback(remove_file, folder, part, space, counted_bytes=total_bytes)
    on_failure.callback(remove_file, folder, part + JOURNAL_SUFFIX, space)
    try:
        os.ftruncate(data, total_bytes)
    except BaseException:
        os.close(data)
        raise
    return data


def _open_journal(folder: int, name: str, space: StorageQuota) -> int:
    flags = _PART_FLAGS | os.O_APPEND
    try:
        return os.open(name, flags, dir_fd=folder)
    except FileNotFoundError:
        notes = os.open(name, flags | os.O_CREAT, 0o600, dir_fd=folder)
        space.note_journal(None, 0)
        return notes


def remove_file(folder: int, name: str, space: StorageQuota, *, counted_bytes: int | None = None) -> None:
    """Remove a part file or journal, if it is there, and give back its room: its size, unless another was counted."""
    try:
        size_bytes = os.stat(name, dir_fd=folder, follow_symlinks=False).st_size
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        return
    if is_journal(name):
        space.note_journal(size_bytes, None)
    else:
        space.release(size_bytes if counted_bytes is None else counted_bytes)


def _lock(descriptor: int) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise RequestRefused(HTTPStatus.CONFLICT, "another server process is receiving this upload") from error


def _read_text(descriptor: int) -> str:
    size = os.fstat(descriptor).st_size
    return os.pread(descriptor, size, 0).decode("ascii", "replace")
