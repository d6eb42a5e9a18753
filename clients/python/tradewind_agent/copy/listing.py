"""The files of a copy: what the sources hold, in which direction it goes, and how large each file is."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tradewind.errors import InvalidValue
from tradewind.transfer import Direction
from tradewind_agent.copy.file_sizes import query_sizes
from tradewind_agent.copy.relays import make_relays
from tradewind_agent.copy.source_listing import (
    RoundTrips,
    Target,
    build_downloads,
    connect_early,
    require_any,
    require_distinct_files,
    time_handshake,
)
from tradewind_agent.engine.http.address import Origin, Url
from tradewind_agent.engine.jobs import Job, RelayJob, SizeTrust
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.engine.relay.third_party import ThirdPartyReceiver, may_be_fetched, takes_third_party_copies
from tradewind_agent.engine.remote.omissions import REPORT_ALL, ListingRules, Omission
from tradewind_agent.engine.remote.remote_tree import OnFolders
from tradewind_agent.engine.remote.source import list_uploads
from tradewind_agent.errors import CopyFailed
from tradewind_agent.session.server_query import NO_DOCUMENT, fetch_document
from tradewind_agent.session.transfer_naming import TRANSFERS_PATH
from tradewind_agent.stores.http import HTTP_STORE
from tradewind_agent.stores.places import is_remote, open_places
from tradewind_agent.stores.port import Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The files of one copy.

    ``remote`` : the server of the first file, which usually serves most of them.
    ``receiver`` : the server that files go to from there; ``None`` where one end is this host.
    ``sizes_bytes`` : one size a job, in the order of the jobs; ``sizes_are_exact`` is false where some are estimates.
    ``by_servers`` : the servers can move the files between them, without this host.
    ``rtt_s`` : least round trip to ``remote`` that the listing has seen; ``None`` without a direct connection.
    ``left_out`` : what the sources hold and the copy does not move; such a copy fails in the end.
    ``accepted`` : what is left out with the user's consent.
    ``aliases`` : how addresses of stores begin, and how the user writes that.
    ``meter`` : the answer of the only server about its meter, see `other_end`; ``None`` if it was not asked.
    """

    jobs: tuple[Job, ...] = field(repr=False)  # asyncio writes results out as it looks at its handler of signals
    direction: Direction
    remote: Origin
    sizes_bytes: tuple[int, ...] = field(repr=False)
    sizes_are_exact: bool
    left_out: tuple[Omission, ...] = ()
    accepted: tuple[Omission, ...] = ()
    rtt_s: float | None = None
    aliases: tuple[tuple[str, str], ...] = ()
    meter: bytes | None = None
    receiver: Origin | None = None
    by_servers: bool = False

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
    sources : http(s) or s3 addresses (folders end with ``/``), or local paths when ``destination`` is one.
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
            return _list_relays(sources, place, manifest, options, rules=rules, on_folders=on_folders)
        if manifest is not None:
            raise InvalidValue("manifest", "lists what to fetch; it does not go with files of this host")
        return _list_uploads(sources, place, options, rules)
    if len(remote_sources) < len(sources):
        raise InvalidValue("sources", f"are local like the destination; {_hint_at_address([*sources, destination])}")
    listing = asyncio.run(
        _list_downloads(
            _open_sources(sources, manifest, options),
            Target(_parse_local(destination), is_folder=destination.endswith("/")),
            manifest,
            options,
            ask_for_meter=ask_for_meter,
            on_folders=on_folders,
        )
    )
    return _accept_omissions(listing, rules)


def _open_sources(sources: Sequence[str], manifest: str | None, options: EngineOptions) -> list[Place]:
    """Return the places of sources.

    Relative paths of a manifest are below its source, whether or not that was written with a slash.
    """
    slash = "" if manifest is None else "/"
    return open_places([source.rstrip("/") + slash if slash else source for source in sources], options)


def _list_relays(
    sources: Sequence[str],
    destination: Place,
    manifest: str | None,
    options: EngineOptions,
    *,
    rules: ListingRules,
    on_folders: OnFolders,
) -> Listing:
    places = _open_sources(sources, manifest, options)
    keeps_keys = bool(places) and all(place.store.kind == destination.store.kind == "s3" for place in places)
    target = Target(Path(), is_folder=True, keeps_keys=keeps_keys)
    listing = asyncio.run(
        _list_downloads(places, target, manifest, options, ask_for_meter=False, on_folders=on_folders)
    )
    jobs = make_relays(listing.jobs, [place.url for place in places], destination.url)
    sent_to = asyncio.run(destination.store.prepare_uploads(destination.url, options))
    if sent_to != destination.url:  # the bucket is in another region
        jobs = make_relays(listing.jobs, [place.url for place in places], sent_to)
    alias = destination.store.alias
    by_servers = options.third_party and (keeps_keys or asyncio.run(_find_third_party(jobs, sent_to, options)))
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


