"""Requests for the index page of a folder, and probes whether an address is a folder."""

import asyncio
import zlib
from dataclasses import dataclass, replace
from http import HTTPStatus

from tradewind_agent.engine.access_advice import advise_on_access
from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.http.fetch import FetchedAnswer, OnConnection, fetch
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.engine.remote.index_page import IndexPage, ListingEntries
from tradewind_agent.engine.remote.media_types import HTML_TYPES, is_page_name, parse_media_type
from tradewind_agent.errors import FileFault, UnusableSource

_AS_JSON_OR_HTML = {"Accept": "application/json, text/html;q=0.9", "Accept-Encoding": "gzip"}
_AS_HTML = {"Accept": "text/html", "Accept-Encoding": "gzip"}
"""Compressed, an index of thousands of files arrives within the first windows of its connection."""

_DEPTH = {"Depth": "1", "Accept-Encoding": "identity"}
_OK = 200
_NOT_ACCEPTABLE = 406
_MISSING = frozenset({404, 410})
_REQUESTS_AT_ONCE = 8
"""Simultaneous requests for index pages and single entries."""

_MOST_EMPTY_PAGES = 1000
"""Pages of a bucket without a key, one behind the other, as where very many were removed."""

_LONGEST_INDEX_BYTES = 64 * 1024 * 1024
"""Of one that came compressed, which may unpack to anything."""

_GZIP = 16 + zlib.MAX_WBITS


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbedAddress:
    """What an address without a slash at its end stands for: a folder, or a file of a size that may be unknown."""

    folder: Url | None = None
    size_bytes: int | None = None


class FolderMissing(UnusableSource):
    """There is no such folder on the server."""


class IndexClient:
    """Asks for index pages, a few at once.

    ``on_connection`` : called with each connection that an index came over.
    """

    def __init__(self, options: EngineOptions, on_connection: OnConnection | None = None) -> None:
        self._options = options
        # Where there is no answer to such a question, the transfer itself will say what is wrong.
        self._once = options.limit_for_questions()
        self._on_connection = on_connection
        self._gate = asyncio.Semaphore(_REQUESTS_AT_ONCE)

    async def read(self, url: Url) -> tuple[Url, IndexPage]:
        """Return the index of ``url``, all pages of it, and the address that answered with it.

        A server may answer with JSON of its own form, with no index at all, or with a page that shows nothing: it is
        asked for HTML then, and as WebDAV servers are asked.

        Raises
        ------
        UnusableSource : no answer, an error status, or no index.
        """
        try:
            place, page = await self._read_page(url)
        except UnusableSource:
            found = await self.read_properties(url)
            if found is None:
                raise
            return found
        if page.is_other or not (page.entries or page.left_out or page.has_links):
            return await self.read_properties(place) or (place, page)
        return place, await self._read_on(page)

    async def _read_page(self, url: Url) -> tuple[Url, IndexPage]:
        answer = await self._fetch(url, _AS_JSON_OR_HTML)
        if answer.head.status != _NOT_ACCEPTABLE:
            try:
                return answer.url, _parse(answer, self._options)
            except UnusableSource:
                if _find_media_type(answer) in HTML_TYPES or answer.head.status != _OK:
                    raise
        answer = await self._fetch(url, _AS_HTML)
        return answer.url, _parse(answer, self._options)

    async def _read_on(self, page: IndexPage) -> IndexPage:
        """Return a page together with those that follow it.

        Where pages of HTML lead back to one another, as where a server ignores which one is requested, they end.
        """
        if page.next_page is None:
            return page
        entries, left_out, seen = ListingEntries(page.entries), list(page.left_out), set[Url | tuple[str, str]]()
        empty_pages, seen_rows = 0, {page.rows}
        while page.next_page is not None:
            ends = (page.entries[0].name, page.entries[-1].name) if page.entries else None
            empty_pages = 0 if page.entries else empty_pages + 1
            if page.next_page in seen or ends in seen or empty_pages > _MOST_EMPTY_PAGES:
                if page.rows:
                    break
                raise UnusableSource(f"cannot list {page.next_page}: its pages lead back to one another")
            seen |= {page.next_page} if ends is None else {page.next_page, ends}
            page = (await self._read_page(page.next_page))[1]
            if page.rows and page.rows in seen_rows:
                break
            seen_rows.add(page.rows)
            entries.extend(page.entries)
            left_out += page.left_out
        return replace(page, entries=entries, left_out=tuple(left_out))

    async def read_properties(self, url: Url) -> tuple[Url, IndexPage] | None:
        """Return a folder as a WebDAV server lists it; ``None`` where the server is none."""
        try:
            async with self._gate:
                answer = await fetch(url, self._once, _DEPTH, method="PROPFIND")
        except (FileFault, UnusableSource):
            return None
        if answer.head.status != HTTPStatus.MULTI_STATUS:
            return None
        from tradewind_agent.engine.remote.xml_index import parse_multistatus  # noqa: PLC0415 -- see `_parse`

        page = parse_multistatus(answer.url, _unpack(answer))
        self._options.hooks.note_webdav(answer.url.origin)
        return answer.url, page

    async def _fetch(self, url: Url, headers: dict[str, str]) -> FetchedAnswer:
        try:
            async with self._gate:
                return await fetch(url, self._options, headers, on_connection=self._on_connection)
        except FileFault as fault:
            raise UnusableSource(f"cannot list {url}: {fault}") from fault

    async def follow_to_folder(self, source: Url) -> Url:
        """Return the folder that a URL without a slash at its end is redirected to; else the URL itself."""
        if not source.name:
            return source
        try:
            async with self._gate:
                answer = await fetch(source, self._once, {"Accept-Encoding": "identity"}, method="HEAD")
        except (FileFault, UnusableSource):
            return source
        return answer.url if answer.url.is_folder_of(source) else source

    async def probe(self, url: Url) -> ProbedAddress | None:
        """Return what ``url``, without a slash at its end, stands for; ``None`` where the server does not say.

        A folder redirects to itself with a slash, or answers with its index.
        """
        try:
            async with self._gate:
                answer = await fetch(url, self._once, {"Accept-Encoding": "identity"}, method="HEAD")
                if answer.head.status == _OK and _find_media_type(answer) in HTML_TYPES and not is_page_name(url.name):
                    answer = await fetch(url, self._once, _AS_HTML)
        except (FileFault, UnusableSource):
            return None
        if answer.url.is_folder_of(url):
            return ProbedAddress(folder=answer.url)
        if answer.head.status != _OK:
            return None
        if answer.body and _is_index(answer):
            return ProbedAddress(folder=Url(answer.url.origin, answer.url.path + "/", answer.url.login))
        return ProbedAddress(size_bytes=answer.stated_bytes)


