"""The files of a copy: what the sources hold, in which direction it goes, and how large each file is."""

import asyncio
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING
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
    reject_between_servers,
    require_folder,
    require_one_folder,
)
from tradewind_agent.copy.source_listing import RoundTrips, Target, build_downloads, connect_early, time_handshake
from tradewind_agent.engine.http.address import Origin, Url
from tradewind_agent.engine.jobs import DownloadJobs, Job, RelayJob, SizeTrust
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.engine.remote.omissions import REPORT_ALL, ListingRules, Omission
from tradewind_agent.engine.remote.path_selection import Excluded
from tradewind_agent.engine.remote.remote_tree import OnFolders
from tradewind_agent.engine.remote.source import DownloadList, UploadList, list_uploads
from tradewind_agent.query_secrets import hide_query_secrets
from tradewind_agent.session.server_query import NO_DOCUMENT, fetch_document
from tradewind_agent.session.transfer_naming import TRANSFERS_PATH
from tradewind_agent.stores.http import HTTP_STORE
from tradewind_agent.stores.places import is_remote, open_places
from tradewind_agent.stores.port import ListRequest, Place, StoredRequest

if TYPE_CHECKING:
    from tradewind_agent.copy.removal import PlannedRemoval


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
    ``receiver`` : the server that files go to from there; ``None`` where one end is this host.
    ``by_servers`` : the servers can move the files between them, without this host.
    """

    jobs: Sequence[Job] = field(repr=False)  # asyncio writes results out as it looks at its handler of signals
    direction: Direction
    remote: Origin
    sizes_bytes: Sequence[int] = field(repr=False)
    sizes_are_exact: bool
    left_out: tuple[Omission, ...] = ()
    accepted: tuple[Omission, ...] = ()
    excluded: Excluded | None = None
    removal: "PlannedRemoval | None" = None
    rtt_s: float | None = None
    aliases: tuple[tuple[str, str], ...] = ()
    store: str | None = None
    meter: bytes | None = None
    receiver: Origin | None = None
    by_servers: bool = False

    def format_address(self, url: str) -> str:
        """Return the address of a file as the user writes it, without the secrets of a query."""
        for begin, alias in self.aliases:
            if url.startswith(begin):
                return alias + unquote(url.removeprefix(begin), errors="surrogateescape")
        return hide_query_secrets(url)


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
        if remote_sources and len(remote_sources) < len(sources):
            raise InvalidValue("sources", "are local and remote; copy the ones, then the others")
        (place,) = open_places([destination], options)
        if remote_sources or (manifest is not None and not sources):
            reject_between_servers(options, rules)
            return _list_relays(sources, place, manifest, options, rules=rules, on_folders=on_folders)
        if manifest is not None:
            raise InvalidValue("manifest", "lists what to fetch; it does not go with files of this host")
        check_properties(options.properties, is_taken=place.store.takes_properties)
        return _list_uploads(sources, place, options, rules, on_folders)
    check_properties(options.properties, is_taken=False)
    if len(remote_sources) < len(sources):
        hint = hint_at_address([*sources, destination]) or "copy the ones, then the others"
        raise InvalidValue("sources", f"are local, as the destination is; {hint}")
    places = _open_sources(sources, manifest, options)
    target = Target(parse_local(destination), is_folder=destination.endswith("/"))
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


def _open_sources(sources: Sequence[str], manifest: str | None, options: EngineOptions) -> list[Place]:
    """Return the places of sources.

    Relative paths of a manifest are below its source, whether or not that was written with a slash.

    Raises
    ------
    UnusableSource : no such address, or a file in place of the folder of a manifest.
    """
    if manifest is None:
        return open_places(sources, options)
    for place in open_places([source for source in sources if not source.endswith("/")], options):
        if place.store is HTTP_STORE:
            asyncio.run(require_folder(place.url, options))
    return open_places([source.rstrip("/") + "/" for source in sources], options)


def _list_relays(
    sources: Sequence[str],
    destination: Place,
    manifest: str | None,
    options: EngineOptions,
    *,
    rules: ListingRules,
    on_folders: OnFolders,
) -> Listing:
    from tradewind_agent.copy.relays import find_third_party, make_relays  # noqa: PLC0415 -- rarely used

    places = _open_sources(sources, manifest, options)
    keeps_keys = bool(places) and all(place.store.kind == destination.store.kind == "s3" for place in places)
    target = Target(Path(), is_folder=True, keeps_keys=keeps_keys)
    listing = asyncio.run(
        _list_downloads(places, target, manifest, options, rules=rules, ask_for_meter=False, on_folders=on_folders)
    )
    jobs = make_relays(listing.jobs, [place.url for place in places], destination.url)
    sent_to = asyncio.run(destination.store.prepare_uploads(destination.url, options))
    if sent_to != destination.url:  # the bucket is in another region
        jobs = make_relays(listing.jobs, [place.url for place in places], sent_to)
    jobs = _look_what_is_there(jobs, destination, options)
    alias = destination.store.alias
    by_servers = options.third_party and (keeps_keys or asyncio.run(find_third_party(jobs, sent_to, options)))
    return _accept_omissions(
        replace(
            listing,
            jobs=tuple(jobs),
            direction=Direction.THIRD_PARTY,
            receiver=sent_to.origin,
            by_servers=by_servers,
            aliases=(*listing.aliases, *(() if alias is None else (alias,))),
            meter=NO_DOCUMENT,
        ),
        rules,
    )


def _look_what_is_there(jobs: Sequence[RelayJob], destination: Place, options: EngineOptions) -> list[RelayJob]:
    """Return the jobs with what an object store has under their names; web servers are asked file by file."""
    if destination.store is HTTP_STORE:
        return list(jobs)
    stored = asyncio.run(destination.store.find_stored(jobs, StoredRequest(options=options)))
    return [replace(job, stored=there) for job, there in zip(jobs, stored, strict=True)]


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
) -> "tuple[Url, UploadList, PlannedRemoval | None]":
    """Return where files are sent, the files with what is there already, and what is to be removed there."""
    destination = await place.store.prepare_uploads(place.url, options)
    found = list_uploads(sources, destination, rules=rules)
    check_any(found)
    check_distinct(found.jobs)
    stored = await place.store.find_stored(found.jobs, StoredRequest(options=options))
    jobs = [job if there is None else replace(job, stored=there) for job, there in zip(found.jobs, stored, strict=True)]
    removal = None
    if rules.delete:
        from tradewind_agent.copy.removal import RemoteDestination, plan_remote_removal  # noqa: PLC0415 -- rarely used

        begin = len(str(destination))
        paths = [unquote(str(job.destination)[begin:], errors="surrogateescape") for job in jobs]
        there = RemoteDestination(place.store, destination, options)
        obstacle = _find_obstacle(found.omissions)
        removal = await plan_remote_removal(there, paths, rules.selection, obstacle, on_folders)
    return destination, replace(found, jobs=jobs), removal


def _find_obstacle(omissions: Sequence[Omission], unread_pages: Sequence[str] = ()) -> str | None:
    """Return why nothing may be removed: what the source holds is not known, or not copied."""
    if omissions:
        return f"{omissions[0].place} {omissions[0].reason}"
    return f"{unread_pages[0]} is a page of the index that was not read" if unread_pages else None


async def _list_downloads(
    places: Sequence[Place],
    target: Target,
    manifest: str | None,
    options: EngineOptions,
    *,
    rules: ListingRules,
    ask_for_meter: bool,
    on_folders: OnFolders,
) -> Listing:
    round_trips = RoundTrips()
    stores = {place.store for place in places}
    connecting = asyncio.create_task(connect_early([place.url for place in places], manifest, options))
    meter_query = _start_meter_query(places, options) if ask_for_meter and manifest is None else None
    try:
        request = ListRequest(
            destination=target.path,
            options=options,
            into_folder=target.is_folder or len(places) > 1,
            keeps_keys=target.keeps_keys,
            selection=rules.selection,
            on_connection=round_trips.see,
            on_folders=on_folders,
        )
        found = await build_downloads(places, manifest, request)
        jobs = await query_sizes(found.jobs, options, round_trips.see)
        remote = jobs[0].source.origin
        await time_handshake(remote, connecting, options, round_trips)
        meter = None if stores == {HTTP_STORE} else NO_DOCUMENT
        if meter_query is not None and places[0].url.origin == remote:
            meter = await meter_query
    finally:
        connecting.cancel()
        if meter_query is not None:
            meter_query.cancel()
    removal = None
    if rules.delete:
        require_one_folder(places, manifest, is_folder=found.is_folder)
        removal = await _find_surplus(target, replace(found, jobs=jobs), rules)
    sizes_bytes, are_known = _estimate_sizes(jobs)
    return Listing(
        jobs=jobs,
        direction=Direction.DOWNLOAD,
        remote=remote,
        sizes_bytes=sizes_bytes,
        sizes_are_exact=are_known and SizeTrust.ROUNDED not in jobs.iterate_field("size_trust"),
        left_out=found.omissions,
        excluded=found.excluded,
        removal=removal,
        aliases=tuple(store.alias for store in stores if store.alias is not None),
        store=kinds.pop() if len(kinds := {store.kind for store in stores}) == 1 else None,
        rtt_s=None if options.proxies.find_proxy(remote) is not None else round_trips.least_s.get(remote),
        meter=meter,
    )


def _start_meter_query(places: Sequence[Place], options: EngineOptions) -> asyncio.Task[bytes] | None:
    """Start to request the meter of the only server; return ``None`` where there are several, or object stores."""
    if {place.store for place in places} != {HTTP_STORE} or len({place.url.origin for place in places}) > 1:
        return None
    return asyncio.create_task(fetch_document(places[0].url.join(TRANSFERS_PATH), options))


async def _find_surplus(target: Target, found: DownloadList, rules: ListingRules) -> "PlannedRemoval":
    """Return what is below the folder and not in the source."""
    from tradewind_agent.copy.removal import plan_local_removal  # noqa: PLC0415 -- rarely used

    begin = len(str(target.path / "x")) - 1
    below = [place[begin:] for place in found.jobs.iterate_field("destination")]
    obstacle = _find_obstacle(found.omissions, found.unread_pages)
    return await asyncio.to_thread(plan_local_removal, str(target.path), below, rules.selection, obstacle)


def _estimate_sizes(jobs: DownloadJobs) -> tuple[Sequence[int], bool]:
    """Return the size of each file, the mean of the others where its own is not known, and whether all are known."""
    known = array("q", (size for size in jobs.iterate_field("size_bytes") if size is not None))
    if len(known) == len(jobs):
        return known, True
    mean = round(sum(known) / len(known)) if known else 0
    return array("q", (mean if size is None else size for size in jobs.iterate_field("size_bytes"))), False
