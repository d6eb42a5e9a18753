"""What the sources of a copy hold: by their stores or a manifest, while connections open early."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tradewind.errors import InvalidValue
from tradewind_agent.copy.listing_checks import check_any, check_distinct, read_manifest
from tradewind_agent.engine.http.address import Origin, Url
from tradewind_agent.engine.http.tcp_info import TcpInfo
from tradewind_agent.engine.jobs import DownloadJobs
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.engine.remote.path_selection import NOTHING_EXCLUDED
from tradewind_agent.engine.remote.source import DownloadList, list_manifest
from tradewind_agent.stores.port import ListRequest, Place, Store


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


async def build_downloads(places: Sequence[Place], manifest: str | None, request: ListRequest) -> DownloadList:
    if manifest is None:
        found = await _list_by_store(places, request)
    elif len(places) <= 1:
        base = await places[0].store.prepare_downloads(places[0].url, request.options) if places else None
        # In a thread, so that connections open while thousands of lines are read.
        found = await asyncio.to_thread(
            lambda: list_manifest(read_manifest(manifest), base, request.destination, selection=request.selection)
        )
    else:
        raise InvalidValue("manifest", "needs exactly one source: the folder of its relative paths")
    check_any(found)
    check_distinct(found.jobs)
    return found


async def _list_by_store(places: Sequence[Place], request: ListRequest) -> DownloadList:
    """List what the places of each store hold."""
    by_store: dict[Store, list[Url]] = {}
    for place in places:
        by_store.setdefault(place.store, []).append(place.url)
    lists = [await store.list_downloads(urls, request) for store, urls in by_store.items()]
    return DownloadList(
        lists[0].jobs if len(lists) == 1 else DownloadJobs(job for found in lists for job in found.jobs),
        tuple(omission for found in lists for omission in found.omissions),
        sum((found.excluded for found in lists), NOTHING_EXCLUDED),
        is_folder=len(places) == 1 and lists[0].is_folder,
        unread_pages=tuple(place for found in lists for place in found.unread_pages),
    )


class RoundTrips:
    """Collects the least round trip that connections to each server have seen, s."""

    def __init__(self) -> None:
        self.least_s: dict[Origin, float] = {}

    def see(self, origin: Origin, info: TcpInfo) -> None:
        if info.min_rtt_s is not None:
            self.least_s[origin] = min(info.min_rtt_s, self.least_s.get(origin, info.min_rtt_s))
