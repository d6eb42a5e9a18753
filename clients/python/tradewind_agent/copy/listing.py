"""The files of a copy: what the sources hold, in which direction it goes, and how large each file is."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import unquote

from tradewind.errors import InvalidValue
from tradewind.transfer import Direction
from tradewind_agent.copy.file_sizes import query_sizes
from tradewind_agent.copy.listing_checks import (
    check_any,
    check_distinct,
    check_properties,
    hint_at_address,
    parse_local,
    read_manifest,
    require_one_folder,
)
from tradewind_agent.copy.removal import (
    PlannedRemoval,
    RemoteDestination,
    plan_local_removal,
    plan_remote_removal,
)
from tradewind_agent.engine.http.address import Origin, Url
from tradewind_agent.engine.http.tcp_info import TcpInfo
from tradewind_agent.engine.jobs import Job, SizeTrust
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.engine.remote.omissions import REPORT_ALL, ListingRules, Omission
from tradewind_agent.engine.remote.path_selection import NOTHING_EXCLUDED, Excluded
from tradewind_agent.engine.remote.remote_tree import OnFolders
from tradewind_agent.engine.remote.source import DownloadList, UploadList, list_manifest, list_uploads
from tradewind_agent.session.server_query import NO_DOCUMENT, fetch_document
from tradewind_agent.session.transfer_naming import TRANSFERS_PATH
from tradewind_agent.stores.http import HTTP_STORE
from tradewind_agent.stores.places import is_remote, open_places
from tradewind_agent.stores.port import ListRequest, Place, Store, StoredRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The files of one copy.

    ``remote`` : the server of the first file, which usually serves most of them.
    ``sizes_bytes`` : one size a job, in the order of the jobs; ``sizes_are_exact`` is false where some are estimates.
    ``rtt_s`` : least round trip to ``remote`` that the listing has seen; ``None`` without a direct connection.
    ``left_out`` : what the sources hold and the copy does not move; such a copy fails in the end.
    ``accepted`` : what is left out with the user's consent.
    ``excluded`` : what the user's selection has left alone; ``None`` where all is selected.
    ``removal`` : what is to be removed at the destination; ``None`` where nothing is to be.
    ``aliases`` : how addresses of stores begin, and how the user writes that.
    ``store`` : kind of the store that serves or takes them; ``None`` where there are several.
    ``meter`` : the answer of the only server about its meter, see `other_end`; ``None`` if it was not asked.
    """

    jobs: tuple[Job, ...] = field(repr=False)  # asyncio writes results out as it looks at its handler of signals
    direction: Direction
    remote: Origin
    sizes_bytes: tuple[int, ...] = field(repr=False)
    sizes_are_exact: bool
    left_out: tuple[Omission, ...] = ()
    accepted: tuple[Omission, ...] = ()
    excluded: Excluded | None = None
    removal: PlannedRemoval | None = None
    rtt_s: float | None = None
    aliases: tuple[tuple[str, str], ...] = ()
    store: str | None = None
    meter: bytes | None = None

    def format_address(self, url: str) -> str:
        """Return the address of a file as the user writes it."""
        for begin, alias in self.aliases:
            if url.startswith(begin):
                return alias + unquote(url.removeprefix(begin), errors="surrogateescape")
        return url


