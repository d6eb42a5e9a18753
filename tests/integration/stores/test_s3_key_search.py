"""What is at the destinations of an upload to a large bucket: few requests, whatever else the bucket holds."""

import asyncio
from pathlib import Path
from urllib.parse import parse_qs, quote, unquote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.integration.engine.servers.rough_server import RoughRequest, RoughServer, head
from tests.integration.engine.transfers import options
from tests.integration.stores.pages import write_keys
from tradewind_agent.engine.http.address import Url
from tradewind_agent.errors import UnusableSource
from tradewind_agent.stores.port import ListRequest
from tradewind_agent.stores.s3.bucket_listing import BucketListing
from tradewind_agent.stores.s3.bucket_pages import StoredObject, encode_key, find_key_before
from tradewind_agent.stores.s3.key_search import find_objects

PAGE = 5


class Keys:
    """A store of keys that gives a few a page; ``begins`` : it knows where a page is to begin."""

    def __init__(self, keys: list[str], *, begins: bool = True) -> None:
        self.keys = sorted(keys, key=encode_key)
        self.begins = begins
        self.requests = 0

    async def __call__(self, asked: RoughRequest, writer: asyncio.StreamWriter) -> None:
        query = {name: values[0] for name, values in parse_qs(asked.query, keep_blank_values=True).items()}
        self.requests += 1
        begin = query.get("start-after", "") if self.begins else ""
        after = unquote(query.get("continuation-token", "")) or begin
        left = [key for key in self.keys if key.startswith(query["prefix"]) and encode_key(key) > encode_key(after)]
        text = write_keys(left[: min(PAGE, int(query["max-keys"]))], len(left))
        writer.write(head("200 OK", asked, Content_Length=len(text), Content_Type="application/xml") + text)


def search(store: Keys, keys: list[str]) -> set[str]:
    async def story() -> set[str]:
        async with RoughServer({"/data/": store}) as server:
            request = ListRequest(destination=Path(), options=options())
            listing = BucketListing("data", Url.parse(f"{server.url}/data/"), request)
            return {each.key for each in await find_objects(listing, keys)}

    return asyncio.run(story())


def test_one_file_costs_one_request():
    store = Keys([f"big/{number:05}" for number in range(500)])
    assert search(store, ["big/00400"]) == {"big/00400"}
    assert search(store, ["big/missing"]) == set()
    assert store.requests == 2


def test_many_files_of_a_large_bucket_cost_no_more_requests_than_files():
    store = Keys([f"big/{number:05}" for number in range(2000)])
    keys = [f"big/{number:05}" for number in range(0, 2000, 50)] + ["big/none", "a", "z"]
    assert search(store, keys) == set(keys) & set(store.keys)
    assert store.requests <= len(keys)


def test_files_that_are_neighbours_are_found_by_the_page():
    store = Keys([f"big/{number:05}" for number in range(2000)])
    keys = [f"big/{number:05}" for number in range(100, 200)]
    assert search(store, keys) == set(keys)
    assert store.requests <= 2 * len(keys) / PAGE


@settings(max_examples=30, deadline=None)
@given(
    st.sets(st.text(alphabet="ab/\ue000\U0010ffff", min_size=1, max_size=5), min_size=1, max_size=60),
    st.sets(st.text(alphabet="ab/\ue000\U0010ffff", min_size=1, max_size=5), min_size=1, max_size=60),
    st.booleans(),
)
def test_the_keys_that_are_there_are_found(there: set[str], keys: set[str], begins: bool):
    assert search(Keys(list(there), begins=begins), list(keys)) == there & keys


@pytest.mark.parametrize("key", ["a", "ab", "\ue000", "a\0", "x" * 1023 + "b"])
def test_hardly_anything_is_between_a_key_and_the_one_before(key: str):
    assert encode_key(find_key_before(key)) < encode_key(key)
    assert len(encode_key(find_key_before(key))) <= 1024


