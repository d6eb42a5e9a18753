"""Files that were there before aria2 started: what it finds of a download is none that it has moved."""

import os
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

_CONTROL = ".aria2"
"""What aria2 appends to the name of a file for the one that says which parts of it are there."""


class PresentFiles:
    """The files of folders, with their sizes, as they are now, when aria2 has not started yet.

    Parameters
    ----------
    folders : where aria2 may write.
    goes_on : aria2 continues files that it has no notes about.
    """

    def __init__(self, folders: Iterable[Path], *, goes_on: bool) -> None:
        self._at_s, self._goes_on = time.time(), goes_on
        self._sizes_bytes: dict[str, int] = {}
        for folder in folders:
            with suppress(OSError), os.scandir(folder) as entries:
                place = os.path.realpath(folder)
                for each in entries:
                    with suppress(OSError):  # such as a link that leads nowhere
                        self._sizes_bytes[f"{place}/{each.name}"] = each.stat().st_size

    def find_earlier_bytes(self, row: Mapping[str, Any]) -> int | None:
        """Return how many bytes of a download that is seen for the first time were there before.

        ``None`` for a file that is there and stays as it is. Where aria2 has notes of a file, all bytes that it has
        when it is seen first are earlier ones: too many by what it has moved in a fraction of a second.
        """
        path = _find_path(row)
        if path is None or path not in self._sizes_bytes:
            return 0
        if row.get("status") == "complete" and self._is_unchanged(path):
            return None
        if path + _CONTROL in self._sizes_bytes:
            return int(row["completedLength"])
        return min(self._sizes_bytes[path], int(row["completedLength"])) if self._goes_on else 0

    def _is_unchanged(self, path: str) -> bool:
        try:
            return os.stat(path).st_ctime < self._at_s  # noqa: PTH116 -- of text, as the paths here are
        except OSError:
            return False


def _find_path(row: Mapping[str, Any]) -> str | None:
    """Return where the only file of a download is; a torrent has several."""
    files = row.get("files")
    if not isinstance(files, list) or len(files) != 1 or not isinstance(files[0], dict):
        return None
    path = files[0].get("path")
    if not isinstance(path, str) or not path:
        return None
    folder, name = os.path.split(path)
    return f"{os.path.realpath(folder)}/{name}"
