"""The names in the local folders that files are copied to."""

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

    def may_hold(self, folder: str, *names: str) -> bool:
        """Return whether one of the names may stand in the folder; where it cannot be read, any may."""
        try:
            found = self._names[folder]
        except KeyError:
            found = self._names[folder] = _read_names(folder)
        return found is None or any(name in found for name in names)


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
