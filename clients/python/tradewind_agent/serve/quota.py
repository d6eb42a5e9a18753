"""How much more the served folder may hold: a quota of its own and the file system's free space."""

import os
from http import HTTPStatus
from pathlib import Path

from tradewind_agent.serve.folder import PART_PREFIX
from tradewind_agent.serve.messages import Refused


class Space:
    """Bytes that finished files hold and that uploads under way have been promised.

    Parameters
    ----------
    quota_bytes : None for no other bound than the file system's.
    """

    def __init__(self, quota_bytes: int | None = None) -> None:
        self._quota_bytes = quota_bytes
        self._used_bytes = 0

    def measure(self, root: Path) -> None:
        """Count what the folder holds; walks the whole of it, but only when there is a quota."""
        if self._quota_bytes is not None:
            self._used_bytes = sum(
                Path(folder, name).lstat().st_size
                for folder, _, names in os.walk(root)
                for name in names
                if not name.startswith(PART_PREFIX)
            )

    def reserve(self, count_bytes: int) -> None:
        """Promise room for an upload.

        Raises
        ------
        Refused : 507.
        """
        if self._quota_bytes is not None and self._used_bytes + count_bytes > self._quota_bytes:
            left = max(0, self._quota_bytes - self._used_bytes)
            raise Refused(
                HTTPStatus.INSUFFICIENT_STORAGE,
                f"{count_bytes} bytes do not fit: {left} of the quota of {self._quota_bytes} bytes are left",
            )
        self._used_bytes += count_bytes

    def release(self, count_bytes: int) -> None:
        """Give back what an abandoned upload was promised, or what a replaced file held."""
        self._used_bytes -= count_bytes


def check_free_space(folder: int, needed_bytes: int) -> None:
    """See that the file system of an open folder has room.

    Raises
    ------
    Refused : 507.
    """
    status = os.statvfs(folder)
    free = status.f_bavail * status.f_frsize
    if needed_bytes > free:
        raise Refused(
            HTTPStatus.INSUFFICIENT_STORAGE, f"{needed_bytes} bytes do not fit: the file system has {free} bytes left"
        )
