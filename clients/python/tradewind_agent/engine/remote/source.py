"""From what a user names to jobs: URLs of files and folders, manifests, local files and folders."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.http.fetch import OnConnection
from tradewind_agent.engine.jobs import DownloadJob, DownloadJobs, SizeTrust, UploadJob, find_repeated
from tradewind_agent.engine.local.local_tree import list_tree
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.engine.remote.index_page import check_segment
from tradewind_agent.engine.remote.index_request import IndexClient
from tradewind_agent.engine.remote.link_paths import normalise_place
from tradewind_agent.engine.remote.manifest import parse_manifest
from tradewind_agent.engine.remote.omissions import REPORT_ALL, LinkRule, ListingRules, Omission
from tradewind_agent.engine.remote.path_selection import (
    NOTHING_EXCLUDED,
    SELECT_ALL,
    Excluded,
    PathSelection,
    Selecting,
)
from tradewind_agent.engine.remote.remote_tree import OnFolders, RemoteTree
from tradewind_agent.errors import UnusableSource

_Job = TypeVar("_Job", DownloadJob, UploadJob)


@dataclass(frozen=True, slots=True)
class DownloadList:
    """Files to fetch, and what the sources hold that cannot be.

    ``is_folder`` : all that one folder holds was listed.
    ``unread_pages`` : addresses of pages that may list further files.
    """

    jobs: DownloadJobs
    omissions: tuple[Omission, ...] = ()
    excluded: Excluded = NOTHING_EXCLUDED
    is_folder: bool = False
    unread_pages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UploadList:
    """Files to send, and what the sources hold that cannot be."""

    jobs: list[UploadJob]
    omissions: tuple[Omission, ...] = ()
    excluded: Excluded = NOTHING_EXCLUDED


async def list_downloads(
    sources: Sequence[Url],
    destination: Path,
    options: EngineOptions,
    *,
    on_connection: OnConnection | None = None,
    on_folders: OnFolders = lambda _: None,
    into_folder: bool = False,
    selection: PathSelection = SELECT_ALL,
) -> DownloadList:
    """List files to fetch: a URL that ends with a slash is a folder, with all below it; any other is one file.

    One without a slash that the server redirects to itself with a slash is a folder too.

    ``destination`` is the file's own name for a single file, unless it is a folder or ``into_folder`` says it is to be;
    else the folder to fill.
    ``on_connection`` is called with each connection that carried an index, ``on_folders`` with a count of folders.
    ``selection`` is of paths below each source; of a source that is a file, of its name.

    Raises
    ------
    UnusableSource : an index page that does not answer or is not understood, or two files of one name.
    """
    client = IndexClient(options, on_connection)
    sources = await asyncio.gather(*(client.follow_to_folder(source) for source in sources))
    is_folder = into_folder or destination.is_dir()  # noqa: ASYNC240  # one stat
    selecting = Selecting(selection)
    tree = RemoteTree(client, on_folders, selecting)
    for source in sources:
        if not source.name:
            await tree.list(source, destination)
        elif selecting.take_file(source.name):
            place = destination / check_segment(source.name, source) if is_folder or len(sources) > 1 else destination
            tree.jobs.append(DownloadJob(source=source, destination=str(place)))
    is_one_folder = len(sources) == 1 and not sources[0].name
    jobs = DownloadJobs(_deduplicate(tree.jobs)) if find_repeated(tree.jobs.iterate_field("destination")) else tree.jobs
    return DownloadList(jobs, tuple(tree.omissions), selecting.excluded, is_one_folder, tuple(tree.unread_pages))


def list_manifest(
    text: str, base: Url | None, destination: Path, *, selection: PathSelection = SELECT_ALL
) -> DownloadList:
    """List the files that a manifest names; its sizes and sums must be met.

    Raises
    ------
    UnusableSource, UnsafeName : see `parse_manifest`.
    """
    selecting, folder = Selecting(selection), str(destination / "x")[:-1]
    jobs = DownloadJobs(
        DownloadJob(
            source=entry.source,
            destination=folder + entry.path,  # joined as text, in a fifth of the time of a `Path`
            size_bytes=entry.size_bytes,
            size_trust=SizeTrust.BINDING if entry.size_bytes is not None else SizeTrust.LISTED,
            checksum=entry.checksum,
        )
        for entry in parse_manifest(text, base)
        if selecting.take_file(entry.path)
    )
    return DownloadList(jobs, excluded=selecting.excluded)


def list_uploads(sources: Sequence[Path], destination: Url, *, rules: ListingRules = REPORT_ALL) -> UploadList:
    """List local files to send, folders with all below them.

    ``destination`` is a folder if it ends with a slash, else the name of the one file to send.

    Raises
    ------
    UnusableSource : a source that is neither file nor folder, or several files for one name.
    """
    selecting = Selecting(rules.selection)
    if destination.name:
        source = _require_one_file(sources, destination)
        jobs = [_make_upload(source, destination)] if selecting.take_file(source.name) else []
        return UploadList(jobs, excluded=selecting.excluded)
    jobs = []
    omissions: list[Omission] = []
    for source in sources:
        for found in _list_below(source, destination, rules.links, selecting):
            if isinstance(found, Omission):
                omissions.append(found)
            else:
                jobs.append(found)
    return UploadList(_deduplicate(jobs), tuple(omissions), selecting.excluded)


def _require_one_file(sources: Sequence[Path], destination: Url) -> Path:
    if len(sources) == 1 and sources[0].is_file():
        return sources[0]
    for missing in (source for source in sources if not source.exists()):
        raise UnusableSource(f"{missing} does not exist")
    raise UnusableSource(f"{destination} names one file; end it with / to put several files into a folder")


def _list_below(source: Path, folder: Url, links: LinkRule, selecting: Selecting) -> Iterator[UploadJob | Omission]:
    if source.is_file():
        if selecting.take_file(source.name):
            yield _make_upload(source, folder.join_path(source.name))
    elif source.is_dir():
        for found in list_tree(source, links, selecting):
            if isinstance(found, Omission):
                yield found
            else:
                yield _make_upload(found, folder.join_path(found.relative_to(source).as_posix()))
    else:
        raise UnusableSource(f"{source} is neither a file nor a folder")


def _make_upload(source: Path, destination: Url) -> UploadJob:
    found = source.stat()
    return UploadJob(source=source, destination=destination, size_bytes=found.st_size, modified_at_ns=found.st_mtime_ns)


def _deduplicate(jobs: Sequence[_Job]) -> list[_Job]:
    """Return the jobs without those that are named twice; two files for one destination are refused."""
    found: dict[str | Url, _Job] = {}
    for job in jobs:
        first = found.setdefault(job.destination, job)
        if _normalise(first.source) != _normalise(job.source):
            raise UnusableSource(f"{job.source} and {first.source} would both become {job.destination}")
    return list(found.values())


def _normalise(source: Url | Path) -> object:
    return (source.origin, normalise_place(source.target)) if isinstance(source, Url) else source
