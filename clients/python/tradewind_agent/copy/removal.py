"""The files that a copy removes at its destination, because the source does not have them (`--delete`).

They are found before the first byte, so that the user can be asked, and removed after the last one, if every file was
copied. Files that the user's selection excludes are not looked at, nor are those of copies under way.
"""

import asyncio
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol
from urllib.parse import unquote

from tradewind.units import format_count
from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.local.local_folder import FileState, find_files, is_any_of, remove_file
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.engine.remote.path_selection import PathSelection, Selecting
from tradewind_agent.engine.remote.remote_tree import OnFolders
from tradewind_agent.stores.port import RemovalProgress, Store
from tradewind_agent.system_errors import explain_os_error


class Destination(Protocol):
    """A folder that files are removed from."""

    def format_place(self, path: str) -> str:
        """Return where a file is, as the user writes it."""

    def remove(self, paths: Sequence[str], copied: "SimilarNames", progress: RemovalProgress) -> None:
        """Remove files, and note what becomes of each.

        ``copied`` : the files of the copy, which may have other names at the destination.
        """


class SimilarNames:
    """The paths of files by what names have in common that differ in case or in the form of characters alone.

    A file system may ignore that: the file that was copied is then found under another name than the source has.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        self._paths: dict[str, list[str]] = {}
        for path in paths:
            self._paths.setdefault(_fold(path), []).append(path)

    def find(self, path: str) -> Sequence[str]:
        return self._paths.get(_fold(path), ())


def _fold(path: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())


@dataclass(frozen=True, slots=True)
class LocalDestination:
    """A local folder, with the files as they were found."""

    root: str
    files: Mapping[str, FileState] = field(repr=False)

    def format_place(self, path: str) -> str:
        return f"{self.root.rstrip('/')}/{path}"

    def remove(self, paths: Sequence[str], copied: SimilarNames, progress: RemovalProgress) -> None:
        for path in paths:
            if is_any_of(self.root, path, copied.find(path)):
                continue  # it is a file of the copy
            try:
                remove_file(self.root, path, self.files[path])
            except FileNotFoundError:
                progress.note_removed(path)
            except OSError as failure:
                progress.note_failure(path, f"cannot be removed: {explain_os_error(failure)}")
            else:
                progress.note_removed(path)


@dataclass(frozen=True, slots=True)
class RemoteDestination:
    """A folder in a store; ``listed`` : the paths of the files that it had."""

    store: Store
    url: Url
    options: EngineOptions = field(repr=False)
    listed: frozenset[str] = field(default=frozenset(), repr=False)

    def format_place(self, path: str) -> str:
        if (alias := self.store.alias) is None:
            return str(self.url.join_path(path))
        begin, written = alias
        return written + unquote(str(self.url).removeprefix(begin), errors="surrogateescape") + path

    def remove(self, paths: Sequence[str], copied: SimilarNames, progress: RemovalProgress) -> None:
        removable = []
        for path in paths:
            # What was listed together is not one file.
            if self.store.ignores_case and not self.listed.issuperset(copied.find(path)):
                progress.note_failure(path, "may be a copied file, if its server ignores case; the next run can tell")
            else:
                removable.append(path)
        asyncio.run(self.store.remove_paths(self.url, removable, self.options, progress))


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRemoval:
    """What a copy is to remove.

    ``paths`` : below the destination, in order; none where there is an obstacle.
    ``sources`` : of the files that the copy leaves there.
    ``obstacle`` : why nothing is removed, whatever is there.
    """

    destination: Destination
    paths: Sequence[str] = field(repr=False)
    sources: Sequence[str] = field(repr=False)
    obstacle: str | None = None

    def list_places(self) -> list[str]:
        """Return where the files are, as the user writes it."""
        return [self.destination.format_place(path) for path in self.paths]

    def describe(self) -> str:
        """Return what would be removed, as a part of a line."""
        if self.obstacle is not None:
            return f"; nothing is removed: {self.obstacle}"
        return f"; {format_count(len(self.paths), 'file')} to remove" if self.paths else "; no file to remove"


def plan_local_removal(
    root: str, sources: Sequence[str], selection: PathSelection, obstacle: str | None
) -> PlannedRemoval:
    """Return what is to be removed in a local folder.

    Parameters
    ----------
    sources : paths below the folder of the files that the source has.
    obstacle : why nothing is removed.

    Raises
    ------
    UnusableSource : the folder cannot be listed completely.
    """
    found = find_files(root, Selecting(selection)) if obstacle is None else {}
    paths = _find_extra(found, sources)
    destination = LocalDestination(root, {path: found[path] for path in paths})
    return PlannedRemoval(destination=destination, paths=paths, sources=sources, obstacle=obstacle)


async def plan_remote_removal(
    destination: RemoteDestination,
    sources: Sequence[str],
    selection: PathSelection,
    obstacle: str | None,
    on_folders: OnFolders,
) -> PlannedRemoval:
    """Do the same as `plan_local_removal` for a folder in a store."""
    found: Sequence[str] = ()
    if obstacle is None:
        selecting = Selecting(selection)
        found = await destination.store.list_paths(destination.url, destination.options, selecting, on_folders)
    paths = _find_extra(found, sources)
    there = replace(destination, listed=frozenset(found))
    return PlannedRemoval(destination=there, paths=paths, sources=sources, obstacle=obstacle)


def _find_extra(found: Iterable[str], sources: Iterable[str]) -> list[str]:
    return sorted(set(found).difference(sources))


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """What became of the files that were to be removed, as the user writes their places.

    ``obstacle`` : why nothing was removed.
    """

    removed: Sequence[str] = ()
    failures: Mapping[str, str] = field(default_factory=dict)
    obstacle: str | None = None

    @property
    def succeeded(self) -> bool:
        return self.obstacle is None and not self.failures

    def format_part(self) -> str:
        """Format the result as a part of the closing line."""
        if self.obstacle is not None:
            return f"; nothing removed: {self.obstacle}"
        words = f"; {format_count(len(self.removed), 'file')} removed"
        for place, reason in self.failures.items():
            return f"{words}, {len(self.failures)} not, first {place}: {reason}"
        return words

    def build_document(self) -> dict[str, Any]:
        """Return the fields of the report's document."""
        return {
            "removed": list(self.removed),
            "not_removed": [{"file": place, "reason": reason} for place, reason in self.failures.items()],
            "removal_obstacle": self.obstacle,
        }


class _Progress:
    def __init__(self, format_place: Callable[[str], str]) -> None:
        self._format_place = format_place
        self.removed: list[str] = []
        self.failures: dict[str, str] = {}

    def note_removed(self, path: str) -> None:
        self.removed.append(self._format_place(path))

    def note_failure(self, path: str, reason: str) -> None:
        self.failures[self._format_place(path)] = reason


def remove_planned(planned: PlannedRemoval, *, is_complete: bool) -> Removal:
    """Remove the files of a plan if the copy is complete, and return what became of them.

    An interrupt ends it; what was removed by then is in the result.
    """
    if planned.obstacle is not None:
        return Removal(obstacle=planned.obstacle)
    if not is_complete:
        return Removal(obstacle="not every file was copied")
    progress = _Progress(planned.destination.format_place)
    try:
        if planned.paths:
            planned.destination.remove(planned.paths, SimilarNames(planned.sources), progress)
    except KeyboardInterrupt:
        removed = set(progress.removed)
        for place in planned.list_places():
            if place not in removed:
                progress.failures.setdefault(place, "stopped before")
    return Removal(removed=tuple(progress.removed), failures=dict(progress.failures))
