"""Which unfinished uploads of a store are this user's: their ids, each in a file that one run at a time holds.

A store lists unfinished uploads of a key without saying whose they are. One without parts could be that of another
program that has just started it. A note proves that it is ours, so that the next run goes on with it or ends it.
"""

import os
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from tradewind_agent.engine.local.locked_file import LockedElsewhere, LocksUnsupported, create_locked, open_locked
from tradewind_agent.folders import make_private

_LONGEST_ID_BYTES = 4096


class UploadNote:
    """The note of one object, held until it is closed.

    ``upload_id`` : of the upload that an earlier run has left; empty where there is none.
    """

    def __init__(self, path: Path, fd: int) -> None:
        self._path, self._fd = path, fd
        self.upload_id = os.pread(fd, _LONGEST_ID_BYTES, 0).decode("utf-8", "replace")

    def write(self, upload_id: str) -> None:
        """Note the id of an upload that has started; a disk that does not take it is no failure of the upload."""
        self.upload_id = upload_id
        with suppress(OSError):
            os.ftruncate(self._fd, 0)
            os.pwrite(self._fd, upload_id.encode(), 0)

    def close(self, *, is_over: bool) -> None:
        """Let others have the note; ``is_over`` : there is no unfinished upload any more."""
        if is_over:
            with suppress(FileNotFoundError):
                self._path.unlink()
        os.close(self._fd)


def open_note(folder: Path | None, address: str) -> UploadNote | None:
    """Open the note of the object at an address.

    ``None`` where there is no folder for notes, or another run is sending that object.
    """
    if folder is None:
        return None
    path = folder / sha256(address.encode("utf-8", "surrogateescape")).hexdigest()[:32]
    try:
        make_private(folder)
        fd = open_locked(path)
        if fd is None:
            fd = create_locked(path)
    except (OSError, LockedElsewhere, LocksUnsupported):
        return None
    return None if fd is None else UploadNote(path, fd)
