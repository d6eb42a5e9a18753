"""The local folders that files are copied to: the names in them, and whether files can be made there."""

import errno
import os
from itertools import islice

MOST_NAMES = 50_000
"""In a larger folder each file is looked for: reading all names holds up the connections."""


class FolderNames:
    """The names that stood in each folder when the first file came to it.

    Most files of a copy are new. To look for each of them, its part and its journal takes longer than to receive a
    small file, so a folder is read once. What comes to stand there later is met when the part is created or named.
    """

    def __init__(self) -> None:
        self._names: dict[str, frozenset[str] | None] = {}
        self._refusals: dict[str, OSError | None] = {}

    def may_hold(self, folder: str, *names: str) -> bool:
        """Return whether one of the names may stand in the folder; where it cannot be read, any may."""
        try:
            found = self._names[folder]
        except KeyError:
            found = self._names[folder] = _read_names(folder)
        return found is None or any(name in found for name in names)

    def find_refusal(self, folder: str) -> OSError | None:
        """Return the error that making a file in the folder, or making the folder, would meet; ``None`` of none."""
        if folder not in self._refusals:
            self._refusals[folder] = _find_refusal(folder)
        return self._refusals[folder]


def _find_refusal(folder: str) -> OSError | None:
    """Look at the folder, or at the nearest one above it that is there."""
    while not os.path.exists(folder) and (above := os.path.dirname(folder) or os.curdir) != folder:
        folder = above
    if os.access(folder, os.W_OK | os.X_OK):
        return None
    number = errno.EACCES
    if not os.path.isdir(folder):
        number = errno.ENOTDIR
    elif os.statvfs(folder).f_flag & os.ST_RDONLY:
        number = errno.EROFS
    return OSError(number, os.strerror(number))


def _read_names(folder: str) -> frozenset[str] | None:
    """Return the names; ``None`` where they cannot be read, or where there are too many to be worth it."""
    try:
        with os.scandir(folder) as entries:
            found = frozenset(entry.name for entry in islice(entries, MOST_NAMES + 1))
        return found if len(found) <= MOST_NAMES else None
    except FileNotFoundError:
        return frozenset()
    except OSError:
        return None
