"""The space of the served folder: its quota and the free space of the file system."""

import os
from http import HTTPStatus
from pathlib import Path
from threading import Lock

from tradewind.units import KIB
from tradewind_agent.serve.messages import RequestRefused
from tradewind_agent.serve.uploads.part_log import is_journal

LEAST_FILE_BYTES = 4 * KIB
"""What a file or a folder takes on disk, however little it holds: a block of the usual file systems."""

OVERHEAD_BYTES = 64 * KIB
"""Space of folders, journals and the blocks of tiny files beyond the quota: a file of exactly its size fits."""


class StorageQuota:
    """Bytes that files hold, and that uploads under way have been promised: unfinished parts count too.

    A file is counted from its start until it is removed, also across restarts. Journals, folders,
    and what tiny files take beyond their size, are overhead: it counts where it is more than ``OVERHEAD_BYTES``.

    Parameters
    ----------
    quota_bytes : None for no other bound than the file system's.
    """

    def __init__(self, quota_bytes: int | None = None) -> None:
        self._quota_bytes = quota_bytes
        self._used_bytes = 0
        self._overhead_bytes = 0
        self._changing = Lock()  # journals are written outside the event loop

    def measure(self, root: Path) -> None:
        """Count what the folder holds; walks it only when there is a quota."""
        if self._quota_bytes is None:
            return
        for folder, folders, names in os.walk(root):
            self._add(0, LEAST_FILE_BYTES * len(folders))
            for name in names:
                size_bytes = Path(folder, name).lstat().st_size
                if is_journal(name):
                    self.note_journal(None, size_bytes)
                else:
                    self._add(size_bytes, _compute_overhead(size_bytes))

    def reserve(self, size_bytes: int) -> None:
        """Promise room for a file.

        Raises
        ------
        RequestRefused : 507.
        """
        self._require(size_bytes, size_bytes, _compute_overhead(size_bytes))
        self._add(size_bytes, _compute_overhead(size_bytes))

    def resize(self, before_bytes: int, after_bytes: int) -> None:
        """Promise a file that has room already another size.

        Raises
        ------
        RequestRefused : 507 where it grows.
        """
        more, overhead = after_bytes - before_bytes, _compute_overhead(after_bytes) - _compute_overhead(before_bytes)
        if more > 0:
            self._require(after_bytes, more, overhead)
        self._add(more, overhead)

    def reserve_folder(self) -> None:
        """Promise room for a folder, which nobody removes.

        Raises
        ------
        RequestRefused : 507.
        """
        self._require(0, 0, LEAST_FILE_BYTES)
        self._add(0, LEAST_FILE_BYTES)

    def release(self, size_bytes: int) -> None:
        """Give back the room of a file that is no longer there."""
        self._add(-size_bytes, -_compute_overhead(size_bytes))

    def note_journal(self, before_bytes: int | None, after_bytes: int | None) -> None:
        """Count what a journal has come to hold, whether there is room or not; ``None`` while there is none."""
        before, after = (0 if size is None else max(size, LEAST_FILE_BYTES) for size in (before_bytes, after_bytes))
        self._add(0, after - before)

    def _require(self, size_bytes: int, more_bytes: int, overhead_bytes: int) -> None:
        if self._quota_bytes is None:
            return
        beyond = max(0, self._overhead_bytes + overhead_bytes - OVERHEAD_BYTES)
        if self._used_bytes + beyond + more_bytes > self._quota_bytes:
            left = max(0, self._quota_bytes - self._used_bytes - beyond - more_bytes + size_bytes)
            raise RequestRefused(
                HTTPStatus.INSUFFICIENT_STORAGE,
                f"{size_bytes} bytes do not fit: {left} of the quota of {self._quota_bytes} bytes are left",
            )

    def _add(self, size_bytes: int, overhead_bytes: int) -> None:
        with self._changing:
            self._used_bytes += size_bytes
            self._overhead_bytes += overhead_bytes


def _compute_overhead(size_bytes: int) -> int:
    return max(0, LEAST_FILE_BYTES - size_bytes)


def check_free_space(folder: int, needed_bytes: int) -> None:
    """See that the file system of an open folder has room.

    Raises
    ------
    RequestRefused : 507.
    """
    status = os.statvfs(folder)
    free = status.f_bavail * status.f_frsize
    if needed_bytes > free:
        raise RequestRefused(
            HTTPStatus.INSUFFICIENT_STORAGE, f"{needed_bytes} bytes do not fit: the file system has {free} bytes left"
        )
