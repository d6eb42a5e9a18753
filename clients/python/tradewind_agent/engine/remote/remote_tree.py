"""Everything below an index page: folder by folder, within bounds, and what had to be left out."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from urllib.parse import unquote

from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.jobs import DownloadJob, DownloadJobs, SizeTrust
from tradewind_agent.engine.remote.index_page import IndexPage, ListingEntries, ListingEntry
from tradewind_agent.engine.remote.index_request import IndexClient, ProbedAddress
from tradewind_agent.engine.remote.link_paths import normalise_place
from tradewind_agent.engine.remote.media_types import is_page_name
from tradewind_agent.engine.remote.omissions import Omission, OmissionKind
from tradewind_agent.engine.remote.path_selection import Selecting
from tradewind_agent.errors import UnusableSource

MOST_FOLDERS = 200_000
"""Index pages read for one source. Links that lead back can make a tree endless in ways that no page shows."""

LONGEST_PATH_BYTES = 4096
"""Of a request target; longer ones are refused by servers and, as paths, by file systems."""

MOST_REPEATED_NAMES = 8
"""Names in a path that stand in it before. Pages of a loop differ where they show the time or count their visitors."""

_FOLDERS_AT_ONCE = 64
"""Folders whose pages are held in memory at a time."""

_ENTRIES_LOOKED_AT = 64
"""Entries of one page that may be folders and are probed first; all of them once one is a folder."""

_EQUAL_ANCESTORS = {True: 1, False: 4}
"""Ancestors with the very same page that show a loop, by whether a page states sizes. Without sizes, folders that hold
one folder of the same name are ordinary."""

_IS_NO_INDEX = "answers with a web page that is no index; does it ask for a login?"

OnFolders = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class _Folder:
    """A folder to be read, and the pages above it.

    ``path`` : below the source, with a slash at its end; empty for the source itself.
    """

    url: Url
    destination: Path
    path: str = ""
    parent: "_Folder | None" = None
    read_at: Url | None = None
    rows: bytes = b""

    def list_ancestors(self) -> Iterator["_Folder"]:
        folder = self.parent
        while folder is not None:
            yield folder
            folder = folder.parent


class RemoteTree:
    """The files below one folder of a server.

    Parameters
    ----------
    on_folders : called with how many more folders are being read.
    selecting : decides which files are taken, and which folders are read.

    Attributes
    ----------
    jobs : the files found.
    omissions : what was found and left out.
    unread_pages : addresses of further pages of an index that were not read.
    """

    def __init__(self, client: IndexClient, on_folders: OnFolders, selecting: Selecting) -> None:
        self._client = client
        self._on_folders = on_folders
        self._selecting = selecting
        self._folders_read = 0
        self._folders_found: set[str] = set()
        self._outside_links: list[Omission] = []
        self.jobs = DownloadJobs()
        self.omissions: list[Omission] = []
        self.unread_pages: list[str] = []

    async def list(self, source: Url, destination: Path) -> None:
        """Find all files below ``source``, which are to be copied below ``destination``.

        Raises
        ------
        UnusableSource : the source itself cannot be listed. Folders below it are omissions then.
        """
        await self._walk(_Folder(source, destination))
        # A page may link what lies elsewhere in the tree, as menus do: that is copied from there.
        if self._outside_links:
            found = {normalise_place(place) for place in self._folders_found}
            found.update(normalise_place(str(job.source)) for job in self.jobs)
            self.omissions.extend(each for each in self._outside_links if normalise_place(each.place) not in found)
            self._outside_links.clear()

    async def _walk(self, source: _Folder) -> None:
        """Read the index pages of ``source`` and of all folders below it."""
        waiting = [source]
        while waiting:
            if self._folders_read >= MOST_FOLDERS:
                why = f"and {len(waiting) - 1} more folders were not read: {MOST_FOLDERS} index pages are the most"
                self._leave_out(waiting[0].url, why, OmissionKind.NOT_A_FILE)
                return
            block, waiting = waiting[:_FOLDERS_AT_ONCE], waiting[_FOLDERS_AT_ONCE:]
            self._folders_read += len(block)
            self._on_folders(len(block))
            for join_path in await asyncio.gather(*(self._read(folder) for folder in block)):
                waiting.extend(join_path)

    def _leave_out(self, place: Url, reason: str, kind: OmissionKind) -> None:
        self.omissions.append(Omission(str(place), reason, kind))

    async def _read(self, folder: _Folder) -> Sequence[_Folder]:
        """Take the files of one folder; return the folders in it."""
        try:
            url, page = await self._client.read(folder.url)
        except UnusableSource as error:
            if folder.parent is None:
                raise
            self._leave_out(folder.url, f"is a folder that cannot be read ({error})", OmissionKind.UNREADABLE)
            return ()
        folder = replace(folder, read_at=url, rows=page.rows)
        if _leads_back(folder, page):
            self._leave_out(folder.url, "leads back to a folder above it, whose files are copied", OmissionKind.LINK)
            return ()
        if folder.parent is not None and _find_last_name(url) != _find_last_name(folder.url):
            self._leave_out(folder.url, f"is a folder that leads elsewhere, to {url}", OmissionKind.UNREADABLE)
            return ()
        if page.is_other and folder.parent is not None:
            self._leave_out(folder.url, _IS_NO_INDEX, OmissionKind.UNREADABLE)
            return ()
        if page.is_other and page.entries:
            raise UnusableSource(f"{url} {_IS_NO_INDEX}")
        self._folders_found.add(str(url))
        self._outside_links.extend(each for each in page.left_out if self._is_selected(folder, url, each))
        self.unread_pages.extend(page.unread_pages)
        below = str(folder.destination / "x").removesuffix("x")
        entries = await self._resolve_unclear(url, page.entries)
        children = (self._take(folder, url, entry, below) for entry in entries)
        return [child for child in children if child is not None]

    def _take(self, folder: _Folder, url: Url, entry: ListingEntry, below: str) -> _Folder | None:
        """Take a file, or return a folder; ``below`` is the folder's destination as text that a name follows."""
        child = _find_address(url, entry)
        if len(child.target) > LONGEST_PATH_BYTES:
            self._leave_out(folder.url, f"holds paths of more than {LONGEST_PATH_BYTES} bytes", OmissionKind.NOT_A_FILE)
            return None
        path = folder.path + entry.name
        if entry.is_folder:
            if not self._selecting.take_folder(path):
                return None
            return _Folder(child, folder.destination / entry.name, f"{path}/", folder)
        if not self._selecting.take_file(path):
            return None
        self.jobs.append(
            DownloadJob(
                source=child,
                destination=below + entry.name,
                size_bytes=entry.size_bytes,
                size_trust=entry.size_trust,
                least_bytes=entry.least_bytes,
                etag=entry.etag,
                modified_at=entry.modified_at,
                may_be_folder=entry.may_be_folder and not is_page_name(entry.name),
            )
        )
        return None

    def _is_selected(self, folder: _Folder, url: Url, omission: Omission) -> bool:
        """Return whether something that cannot be copied would be, by its name."""
        name = unquote(omission.place.removeprefix(str(url)), errors="surrogateescape")
        if name.startswith("?"):
            return True  # it is not known which name it has
        take = self._selecting.take_folder if name.endswith("/") else self._selecting.take_file
        return name == omission.place or take(folder.path + name.rstrip("/"))

    async def _resolve_unclear(self, url: Url, entries: Sequence[ListingEntry]) -> Sequence[ListingEntry]:
        """Return the entries, with those that may be folders probed: some of them, or all if one is a folder."""
        if isinstance(entries, ListingEntries) and True not in entries.iterate_field("may_be_folder"):
            return entries
        unsettled = [entry for entry in entries if entry.may_be_folder]
        # Names without an extension first: of these most folders are.
        unsettled.sort(key=lambda entry: "." in entry.name.strip("."))
        settled: dict[str, ListingEntry] = {}
        first = list(islice(unsettled, _ENTRIES_LOOKED_AT))
        for block in (first, unsettled[len(first) :]):
            settled |= zip((each.name for each in block), await self._probe_entries(url, block), strict=True)
            if not any(entry.is_folder for entry in settled.values()):
                break
        return [settled.get(entry.name, entry) for entry in entries]

    async def _probe_entries(self, url: Url, entries: Sequence[ListingEntry]) -> Sequence[ListingEntry]:
        found = await asyncio.gather(*(self._client.probe(_find_address(url, entry)) for entry in entries))
        return [_apply_probe(entry, probe) for entry, probe in zip(entries, found, strict=True)]


