"""Requests for the index page of a folder, and probes whether an address is a folder."""

import asyncio
import zlib
from dataclasses import dataclass
from http import HTTPStatus

from tradewind_agent.engine.access_advice import advise_on_access
from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.http.fetch import FetchedAnswer, OnConnection, fetch
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.engine.remote.index_page import IndexPage
from tradewind_agent.engine.remote.joined_pages import JoinedPages
from tradewind_agent.engine.remote.media_types import HTML_TYPES, is_page_name, parse_media_type
from tradewind_agent.errors import FileFault, UnusableSource

_AS_JSON_OR_HTML = {"Accept": "application/json, text/html;q=0.9", "Accept-Encoding": "gzip"}
_AS_HTML = {"Accept": "text/html", "Accept-Encoding": "gzip"}
"""Compressed, an index of thousands of files arrives within the first windows of its connection."""

_DEPTH = {"Depth": "1", "Accept-Encoding": "identity"}
_FOUND = frozenset({HTTPStatus.OK, HTTPStatus.NON_AUTHORITATIVE_INFORMATION})
_NOT_ACCEPTABLE = 406
_MISSING = frozenset({404, 410})
_REQUESTS_AT_ONCE = 8
"""Simultaneous requests for index pages and single entries."""

_LONGEST_INDEX_BYTES = 64 * 1024 * 1024
"""Of one that came compressed, which may unpack to anything."""

_MOST_MEMBERS = 1000
"""Of a gzip: what is behind each is copied, which very many empty ones would make slow."""

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
        return place, await self._read_on(place, page)

    async def _read_page(self, url: Url) -> tuple[Url, IndexPage]:
        answer = await self._fetch(url, _AS_JSON_OR_HTML)
        if answer.head.status != _NOT_ACCEPTABLE:
            try:
                return answer.url, _parse(answer, self._options)
            except UnusableSource:
                if _find_media_type(answer) in HTML_TYPES or answer.head.status not in _FOUND:
                    raise
        answer = await self._fetch(url, _AS_HTML)
        return answer.url, _parse(answer, self._options)

    async def _read_on(self, place: Url, page: IndexPage) -> IndexPage:
        """Return a page together with those that it leads to."""
        if page.next_page is None:
            return page
        joined = JoinedPages(place, page)
        while joined.next_page is not None:
            following = joined.next_page
            try:
                answer = await self._read_page(following)
            except UnusableSource as error:
                if not joined.is_guess:
                    raise
                joined.leave_out(following, f"cannot be read ({error})")
            else:
                joined.add(*answer)
        return joined.join()

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
        """Return the folder that a URL without a slash at its end is redirected to, or shows; else the URL itself."""
        found = await self.probe(source, is_named=True) if source.name else None
        return source if found is None or found.folder is None else found.folder

    async def probe(self, url: Url, *, is_named: bool = False) -> ProbedAddress | None:
        """Return what ``url``, without a slash at its end, stands for; ``None`` where the server does not say.

        A folder redirects to itself with a slash, or answers with its index. One that the user has named may be a page
        of any kind: its title has to say that it is an index.
        """
        may_be_index = not is_page_name(url.name) and not (is_named and "?" in url.target)
        try:
            async with self._gate:
                answer = await fetch(url, self._once, {"Accept-Encoding": "identity"}, method="HEAD")
                is_page = answer.head.status in _FOUND and _find_media_type(answer) in HTML_TYPES
                if is_page and may_be_index and not answer.url.is_folder_of(url):
                    answer = await fetch(url, self._once, _AS_HTML)
        except (FileFault, UnusableSource):
            return None
        if answer.url.is_folder_of(url):
            return ProbedAddress(folder=answer.url)
        if answer.head.status not in _FOUND:
            return None
        if answer.body and (answer.url == url or not is_named) and _is_index(answer, is_named=is_named):
            return ProbedAddress(folder=Url(answer.url.origin, answer.url.path + "/", answer.url.login))
        return ProbedAddress(size_bytes=answer.stated_bytes)


def _is_index(answer: FetchedAnswer, *, is_named: bool) -> bool:
    from tradewind_agent.engine.remote.html_index import is_folder_index, is_titled_folder  # noqa: PLC0415 -- see `_parse`

    try:
        return (is_titled_folder if is_named else is_folder_index)(answer.url, _unpack(answer))
    except UnusableSource:
        return False


def _find_media_type(answer: FetchedAnswer) -> str:
    return parse_media_type(answer.head.headers.get("content-type", ""))


def _parse(answer: FetchedAnswer, options: EngineOptions) -> IndexPage:
    if answer.head.status in _MISSING:
        raise FolderMissing(f"cannot list {answer.url}: the server answered {answer.head.status_line}")
    if answer.head.status not in _FOUND:
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
    try:
        return _unpack_gzip(answer.body)
    except zlib.error as error:
        raise UnusableSource(f"cannot list {answer.url}: its index is no gzip ({error})") from error
    except ValueError as error:
        raise UnusableSource(f"cannot list {answer.url}: its index {error}") from error


def _unpack_gzip(packed: bytes) -> bytes:
    """Return what all members of a gzip hold, one behind the other (RFC 1952 §2.2); zeros at its end are padding."""
    members: list[bytes] = []
    room = _LONGEST_INDEX_BYTES
    while not members or packed.strip(b"\0"):
        unpacker = zlib.decompressobj(_GZIP)
        members.append(unpacker.decompress(packed, room))
        room -= len(members[-1])
        if not unpacker.eof or room <= 0 or len(members) > _MOST_MEMBERS:
            raise ValueError(
                f"is cut short, or has more than {_LONGEST_INDEX_BYTES} bytes or {_MOST_MEMBERS} members of gzip"
            )
        packed = unpacker.unused_data
    return b"".join(members)
