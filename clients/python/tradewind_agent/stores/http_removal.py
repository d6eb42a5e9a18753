"""The files below a folder of a web or WebDAV server, exactly, and their removal by DELETE."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tradewind_agent.engine.access_advice import advise_on_access
from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.http.fetch import fetch
from tradewind_agent.engine.local.journal import is_own_name
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.engine.remote.index_page import IndexPage
from tradewind_agent.engine.remote.index_request import FolderMissing, IndexClient
from tradewind_agent.engine.remote.path_selection import Selecting
from tradewind_agent.engine.remote.remote_tree import OnFolders, RemoteTree
from tradewind_agent.errors import FileFault, UnusableSource
from tradewind_agent.stores.port import RemovalProgress

_REQUESTS_AT_ONCE = 8
_REMOVED = frozenset({200, 202, 204, 404, 410})
_UNSUPPORTED = frozenset({405, 501})


class ExactIndexClient(IndexClient):
    """Reads listings that say of each entry that it is a file: of WebDAV, JSON, and the rows of nginx.

    Links of another page may be anything, which must not be removed.
    """

    def __init__(self, options: EngineOptions) -> None:
        super().__init__(options)
        self._is_webdav = True

    async def read(self, url: Url) -> tuple[Url, IndexPage]:
        found = await self.read_properties(url) if self._is_webdav else None
        if found is None:
            self._is_webdav = False
            found = await super().read(url)
        if not found[1].is_exact:
            raise UnusableSource(
                f"{url} is listed by a web page, which may not name every file; --delete needs WebDAV or JSON"
            )
        return found


async def list_paths(folder: Url, options: EngineOptions, selecting: Selecting, on_folders: OnFolders) -> list[str]:
    """Return the paths of all selected files below a folder; none where it is not there.

    Raises
    ------
    UnusableSource : a folder cannot be listed, or holds what has no plain name.
    """
    tree = RemoteTree(ExactIndexClient(options), on_folders, selecting)
    try:
        await tree.list(folder, Path())
    except FolderMissing:
        return []
    if tree.omissions:
        first = tree.omissions[0]
        raise UnusableSource(f"{folder} cannot be listed completely, as --delete needs: {first.place} {first.reason}")
    return [job.destination for job in tree.jobs if not is_own_name(job.destination.rpartition("/")[2])]


async def remove_paths(folder: Url, paths: Sequence[str], options: EngineOptions, progress: RemovalProgress) -> None:
    """Remove files below a folder one by one, a few at once; without support for that the first answer ends it.

    A redirect is not followed: what it leads to is another thing, such as a folder with all in it.
    """
    options = replace(options, most_redirects=0)
    gate = asyncio.Semaphore(_REQUESTS_AT_ONCE)
    unsupported = ""

    async def remove(path: str) -> None:
        nonlocal unsupported
        async with gate:
            if unsupported:
                progress.note_failure(path, unsupported)
                return
            try:
                answer = await fetch(folder.join_path(path), options, {"Accept-Encoding": "identity"}, method="DELETE")
            except FileFault as fault:
                progress.note_failure(path, str(fault))
                return
        if answer.head.status in _REMOVED:
            progress.note_removed(path)
            return
        advice = advise_on_access(answer.head.status, answer.head.headers, answer.url, options)
        reason = f"the server answered {answer.head.status_line}{advice}"
        if answer.head.status in _UNSUPPORTED:
            unsupported = reason = f"{reason}; it removes no files"
        progress.note_failure(path, reason)

    await asyncio.gather(*map(remove, paths))
