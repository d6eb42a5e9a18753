"""What the sources of a copy hold: by their stores or a manifest, while connections open early."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tradewind.errors import InvalidValue
from tradewind_agent.engine.http.address import Origin, Url
from tradewind_agent.engine.http.tcp_info import TcpInfo
from tradewind_agent.engine.jobs import Job
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.engine.remote.omissions import Omission
from tradewind_agent.engine.remote.remote_tree import OnFolders
from tradewind_agent.engine.remote.source import DownloadList, list_manifest
from tradewind_agent.errors import CopyFailed, UnusableSource
from tradewind_agent.stores.port import ListRequest, Place, Store
from tradewind_agent.system_errors import explain_os_error


@dataclass(frozen=True, slots=True)
class Target:
    """The place where downloads go.

    ``is_folder`` : the user has written a slash at its end, which also names a folder that does not exist yet.
    ``keeps_keys`` : it is an object store, and so are the sources.
    """

    path: Path
    is_folder: bool
    keeps_keys: bool = False


async def connect_early(urls: Sequence[Url], manifest: str | None, options: EngineOptions) -> None:
    """Open the transfer's connections early if there will be several, and all lead directly to one server."""
    several = manifest is not None or len(urls) > 1 or not urls[0].name
    if options.early is None or not several or len({url.origin for url in urls}) != 1:
        return
    if options.proxies.find_proxy(urls[0].origin) is None:
        book = options.origins
        permitted = None if book is None else book.read(urls[0].origin, options.credentials).permitted
        if permitted is not None:
            options.early.most = min(options.early.most, permitted.count)
        await options.early.connect(urls[0].origin)


async def time_handshake(
    remote: Origin, connecting: "asyncio.Task[None]", options: EngineOptions, round_trips: "RoundTrips"
) -> None:
    """Time the path by the handshakes that the transfer waits for anyway, if no request has timed it."""
    if options.early is None or remote in round_trips.least_s:
        return
    await connecting
    info = await options.early.wait_for_handshake(remote)
    if info is not None:
        round_trips.see(remote, info)


async def build_downloads(
    places: Sequence[Place],
    target: Target,
    manifest: str | None,
    options: EngineOptions,
    *,
    round_trips: "RoundTrips",
    on_folders: OnFolders,
) -> DownloadList:
    if manifest is None:
        found = await _list_by_store(places, target, options, round_trips=round_trips, on_folders=on_folders)
    elif len(places) <= 1:
        # In a thread, so that connections open while thousands of lines are read.
        found = DownloadList(
            await asyncio.to_thread(
                lambda: list_manifest(_read_manifest(manifest), places[0].url if places else None, target.path)
            )
        )
    else:
        raise InvalidValue("manifest", "needs exactly one source: the folder of its relative paths")
    require_any(found.jobs, found.omissions)
    require_distinct_files(found.jobs)
    return found


async def _list_by_store(
    places: Sequence[Place],
    target: Target,
    options: EngineOptions,
    *,
    round_trips: "RoundTrips",
    on_folders: OnFolders,
) -> DownloadList:
    """List what the places of each store hold."""
    by_store: dict[Store, list[Url]] = {}
    for place in places:
        by_store.setdefault(place.store, []).append(place.url)
    request = ListRequest(
        destination=target.path,
        options=options,
        into_folder=target.is_folder or len(places) > 1,
        keeps_keys=target.keeps_keys,
        on_connection=round_trips.see,
        on_folders=on_folders,
    )
    lists = [await store.list_downloads(urls, request) for store, urls in by_store.items()]
    jobs = [job for found in lists for job in found.jobs]
    return DownloadList(jobs, tuple(omission for found in lists for omission in found.omissions))


class RoundTrips:
    """Collects the least round trip that connections to each server have seen, s."""

    def __init__(self) -> None:
        self.least_s: dict[Origin, float] = {}

    def see(self, origin: Origin, info: TcpInfo) -> None:
        if info.min_rtt_s is not None:
            self.least_s[origin] = min(info.min_rtt_s, self.least_s.get(origin, info.min_rtt_s))


def require_any(jobs: Sequence[Job], omissions: Sequence[Omission]) -> None:
    if jobs:
        return
    if not omissions:
        raise CopyFailed("nothing to copy: the sources hold no files")
    more = f", and {len(omissions) - 1} more things were left out" if len(omissions) > 1 else ""
    raise CopyFailed(f"nothing to copy: {omissions[0].place} {omissions[0].reason}{more}")


def require_distinct_files(jobs: Sequence[Job]) -> None:
    """Check that no two files of the copy have the same destination.

    Raises
    ------
    UnusableSource
    """
    first: dict[str, Job] = {}
    for job in jobs:
        if (other := first.setdefault(str(job.destination), job)) is not job:
            raise UnusableSource(f"{other.source} and {job.source} would both become {job.destination}")


def _read_manifest(manifest: str) -> str:
    try:
        return Path(manifest).read_text(encoding="utf-8-sig")
    except OSError as failure:
        raise CopyFailed(f"the manifest {manifest} cannot be read: {explain_os_error(failure)}") from None
    except UnicodeDecodeError:
        raise CopyFailed(f"the manifest {manifest} is not UTF-8 text; save it in that encoding") from None
