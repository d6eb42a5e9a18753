"""Folders on a WebDAV server, made when a file that is to be stored in one is refused (RFC 4918 §9.3)."""

import asyncio
from collections.abc import Callable

from tradewind_agent.engine.access_advice import advise_on_access
from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.http.fetch import FetchedAnswer, fetch
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.errors import FileFault, UnusableSource

_PARENT_MISSING = frozenset({404, 409})
_MISSING = frozenset({404, 409, 410})
_CREATED, _ERROR = 201, 400


class RemoteFolders:
    """Makes each folder once, whatever number of files waits for it."""

    def __init__(self, options: EngineOptions) -> None:
        self._options = options
        self._making: dict[Url, asyncio.Task[str]] = {}
        self._waiting: set[asyncio.Task[str]] = set()

    def make_for(self, url: Url, then: Callable[[str], None]) -> None:
        """Make the folder of a file at ``url``, then call ``then`` with why that is not possible, if so."""
        task = asyncio.create_task(self.make(Url(url.origin, url.folder, url.login)))
        self._waiting.add(task)

        def go_on(done: asyncio.Task[str]) -> None:
            self._waiting.discard(done)
            if not done.cancelled():
                then("" if done.exception() is not None else done.result())

        task.add_done_callback(go_on)

    async def make(self, folder: Url) -> str:
        """Make the folder, and those above it where these are missing; return why that is not possible, in a phrase.

        The phrase is empty where the folder may be there: the files that are sent next see that.
        """
        if folder not in self._making:
            self._making[folder] = asyncio.create_task(self._make(folder))
        return await asyncio.shield(self._making[folder])

    async def _make(self, folder: Url) -> str:
        if folder.path == "/":
            return ""  # every server has it
        parent = Url(folder.origin, folder.path.rstrip("/").rpartition("/")[0] + "/", folder.login)
        made = await self._ask("MKCOL", folder)
        if made is not None and made.head.status in _PARENT_MISSING and parent != folder:
            if refusal := await self.make(parent):
                return refusal
            made = await self._ask("MKCOL", folder)
        if made is None or made.head.status < _ERROR:
            if made is not None and made.head.status == _CREATED:
                self._options.hooks.note_webdav(folder.origin)
            return ""
        # Servers refuse a folder that somebody has made meanwhile by 405, which says the same where they make none.
        found = await self._ask("HEAD", folder)
        if found is None or found.head.status not in _MISSING:
            return ""
        advice = advise_on_access(made.head.status, made.head.headers, made.url, self._options)
        return f"the folder {folder} does not exist and could not be made (MKCOL: {made.head.status_line}{advice})"

    async def _ask(self, method: str, folder: Url) -> FetchedAnswer | None:
        """Return the answer, if there was one."""
        try:
            return await fetch(folder, self._options, {}, method=method)
        except (FileFault, UnusableSource):
            return None

    def close(self) -> None:
        """Ask no more."""
        for task in (*self._making.values(), *self._waiting):
            task.cancel()