def _accept_omissions(listing: Listing, rules: ListingRules) -> Listing:
    """Return the listing with the omissions that the user has accepted set apart."""
    accepted = tuple(omission for omission in listing.left_out if rules.is_accepted(omission))
    left_out = tuple(omission for omission in listing.left_out if omission not in accepted)
    return replace(listing, left_out=left_out, accepted=accepted)


def _hint_at_address(places: Sequence[str]) -> str:
    """Return how to write the remote end, in the user's words where one of the places looks like a host."""
    for place in places:
        host, _, _ = place.partition("/")
        is_host = ":" in host or ("." in host.strip(".") and "/" in place)
        if is_host and not host.startswith(".") and not Path(place).exists():
            return f"write http://{place} if {host} is a server"
    return "one end must be http://, https:// or s3://"


def _parse_local(place: str) -> Path:
    """Return the path that ``place`` is, or that its ``file:`` address names."""
    if not place.lower().startswith("file:"):
        return Path(place)
    parts = urlsplit(place)
    if parts.netloc not in ("", "localhost"):
        raise CopyFailed(f"{place!r} is on another machine; file: addresses are of this one")
    return Path(unquote(parts.path))


async def _find_third_party(jobs: Sequence[RelayJob], destination: Url, options: EngineOptions) -> bool:
    """Return whether the destination fetches the files itself; from then on it is asked to."""
    hooks = options.hooks
    are_signed = any(hooks.find_source(origin) is not None for origin in {job.source.origin for job in jobs})
    if are_signed or hooks.find_receiver(destination.origin) is not None:
        return False
    if not any(may_be_fetched(job, options) for job in jobs):
        return False
    folder = Url(destination.origin, destination.folder, destination.login)
    if not await takes_third_party_copies(folder, options):
        return False
    hooks.add_receiver(destination.origin, ThirdPartyReceiver())
    return True


def _list_uploads(sources: Sequence[str], place: Place, options: EngineOptions, rules: ListingRules) -> Listing:
    destination = asyncio.run(place.store.prepare_uploads(place.url, options))
    found = list_uploads([_parse_local(source) for source in sources], destination, links=rules.links)
    jobs = found.jobs
    require_any(jobs, found.omissions)
    require_distinct_files(jobs)
    listing = Listing(
        jobs=tuple(jobs),
        direction=Direction.UPLOAD,
        remote=destination.origin,
        sizes_bytes=tuple(job.size_bytes for job in jobs),
        sizes_are_exact=True,
        left_out=found.omissions,
        aliases=() if place.store.alias is None else (place.store.alias,),
        meter=None if place.store is HTTP_STORE else NO_DOCUMENT,
    )
    return _accept_omissions(listing, rules)


async def _list_downloads(
    places: Sequence[Place],
    target: Target,
    manifest: str | None,
    options: EngineOptions,
    *,
    ask_for_meter: bool,
    on_folders: OnFolders,
) -> Listing:
    urls = [place.url for place in places]
    round_trips = RoundTrips()
    connecting = asyncio.create_task(connect_early(urls, manifest, options))
    meter_query = None
    stores = {place.store for place in places}
    if ask_for_meter and manifest is None and stores == {HTTP_STORE} and len({url.origin for url in urls}) == 1:
        meter_query = asyncio.create_task(fetch_document(urls[0].join(TRANSFERS_PATH), options))
    try:
        found = await build_downloads(places, target, manifest, options, round_trips=round_trips, on_folders=on_folders)
        jobs = await query_sizes(found.jobs, options, round_trips.see)
        remote = jobs[0].source.origin
        await time_handshake(remote, connecting, options, round_trips)
        meter = None if stores == {HTTP_STORE} else NO_DOCUMENT
        if meter_query is not None and urls[0].origin == remote:
            meter = await meter_query
    finally:
        connecting.cancel()
        if meter_query is not None:
            meter_query.cancel()
    known = [job.size_bytes for job in jobs if job.size_bytes is not None]
    estimate = round(sum(known) / len(known)) if known else 0
    return Listing(
        jobs=tuple(jobs),
        direction=Direction.DOWNLOAD,
        remote=remote,
        sizes_bytes=tuple(estimate if job.size_bytes is None else job.size_bytes for job in jobs),
        sizes_are_exact=len(known) == len(jobs) and all(job.size_trust is not SizeTrust.ROUNDED for job in jobs),
        left_out=found.omissions,
        aliases=tuple(store.alias for store in stores if store.alias is not None),
        rtt_s=None if options.proxies.find_proxy(remote) is not None else round_trips.least_s.get(remote),
        meter=meter,
    )
