"""Which files of a source are copied, by globs on their paths.

A path is written below its source, with slashes and without one at its beginning. ``*`` and ``?`` stand for characters
of one name, ``[…]`` for one of a set, ``**`` for any number of folders. A glob without a slash is compared with the
name of a file at any depth, another one with the entire path. One that ends with a slash names a folder with all in it.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import translate

from tradewind.errors import InvalidValue

_ANY_DEPTH = "**"


class PathGlob:
    """One glob, as the names along a path that it matches.

    Raises
    ------
    InvalidValue : a glob that no path can match.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        inner = text.removeprefix("/").removesuffix("/")
        is_anchored = "/" in inner or text.startswith("/")
        names = inner.split("/")
        if any(name in ("", ".", "..") for name in names) or "\0" in text:
            raise InvalidValue("glob", f"{text!r} matches no path; write it like *.nc, data/*.nc, data/** or data/")
        if any(map(_has_open_set, names)):
            raise InvalidValue("glob", f"{text!r} opens a set by [ and does not close it; write [[] for the character")
        if text.endswith("/"):
            names.append(_ANY_DEPTH)
        if not is_anchored:
            names.insert(0, _ANY_DEPTH)
        self._names = tuple(None if name == _ANY_DEPTH else re.compile(translate(name)).match for name in names)
        self._is_of_name = not is_anchored and not text.endswith("/") and inner != _ANY_DEPTH

    def matches(self, path: str) -> bool:
        """Return whether a file has a path that the glob matches."""
        if self._is_of_name:
            assert self._names[-1] is not None
            return self._names[-1](path.rpartition("/")[2]) is not None
        names = path.split("/")
        # The last `**` stands for one name at least: what is in a folder, not the folder.
        if self._names[-1] is None:
            return self._covers(self._follow(names[:-1]))
        return len(self._names) in self._follow(names)

    def may_match_below(self, folder: str) -> bool:
        """Return whether a file in a folder, at any depth, may have a path that the glob matches."""
        return any(position < len(self._names) for position in self._follow(folder.split("/")))

    def matches_all_below(self, folder: str) -> bool:
        """Return whether all files in a folder, at any depth, have paths that the glob certainly matches."""
        return self._names[-1] is None and self._covers(self._follow(folder.split("/")))

    def _covers(self, positions: set[int]) -> bool:
        return len(self._names) - 1 in positions

    def _follow(self, names: Iterable[str]) -> set[int]:
        """Return the positions in the glob at which it may go on behind these names; its length is its end."""
        positions = self._pass_depths({0})
        for name in names:
            found = set()
            for position in positions:
                if position == len(self._names):
                    continue
                match = self._names[position]
                if match is None:
                    found.add(position)
                elif match(name):
                    found.add(position + 1)
            positions = self._pass_depths(found)
        return positions

    def _pass_depths(self, positions: set[int]) -> set[int]:
        """Add the positions behind each ``**``, which may stand for no folder at all, unless it is the last."""
        for position in sorted(positions):
            after = position
            while after < len(self._names) - 1 and self._names[after] is None:
                after += 1
                positions.add(after)
        return positions


def _has_open_set(name: str) -> bool:
    """Return whether a name has a ``[`` without its ``]``, which may itself stand first in the set."""
    end = 0
    while (start := name.find("[", end)) >= 0:
        first = start + 1 + name.startswith("!", start + 1)
        end = name.find("]", first + 1) + 1
        if not end:
            return True
    return False


@dataclass(frozen=True, slots=True)
class PathSelection:
    """The files to copy: those that any of ``includes`` matches, or all without any, and none of ``excludes``."""

    includes: Sequence[PathGlob] = ()
    excludes: Sequence[PathGlob] = ()

    @classmethod
    def parse(cls, includes: Iterable[str], excludes: Iterable[str]) -> "PathSelection":
        """Read globs.

        Raises
        ------
        InvalidValue : one that no path can match.
        """
        return cls(tuple(map(PathGlob, includes)), tuple(map(PathGlob, excludes)))

    @property
    def is_all(self) -> bool:
        """Return whether every path is selected."""
        return not (self.includes or self.excludes)

    def selects(self, path: str) -> bool:
        """Return whether a file of this path is copied."""
        is_included = not self.includes or any(glob.matches(path) for glob in self.includes)
        return is_included and not any(glob.matches(path) for glob in self.excludes)

    def may_hold(self, folder: str) -> bool:
        """Return whether a folder may hold files that are copied; false only where that is certain."""
        if not folder:
            return True
        may_be_included = not self.includes or any(glob.may_match_below(folder) for glob in self.includes)
        return may_be_included and not any(glob.matches_all_below(folder) for glob in self.excludes)


SELECT_ALL = PathSelection()


@dataclass(frozen=True, slots=True)
class Excluded:
    """What a selection has left alone: ``files`` that were listed, and ``folders`` that were not looked into."""

    files: int = 0
    folders: int = 0

    def __add__(self, other: "Excluded") -> "Excluded":
        return Excluded(self.files + other.files, self.folders + other.folders)


NOTHING_EXCLUDED = Excluded()


class Selecting:
    """A selection at work, which counts what it excludes."""

    def __init__(self, selection: PathSelection = SELECT_ALL) -> None:
        self._selection = selection
        self._files = self._folders = 0

    @property
    def excluded(self) -> Excluded:
        return Excluded(self._files, self._folders)

    def take_file(self, path: str) -> bool:
        """Return whether a file of this path is copied, and count it if it is not."""
        if self._selection.is_all or self._selection.selects(path):
            return True
        self._files += 1
        return False

    def take_folder(self, folder: str) -> bool:
        """Return whether a folder is to be looked into, and count it if it is not."""
        if self._selection.is_all or self._selection.may_hold(folder):
            return True
        self._folders += 1
        return False