def list_files(
    sources: Sequence[str],
    destination: str,
    *,
    manifest: str | None = None,
    options: EngineOptions,
    rules: ListingRules = REPORT_ALL,
    ask_for_meter: bool = False,
    on_folders: OnFolders = lambda _: None,
) -> Listing:
    """List the files to copy.

    Parameters
    ----------
    sources : http(s) or s3 addresses (folders end with ``/``), or local paths when ``destination`` is http(s).
    manifest : path of a file that lists what to copy. Relative paths are below the only source, which may be left out
        if there are none.
    rules : what to do with links and with unreadable files.
    ask_for_meter : request the server's meter while its files are listed.
    on_folders : called with the number of further folders of a server that are being read.

    Raises
    ------
    InvalidValue : sources, destination and manifest do not go together.
    CopyFailed : there is nothing to copy.
    UnusableSource : a source cannot be listed.
    """
    remote_sources = [source for source in sources if is_remote(source)]
    if is_remote(destination):
        if remote_sources:
            raise InvalidValue("destination", "is remote like a source; one end must be local")
        if manifest is not None:
            raise InvalidValue("manifest", "lists what to fetch; it does not go with a remote destination")
        (place,) = open_places([destination], options)
        check_properties(options.properties, is_taken=place.store.takes_properties)
        return _list_uploads(sources, place, options, rules, on_folders)
    check_properties(options.properties, is_taken=False)
    if len(remote_sources) < len(sources):
        raise InvalidValue("sources", f"are local like the destination; {hint_at_address([*sources, destination])}")
    # Relative paths of a manifest are below its source, whether or not that was written with a slash.
    slash = "" if manifest is None else "/"
    places = open_places([source.rstrip("/") + slash if slash else source for source in sources], options)
    target = _Target(parse_local(destination), is_folder=destination.endswith("/"))
    if rules.delete:
        require_one_folder(sources, manifest, is_folder=True)
    listing = asyncio.run(
        _list_downloads(
            places,
            target,
            manifest,
            options,
            rules=rules,
            ask_for_meter=ask_for_meter,
            on_folders=on_folders,
        )
    )
    return _accept_omissions(listing, rules)


@dataclass(frozen=True, slots=True)
class _Target:
    """The place where downloads go.

    ``is_folder`` : the user has written a slash at its end, which also names a folder that does not exist yet.
    """

    path: Path
    is_folder: bool


def _accept_omissions(listing: Listing, rules: ListingRules) -> Listing:
    """Return the listing with the omissions that the user has accepted set apart."""
    accepted = tuple(omission for omission in listing.left_out if rules.is_accepted(omission))
    left_out = tuple(omission for omission in listing.left_out if omission not in accepted)
    excluded = None if rules.selection.is_all else listing.excluded
    return replace(listing, left_out=left_out, accepted=accepted, excluded=excluded)


def _list_uploads(
    sources: Sequence[str], place: Place, options: EngineOptions, rules: ListingRules, on_folders: OnFolders
) -> Listing:
    paths = [parse_local(source) for source in sources]
    if rules.delete:
        is_folder = not place.url.name and all(path.is_dir() or not path.exists() for path in paths)
        require_one_folder(sources, None, is_folder=is_folder)
    destination, found, removal = asyncio.run(_find_uploads(paths, place, options, rules, on_folders))
    jobs = found.jobs
    listing = Listing(
        jobs=tuple(jobs),
        direction=Direction.UPLOAD,
        remote=destination.origin,
        sizes_bytes=tuple(job.size_bytes for job in jobs),
        sizes_are_exact=True,
        left_out=found.omissions,
        excluded=found.excluded,
        removal=removal,
        aliases=() if place.store.alias is None else (place.store.alias,),
        store=place.store.kind,
        meter=None if place.store is HTTP_STORE else NO_DOCUMENT,
    )
    return _accept_omissions(listing, rules)


async def _find_uploads(
    sources: Sequence[Path], place: Place, options: EngineOptions, rules: ListingRules, on_folders: OnFolders
) -> tuple[Url, UploadList, PlannedRemoval | None]:
    """Return where files are sent, the files with what is there already, and what is to be removed there."""
    destination = await place.store.prepare_uploads(place.url, options)
    found = list_uploads(sources, destination, rules=rules)
    check_any(found)
    check_distinct(found.jobs)
    stored = await place.store.find_stored(found.jobs, StoredRequest(options=options))
    jobs = [job if there is None else replace(job, stored=there) for job, there in zip(found.jobs, stored, strict=True)]
    removal = None
    if rules.delete:
        begin = len(str(destination))
        paths = [unquote(str(job.destination)[begin:], errors="surrogateescape") for job in jobs]
        there = RemoteDestination(place.store, destination, options)
        obstacle = _find_obstacle(found.omissions)
        removal = await plan_remote_removal(there, paths, rules.selection, obstacle, on_folders)
    return destination, replace(found, jobs=jobs), removal


def _find_obstacle(omissions: Sequence[Omission]) -> str | None:
    """Return why nothing may be removed: what the source holds is not known, or not copied."""
    return f"{omissions[0].place} {omissions[0].reason}" if omissions else None


