"""All objects below a prefix: page by page, and by prefixes side by side where there are many."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.http.fetch import FetchedAnswer, fetch
from tradewind_agent.engine.http.retry import parse_http_date
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.engine.skipping import measure_clock_offset_s
from tradewind_agent.errors import FileFault, UnusableSource
from tradewind_agent.stores.port import ListRequest
from tradewind_agent.stores.s3.bucket_pages import (
    BucketPage,
    Restoration,
    StoredObject,
    StoredObjects,
    make_page_url,
    parse_bucket_page,
)
from tradewind_agent.stores.s3.refusals import make_store_refusal

REQUESTS_AT_ONCE = 8
_OK = 200
_WITH_RESTORATION = {"x-amz-optional-object-attributes": "RestoreStatus"}


@dataclass(slots=True)
class _ReadPages:
    """What some pages hold, and the token of the next one; many prefixes wait for their next one at once."""

    objects: StoredObjects
    prefixes: list[str]
    token: str | None


class PageTokens:
    """The tokens that a chain of pages has named, each of them once; a listing of a million keys has a thousand."""

    def __init__(self, bucket: str) -> None:
        self._bucket = bucket
        self._seen: set[str] = set()

    def add(self, token: str) -> None:
        """Note a token.

        Raises
        ------
        UnusableSource : it was there before, so that the pages would never end.
        """
        if token in self._seen:
            raise UnusableSource(f"s3://{self._bucket}: its pages lead back to one another")
        self._seen.add(token)


class BucketListing:
    """Reads listings of one bucket.

    ``name`` : of the bucket, in messages. ``url`` : where it is requested.
    ``request`` : whose ``on_folders`` is called with how many more prefixes are being read.
    ``states_restoration`` : the store states in its listings how far archived objects are restored, if it is asked to.

    Attributes
    ----------
    clock_offset_s : how far the clock of the store was before this host's in the last answer.
    """

    def __init__(self, name: str, url: Url, request: ListRequest, *, states_restoration: bool = False) -> None:
        self.name, self.url = name, url
        self.states_restoration = states_restoration
        self._request = request
        self._gate = asyncio.Semaphore(REQUESTS_AT_ONCE)
        self._folders_gate = asyncio.Semaphore(REQUESTS_AT_ONCE)  # lists that grow side by side scatter their memory
        self.clock_offset_s = 0.0

    async def list(self, prefix: str, take_folder: Callable[[str], bool] = lambda _: True) -> StoredObjects:
        """Return all objects whose keys begin with ``prefix``.

        A listing of more than a page is read by the prefixes below it, side by side; pages of one prefix can only be
        read one after the other. Prefixes below that ``take_folder`` refuses are not read then. Where each prefix holds
        few keys that would take many times the requests, which stores charge for: then it goes page by page.

        Raises
        ------
        UnusableSource : the bucket cannot be listed.
        """
        self._request.on_folders(1)
        async with self._folders_gate:
            objects, below = await self._list_here(prefix, take_folder)
        lists = await asyncio.gather(*(self.list(each, take_folder) for each in below))
        lists.reverse()
        while lists:  # none takes memory twice for long
            objects.extend(lists.pop())
        return objects

    async def _list_here(self, prefix: str, take_folder: Callable[[str], bool]) -> tuple[StoredObjects, Sequence[str]]:
        """Return objects below a prefix, and the prefixes below it that are still to be listed."""
        first = await self._read(prefix, None, by_folder=False)
        if first.token is None:
            return first.objects, []
        here = await self._read_all(prefix, await self._read(prefix, None, by_folder=True), by_folder=True)
        taken = [each for each in here.prefixes if take_folder(each)]
        if _count_prefixes(first.objects, prefix) > REQUESTS_AT_ONCE and len(taken) == len(here.prefixes):
            return (await self._read_all(prefix, first, by_folder=False)).objects, []
        return here.objects, taken

    async def find(self, key: str) -> StoredObject | None:
        """Return the object of a key, which is the first of those that begin with it; ``None`` without any.

        Raises
        ------
        UnusableSource : the bucket cannot be listed.
        """
        seen = PageTokens(self.name)
        page = await self.read_page(make_page_url(self.url, key, most_keys=1), key)
        while not page.objects and page.next_token is not None:  # a store may give a page without keys
            seen.add(page.next_token)
            page = await self.read_page(make_page_url(self.url, key, page.next_token, most_keys=1), key)
        return page.objects[0] if page.objects and page.objects[0].key == key else None

    async def read_pages(self, prefix: str) -> StoredObjects:
        """Return all objects whose keys begin with ``prefix``, page after page, in whatever order the store has.

        Raises
        ------
        UnusableSource : the bucket cannot be listed.
        """
        first = await self._read(prefix, None, by_folder=False)
        return (await self._read_all(prefix, first, by_folder=False)).objects

    async def find_restoration(self, found: StoredObject) -> Restoration | None:
        """Return how far an archived object is restored: as listed, or else as the object itself says."""
        if self.states_restoration or found.restoration is not None:
            return found.restoration
        answer = await self.request(self.url.join_path(found.key), "HEAD")
        stated = answer.head.headers.get("x-amz-restore", "")
        if not stated:
            return None
        return Restoration.RUNNING if 'ongoing-request="true"' in stated else Restoration.DONE

    async def _read_all(self, prefix: str, found: "_ReadPages", *, by_folder: bool) -> "_ReadPages":
        """Add the pages that follow to what was read, and return it."""
        seen = PageTokens(self.name)
        while found.token is not None:
            seen.add(found.token)
            more = await self._read(prefix, found.token, by_folder=by_folder)
            found.objects.extend(more.objects)
            found.prefixes += more.prefixes
            found.token = more.token
        return found

    async def _read(self, prefix: str, token: str | None, *, by_folder: bool) -> "_ReadPages":
        page = await self.read_page(make_page_url(self.url, prefix, token, by_folder=by_folder), prefix)
        return _ReadPages(StoredObjects(page.objects), list(page.prefixes), page.next_token)

    async def read_page(self, url: Url, prefix: str) -> BucketPage:
        """Return the page of keys that begin with ``prefix``.

        Raises
        ------
        UnusableSource : the bucket cannot be listed.
        """
        answer = await self.request(url, headers=_WITH_RESTORATION if self.states_restoration else None)
        if answer.head.status != _OK:
            raise make_store_refusal(f"s3://{self.name} cannot be listed", answer)
        date = parse_http_date(answer.head.headers.get("date", ""))
        self.clock_offset_s = measure_clock_offset_s(date, datetime.now(UTC))
        return parse_bucket_page(answer.url, answer.body, prefix)

    @property
    def options(self) -> EngineOptions:
        return self._request.options

    async def request(
        self, url: Url, method: str = "GET", *, headers: Mapping[str, str] | None = None, body: bytes = b""
    ) -> FetchedAnswer:
        """Return the answer to a request about the bucket, or an object in it.

        Raises
        ------
        UnusableSource : no answer.
        """
        try:
            async with self._gate:
                return await fetch(
                    url,
                    self._request.options,
                    {"Accept-Encoding": "identity", **(headers or {})},
                    method=method,
                    body=body,
                    on_connection=self._request.on_connection,
                )
        except FileFault as fault:
            does = "listed" if method == "GET" else "asked"
            raise UnusableSource(f"s3://{self.name} cannot be {does}: {fault}") from fault


def _count_prefixes(objects: StoredObjects, prefix: str) -> int:
    """Count the prefixes directly below ``prefix`` that the keys have."""
    paths = (key[len(prefix) :].partition("/") for key in objects.iterate_field("key"))
    return len({folder for folder, slash, _ in paths if slash})