def _apply_probe(entry: ListingEntry, probe: ProbedAddress | None) -> ListingEntry:
    """Return an entry with what the server has said of it."""
    if probe is None:
        return entry
    if probe.folder is not None:
        return replace(entry, is_folder=True, target=probe.folder.target, may_be_folder=False)
    if probe.size_bytes is None:
        return replace(entry, may_be_folder=False)
    return replace(entry, size_bytes=probe.size_bytes, size_trust=SizeTrust.LISTED, may_be_folder=False)


def _find_address(folder: Url, entry: ListingEntry) -> Url:
    if entry.target is not None:
        return Url(folder.origin, entry.target, folder.login)
    return folder.join_path(entry.name, is_folder=entry.is_folder)


def _find_last_name(folder: Url) -> str:
    return unquote(folder.path).rstrip("/").rpartition("/")[2]


def _leads_back(folder: _Folder, page: IndexPage) -> bool:
    """Return whether a page is that of a folder above it, as behind a link to one."""
    if folder.parent is None:
        return False
    if any(above.read_at == folder.read_at for above in folder.list_ancestors()):
        return True
    names = [above.destination.name for above in folder.list_ancestors()]
    if len(names) - len(set(names)) >= MOST_REPEATED_NAMES:
        return True
    if not any(entry.is_folder or entry.may_be_folder for entry in page.entries):
        return False
    has_sizes = any(entry.size_bytes is not None for entry in page.entries)
    equal = sum(above.rows == folder.rows for above in folder.list_ancestors())
    return equal >= _EQUAL_ANCESTORS[has_sizes]
