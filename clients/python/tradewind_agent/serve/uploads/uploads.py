"""The uploads that a server has open, and those it has just finished."""

import os
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus

from tradewind.units import format_count
from tradewind_agent.serve.folder import PART_PREFIX
from tradewind_agent.serve.messages import RequestRefused
from tradewind_agent.serve.uploads.quota import StorageQuota
from tradewind_agent.serve.uploads.unfinished import UnfinishedFile, make_part_name, open_upload, remove_file

MAX_IDLE = 128  # open but not written to at the moment; beyond it the longest idle is closed
MAX_REMEMBERED = 4096  # finished uploads whose late duplicates are recognised

Key = tuple[int, int, str]  # device and inode of the folder, name of the part file


@dataclass(slots=True)
class _OpenUpload:
    upload: UnfinishedFile
    users: int = 0


@dataclass(frozen=True, slots=True)
class FinishedUpload:
    """An upload that was finished: the file as it was then, to see whether it still is."""

    total_bytes: int
    status: tuple[int, int, int]  # inode, size, modification time in ns


class OpenUploads:
    """Opens each upload once, however many connections bring its parts.

    Parameters
    ----------
    boot : see ``PartLog``.
    part_expiry_s : unfinished parts untouched for longer are removed when a folder is first uploaded to.
    clock : POSIX seconds, as in modification times.
    """

    def __init__(
        self, space: StorageQuota, *, boot: str, part_expiry_s: float, clock: Callable[[], float] = time.time
    ) -> None:
        self._space, self._boot = space, boot
        self._part_expiry_s, self._clock = part_expiry_s, clock
        self._open: OrderedDict[Key, _OpenUpload] = OrderedDict()
        self._finished: OrderedDict[Key, FinishedUpload] = OrderedDict()
        self._swept: set[tuple[int, int]] = set()

    @contextmanager
    def open_upload(
        self, folder: int, name: str, upload_id: str, total_bytes: int | None
    ) -> Iterator[UnfinishedFile | None]:
        """Open or start the upload for the block; None when it is unknown and ``total_bytes`` is None.

        Raises
        ------
        RequestRefused : 409 for another size or another server process, 507.
        OSError
        """
        key = _make_key(folder, name, upload_id)
        opened = self._open.get(key)
        if opened is None:
            upload = self._begin(folder, name, upload_id, total_bytes)
            if upload is None:
                yield None
                return
            opened = self._open[key] = _OpenUpload(upload)
        opened.users += 1
        try:
            if total_bytes not in (None, opened.upload.total_bytes):
                raise RequestRefused(
                    HTTPStatus.CONFLICT,
                    f"this upload started with {format_count(opened.upload.total_bytes, 'byte')}, not {total_bytes}",
                )
            yield opened.upload
        finally:
            opened.users -= 1
            self._close_unused(key, opened)

    def find_finished(self, folder: int, name: str, upload_id: str) -> FinishedUpload | None:
        """Return the upload, if it was finished not long ago and its file is still the one."""
        key = _make_key(folder, name, upload_id)
        known = self._finished.get(key)
        if known is not None and known.status != read_file_status(folder, name):
            del self._finished[key]
            return None
        return known

    async def finish(
        self,
        folder: int,
        upload: UnfinishedFile,
        upload_id: str,
        modified_at_s: int | None,
        check_replacement: Callable[[], None],
    ) -> None:
        """See ``UnfinishedFile.finish``; it is remembered for duplicates that come late."""
        if not await upload.finish(modified_at_s, check_replacement):
            return
        self.remember(folder, upload.name, upload_id, upload.total_bytes)

    def remember(self, folder: int, name: str, upload_id: str, total_bytes: int) -> None:
        """Note that an upload was finished just now."""
        status = read_file_status(folder, name)
        if status is None:
            return
        self._finished[_make_key(folder, name, upload_id)] = FinishedUpload(total_bytes, status)
        while len(self._finished) > MAX_REMEMBERED:
            self._finished.popitem(last=False)

    def sweep(self, folder: int) -> None:
        """Remove what abandoned uploads left in a folder; looks into each folder once."""
        status = os.fstat(folder)
        if (status.st_dev, status.st_ino) in self._swept:
            return
        self._swept.add((status.st_dev, status.st_ino))
        self._remove_expired(folder)

    def _remove_expired(self, folder: int) -> None:
        """Remove what was left unfinished in a folder and not been touched for long; an upload that is open stays."""
        status = os.fstat(folder)
        opened = tuple(part for device, inode, part in self._open if (device, inode) == (status.st_dev, status.st_ino))
        with os.scandir(folder) as scan:
            parts = [item for item in scan if item.name.startswith(PART_PREFIX) and not item.name.startswith(opened)]
        for item in parts:
            if item.stat(follow_symlinks=False).st_mtime < self._clock() - self._part_expiry_s:
                remove_file(folder, item.name, self._space)

    def close(self) -> None:
        for opened in self._open.values():
            opened.upload.close()
        self._open.clear()

    def _begin(self, folder: int, name: str, upload_id: str, total_bytes: int | None) -> UnfinishedFile | None:
        try:
            return open_upload(folder, name, upload_id, total_bytes, boot=self._boot, space=self._space)
        except RequestRefused as refused:
            if refused.status is not HTTPStatus.INSUFFICIENT_STORAGE:
                raise
        self._remove_expired(folder)
        return open_upload(folder, name, upload_id, total_bytes, boot=self._boot, space=self._space)

    def _close_unused(self, key: Key, opened: _OpenUpload) -> None:
        """Close what is done, and what has been idle longest."""
        if opened.users:
            return
        if opened.upload.is_finished or opened.upload.is_dropped:
            self._close(key)
            return
        self._open.move_to_end(key)
        idle = [other for other, entry in self._open.items() if entry.users == 0]
        for other in idle[:-MAX_IDLE]:
            self._close(other)

    def _close(self, key: Key) -> None:
        """Close an upload; one that is neither finished nor dropped stays on disk and is still counted."""
        upload = self._open.pop(key).upload
        upload.close()
        if upload.is_finished or upload.is_dropped:
            self._space.note_journal(upload.journal_bytes, None)
        if upload.is_dropped:
            self._space.release(upload.total_bytes)
        if upload.replaced_bytes is not None:
            self._space.release(upload.replaced_bytes)


def read_file_status(folder: int, name: str) -> tuple[int, int, int] | None:
    """Return the inode, size and modification time in ns of a name in an open folder; None when there is none."""
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def _make_key(folder: int, name: str, upload_id: str) -> Key:
    status = os.fstat(folder)
    return status.st_dev, status.st_ino, make_part_name(name, upload_id)