def _is_index(answer: FetchedAnswer) -> bool:
    from tradewind_agent.engine.remote.html_index import is_folder_index  # noqa: PLC0415 -- see `_parse`

    try:
        return is_folder_index(answer.url, _unpack(answer))
    except UnusableSource:
        return False


def _find_media_type(answer: FetchedAnswer) -> str:
    return parse_media_type(answer.head.headers.get("content-type", ""))


def _parse(answer: FetchedAnswer, options: EngineOptions) -> IndexPage:
    if answer.head.status in _MISSING:
        raise FolderMissing(f"cannot list {answer.url}: the server answered {answer.head.status_line}")
    if answer.head.status != _OK:
        advice = advise_on_access(answer.head.status, answer.head.headers, answer.url, options)
        raise UnusableSource(f"cannot list {answer.url}: the server answered {answer.head.status_line}{advice}")
    from tradewind_agent.engine.remote.listing import parse_answer  # noqa: PLC0415 -- a manifest needs no parsers

    return parse_answer(answer.url, answer.head, _unpack(answer))


def _unpack(answer: FetchedAnswer) -> bytes:
    """Return the body of an index as it was before it was compressed for the way."""
    coding = answer.head.headers.get("content-encoding", "identity").strip().lower()
    if coding in ("identity", ""):
        return answer.body
    if coding not in ("gzip", "x-gzip"):
        raise UnusableSource(f"cannot list {answer.url}: its index is packed as {coding}, which was not asked for")
    unpacker = zlib.decompressobj(_GZIP)
    try:
        body = unpacker.decompress(answer.body, _LONGEST_INDEX_BYTES)
    except zlib.error as error:
        raise UnusableSource(f"cannot list {answer.url}: its index is no gzip ({error})") from error
    if not unpacker.eof:
        why = f"is cut short, or has more than {_LONGEST_INDEX_BYTES} bytes"
        raise UnusableSource(f"cannot list {answer.url}: its index {why}")
    return body
