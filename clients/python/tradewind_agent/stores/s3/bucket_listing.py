"""All objects below a prefix: page by page, and by prefixes side by side where there are many."""

import asyncio
from collections.abc import Callable, Mapping
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
        first = await self._read(prefix, None, by_folder=False)
        if first.token is None:
            return first.objects
        begin = first if _count_prefixes(first.objects, prefix) > REQUESTS_AT_ONCE else None
        del first  # while others are read, what waits should take little memory
        here = await self._read_all(prefix, await self._read(prefix, None, by_folder=True), by_folder=True)
        taken = [each for each in here.prefixes if take_folder(each)]
        if begin is not None and len(taken) == len(here.prefixes):
            return (await self._read_all(prefix, begin, by_folder=False)).objects
        lists = await asyncio.gather(*(self.list(each, take_folder) for each in taken))
        lists.reverse()
        while lists:  # none takes memory twice for long
            here.objects.extend(lists.pop())
        return here.objects

    async def find(self, key: str) -> StoredObject | None:
        """Return the object of a key, which is the first of those that begin with it; ``None`` without any.

        Raises
        ------
        UnusableSource : the bucket cannot be listed.
        """
        page = await self.read_page(make_page_url(self.url, key, most_keys=1), key)
        return page.objects[0] if page.objects and page.objects[0].key == key else None

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
        while found.token is not None:
            more = await self._read(prefix, found.token, by_folder=by_folder)
            if more.token == found.token:
                raise UnusableSource(f"s3://{self.name}: its pages lead back to one another")
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
