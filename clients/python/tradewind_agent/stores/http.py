"""Web and WebDAV servers, by their indexes."""

from collections.abc import Sequence

from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.jobs import RelayJob, UploadJob
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.engine.remote.path_selection import Selecting
from tradewind_agent.engine.remote.remote_tree import OnFolders
from tradewind_agent.engine.remote.source import DownloadList, list_downloads
from tradewind_agent.engine.skipping import StoredFile
from tradewind_agent.stores.http_removal import list_paths, remove_paths
from tradewind_agent.stores.http_stored import ReceiverQuery
from tradewind_agent.stores.port import ListRequest, RemovalProgress, StoredRequest


class HttpStore:
    """A web server, with an index or WebDAV's properties for each folder."""

    kind = "http"
    takes_properties = False
    ignores_case = True  # it may serve such a file system
    alias = None

    async def list_downloads(self, sources: Sequence[Url], request: ListRequest) -> DownloadList:
        return await list_downloads(
            sources,
            request.destination,
            request.options,
            on_connection=request.on_connection,
            on_folders=request.on_folders,
            into_folder=request.into_folder,
            selection=request.selection,
        )

    async def prepare_downloads(self, folder: Url, _options: EngineOptions) -> Url:
        return folder

    async def prepare_uploads(self, destination: Url, _options: EngineOptions) -> Url:
        return destination

    async def find_stored(
        self, jobs: Sequence[UploadJob | RelayJob], request: StoredRequest
    ) -> Sequence[StoredFile | None]:
        return await ReceiverQuery(request.options).find([job for job in jobs if isinstance(job, UploadJob)])

    async def list_paths(
        self, folder: Url, options: EngineOptions, selecting: Selecting, on_folders: OnFolders
    ) -> Sequence[str]:
        return await list_paths(folder, options, selecting, on_folders)

    async def remove_paths(
        self, folder: Url, paths: Sequence[str], options: EngineOptions, progress: RemovalProgress
    ) -> None:
        await remove_paths(folder, paths, options, progress)


HTTP_STORE = HttpStore()