async def _list_downloads(
    places: Sequence[Place],
    target: _Target,
    manifest: str | None,
    options: EngineOptions,
    *,
    rules: ListingRules,
    ask_for_meter: bool,
    on_folders: OnFolders,
) -> Listing:
    urls = [place.url for place in places]
    round_trips = _RoundTrips()
    connecting = asyncio.create_task(_connect_early(urls, manifest, options))
    meter_query = None
    stores = {place.store for place in places}
    if ask_for_meter and manifest is None and stores == {HTTP_STORE} and len({url.origin for url in urls}) == 1:
        meter_query = asyncio.create_task(fetch_document(urls[0].join(TRANSFERS_PATH), options))
    try:
        request = ListRequest(
            destination=target.path,
            options=options,
            into_folder=target.is_folder or len(places) > 1,
            selection=rules.selection,
            on_connection=round_trips.see,
            on_folders=on_folders,
        )
        found = await _build_jobs(places, manifest, request)
        jobs = await query_sizes(found.jobs, options, round_trips.see)
        remote = jobs[0].source.origin
        await _time_handshake(remote, connecting, options, round_trips)
        meter = None if stores == {HTTP_STORE} else NO_DOCUMENT
        if meter_query is not None and urls[0].origin == remote:
            meter = await meter_query
    finally:
        connecting.cancel()
        if meter_query is not None:
            meter_query.cancel()
    removal = None
    if rules.delete:
        require_one_folder(places, manifest, is_folder=found.is_folder)
        begin = len(str(target.path / "x")) - 1
        below = [job.destination[begin:] for job in jobs]
        obstacle = _find_obstacle(found.omissions)
        removal = await asyncio.to_thread(plan_local_removal, str(target.path), below, rules.selection, obstacle)
    known = [job.size_bytes for job in jobs if job.size_bytes is not None]
    estimate = round(sum(known) / len(known)) if known else 0
    return Listing(
        jobs=tuple(jobs),
        direction=Direction.DOWNLOAD,
        remote=remote,
        sizes_bytes=tuple(estimate if job.size_bytes is None else job.size_bytes for job in jobs),
        sizes_are_exact=len(known) == len(jobs) and all(job.size_trust is not SizeTrust.ROUNDED for job in jobs),
        left_out=found.omissions,
        excluded=found.excluded,
        removal=removal,
        aliases=tuple(store.alias for store in stores if store.alias is not None),
        store=kinds.pop() if len(kinds := {store.kind for store in stores}) == 1 else None,
        rtt_s=None if options.proxies.find_proxy(remote) is not None else round_trips.least_s.get(remote),
        meter=meter,
    )


async def _connect_early(urls: Sequence[Url], manifest: str | None, options: EngineOptions) -> None:
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


async def _time_handshake(
    remote: Origin, connecting: "asyncio.Task[None]", options: EngineOptions, round_trips: "_RoundTrips"
) -> None:
    """Time the path by the handshakes that the transfer waits for anyway, if no request has timed it."""
    if options.early is None or remote in round_trips.least_s:
        return
    await connecting
    info = await options.early.wait_for_handshake(remote)
    if info is not None:
        round_trips.see(remote, info)


async def _build_jobs(places: Sequence[Place], manifest: str | None, request: ListRequest) -> DownloadList:
    if manifest is None:
        found = await _list_by_store(places, request)
    elif len(places) <= 1:
        # In a thread, so that connections open while thousands of lines are read.
        base = places[0].url if places else None
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
        [job for found in lists for job in found.jobs],
        tuple(omission for found in lists for omission in found.omissions),
        sum((found.excluded for found in lists), NOTHING_EXCLUDED),
        is_folder=len(places) == 1 and lists[0].is_folder,
    )


class _RoundTrips:
    """Collects the least round trip that connections to each server have seen, s."""

    def __init__(self) -> None:
        self.least_s: dict[Origin, float] = {}

    def see(self, origin: Origin, info: TcpInfo) -> None:
        if info.min_rtt_s is not None:
            self.least_s[origin] = min(info.min_rtt_s, self.least_s.get(origin, info.min_rtt_s))
