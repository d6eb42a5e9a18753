"""Web and WebDAV servers, by their indexes."""

from collections.abc import Sequence
from pathlib import Path

from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.http.fetch import OnConnection
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.engine.remote.remote_tree import OnFolders
from tradewind_agent.engine.remote.source import DownloadList, list_downloads


class HttpStore:
    """A web server, with an index or WebDAV's properties for each folder."""

    kind = "http"
    alias = None

    async def list_downloads(
        self,
        sources: Sequence[Url],
        destination: Path,
        options: EngineOptions,
        *,
        on_connection: OnConnection | None,
        on_folders: OnFolders,
        into_folder: bool,
    ) -> DownloadList:
        return await list_downloads(
            sources,
            destination,
            options,
            on_connection=on_connection,
            on_folders=on_folders,
            into_folder=into_folder,
        )

    async def prepare_uploads(self, destination: Url, _options: EngineOptions) -> Url:
        return destination


HTTP_STORE = HttpStore()
