"""The port of stores."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.http.fetch import OnConnection
from tradewind_agent.engine.jobs import RelayJob, UploadJob
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.engine.remote.path_selection import SELECT_ALL, PathSelection, Selecting
from tradewind_agent.engine.remote.remote_tree import OnFolders
from tradewind_agent.engine.remote.source import DownloadList
from tradewind_agent.engine.skipping import StoredFile


@dataclass(frozen=True, slots=True, kw_only=True)
class ListRequest:
    """What is to be listed for whom; see `list_downloads` of `engine.remote.source`.

    ``into_folder`` : ``destination`` is to be a folder, even for one file.
    ``keeps_keys`` : the destination is an object store, which may have any key.
    """

    destination: Path
    options: EngineOptions
    into_folder: bool = False
    keeps_keys: bool = False
    selection: PathSelection = SELECT_ALL
    on_connection: OnConnection | None = None
    on_folders: OnFolders = lambda _: None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRequest:
    """What is to be found at the destinations of uploads, for whom."""

    options: EngineOptions
    on_folders: OnFolders = lambda _: None


class RemovalProgress(Protocol):
    """Notes what becomes of each file that is to be removed, so that an interrupt loses nothing of it."""

    def note_removed(self, path: str) -> None: ...

    def note_failure(self, path: str, reason: str) -> None: ...


class Store(Protocol):
    """A server that holds files.

    Attributes
    ----------
    kind : in reports, such as ``http`` or ``s3``.
    takes_properties : it stores what `ObjectProperties` say of a file.
    ignores_case : two names that differ in case alone, or in the form of characters, may be one file.
    """

    kind: str
    takes_properties: bool
    ignores_case: bool

    @property
    def alias(self) -> tuple[str, str] | None:
        """Return how addresses of the store begin and how the user writes that, where it differs."""

    async def list_downloads(self, sources: Sequence[Url], request: ListRequest) -> DownloadList:
        """List the files to fetch from this store.

        Raises
        ------
        UnusableSource
        """

    async def prepare_downloads(self, folder: Url, options: EngineOptions, /) -> Url:
        """Return where files below a folder are requested that no listing of the store names.

        Raises
        ------
        UnusableSource : nothing can be requested there.
        """

    async def prepare_uploads(self, destination: Url, options: EngineOptions, /) -> Url:
        """Return where files are sent; called before they are listed.

        Raises
        ------
        UnusableSource : nothing can be sent there.
        """

    async def find_stored(
        self, jobs: Sequence[UploadJob | RelayJob], request: StoredRequest
    ) -> Sequence[StoredFile | None]:
        """Return what is at the destination of each job; ``None`` where nothing is, an empty value where it is unknown.

        Raises
        ------
        UnusableSource : it is unknown, and the rule by which files are skipped needs it.
        """

    async def list_paths(
        self, folder: Url, options: EngineOptions, selecting: Selecting, on_folders: OnFolders
    ) -> Sequence[str]:
        """Return the paths of all selected files below a folder; none where it is not there.

        Raises
        ------
        UnusableSource : they cannot all be listed.
        """

    async def remove_paths(
        self, folder: Url, paths: Sequence[str], options: EngineOptions, progress: RemovalProgress
    ) -> None:
        """Remove files below a folder; what becomes of each is noted."""


@dataclass(frozen=True, slots=True)
class Place:
    """An address in a store, as the engine requests it."""

    store: Store
    url: Url
