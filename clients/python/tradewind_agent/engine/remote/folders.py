"""Folders on a WebDAV server, made when a file that is to be stored in one is refused (RFC 4918 §9.3)."""

import asyncio

from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.http.fetch import fetch
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.errors import FileFault, UnusableSource

_PARENT_MISSING = frozenset({404, 409})


class RemoteFolders:
    """Makes each folder once, whatever number of files waits for it."""

    def __init__(self, options: EngineOptions) -> None:
        self._options = options
        self._making: dict[Url, asyncio.Task[None]] = {}

    async def make(self, folder: Url) -> None:
        """Return when the server was asked for the folder, and for those above it where these are missing.

        Whether it made them is seen by the files that are sent next.
        """
        if folder not in self._making:
            self._making[folder] = asyncio.create_task(self._make(folder))
        await asyncio.shield(self._making[folder])

    async def _make(self, folder: Url) -> None:
        parent = Url(folder.origin, folder.path.rstrip("/").rpartition("/")[0] + "/", folder.login)
        if await self._ask(folder) in _PARENT_MISSING and parent != folder:
            await self.make(parent)
            await self._ask(folder)

    async def _ask(self, folder: Url) -> int | None:
        """Return the status of the answer, if there was one."""
        try:
            answer = await fetch(folder, self._options, {}, method="MKCOL")
        except (FileFault, UnusableSource):
            return None
        return answer.head.status

    def close(self) -> None:
        """Ask no more."""
        for task in self._making.values():
            task.cancel()
