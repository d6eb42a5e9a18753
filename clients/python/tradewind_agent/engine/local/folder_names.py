"""The names in the local folders that files are copied to."""

import os


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
    try:
        return frozenset(os.listdir(folder))
    except FileNotFoundError:
        return frozenset()
    except OSError:
        return None