class SparsePages(Keys):
    """A store that gives a page without keys before each page, as where many versions were removed."""

    def __init__(self, keys: list[str]) -> None:
        super().__init__(keys)
        self.empty: set[str] = set()

    async def __call__(self, asked: RoughRequest, writer: asyncio.StreamWriter) -> None:
        query = {name: values[0] for name, values in parse_qs(asked.query, keep_blank_values=True).items()}
        place = f"{query['prefix']} {query.get('start-after', '')}"
        if "continuation-token" in query or place in self.empty:
            await super().__call__(asked, writer)
            return
        self.empty.add(place)
        token = f"<NextContinuationToken>{quote(query.get('start-after', '')) or '-'}</NextContinuationToken>"
        text = f"<ListBucketResult><IsTruncated>true</IsTruncated>{token}</ListBucketResult>".encode()
        writer.write(head("200 OK", asked, Content_Length=len(text), Content_Type="application/xml") + text)


@pytest.mark.parametrize("count", [1, 3, 40])
def test_keys_behind_a_page_without_keys_are_found(count: int):
    keys = [f"k{number:03}" for number in range(count)]
    assert search(SparsePages(keys), keys) == set(keys)


def test_one_object_behind_a_page_without_keys_is_found():
    async def story() -> StoredObject | None:
        async with RoughServer({"/data/": SparsePages(["a", "ab"])}) as server:
            request = ListRequest(destination=Path(), options=options())
            return await BucketListing("data", Url.parse(f"{server.url}/data/"), request).find("a")

    found = asyncio.run(story())
    assert found is not None
    assert found.key == "a"


class FolderOrder(Keys):
    """A store of folders, which lists ``a/b`` before ``a-b``; it takes no place to begin at."""

    async def __call__(self, asked: RoughRequest, writer: asyncio.StreamWriter) -> None:
        query = {name: values[0] for name, values in parse_qs(asked.query, keep_blank_values=True).items()}
        in_order = sorted((key for key in self.keys if key.startswith(query["prefix"])), key=lambda key: key.split("/"))
        begin = int(query.get("continuation-token", "0"))
        page = in_order[begin : begin + PAGE]
        rows = "".join(f"<Contents><Key>{key}</Key><Size>1</Size></Contents>" for key in page)
        if begin + PAGE < len(in_order):
            rows += f"<IsTruncated>true</IsTruncated><NextContinuationToken>{begin + PAGE}</NextContinuationToken>"
        text = f"<ListBucketResult>{rows}</ListBucketResult>".encode()
        writer.write(head("200 OK", asked, Content_Length=len(text), Content_Type="application/xml") + text)


def test_keys_are_found_where_pages_show_another_order():
    keys = [f"{folder}{number}{end}" for number in range(9) for folder in ("a/", "a-") for end in ("/x", "-x")]
    assert search(FolderOrder(keys), keys) == set(keys)


class Backward(Keys):
    """A store without order, as a bucket of folders may be; it gives as many keys as it is asked for."""

    async def __call__(self, asked: RoughRequest, writer: asyncio.StreamWriter) -> None:
        query = {name: values[0] for name, values in parse_qs(asked.query, keep_blank_values=True).items()}
        left = [key for key in reversed(self.keys) if key.startswith(query["prefix"])]
        text = write_keys(left[: int(query["max-keys"])], len(left))
        writer.write(head("200 OK", asked, Content_Length=len(text), Content_Type="application/xml") + text)


def test_one_key_is_found_behind_longer_ones():
    assert search(Backward(["a", "ab", "abc"]), ["a"]) == {"a"}


def test_a_listing_that_fails_in_the_middle_is_an_error():
    store = Keys([f"k{number:03}" for number in range(100)])

    async def fail(asked: RoughRequest, writer: asyncio.StreamWriter) -> None:
        if store.requests >= 3:
            writer.write(head("403 Forbidden", asked, Content_Length=0))
            return
        await store(asked, writer)

    with pytest.raises(UnusableSource, match="s3://data cannot be listed"):
        search(fail, [f"k{number:03}" for number in range(0, 100, 3)])
