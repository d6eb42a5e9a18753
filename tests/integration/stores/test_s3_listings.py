"""Listings of a scripted store: pages, prefixes side by side, regions, and what a refusal means."""

import asyncio
from pathlib import Path
from urllib.parse import parse_qs
from xml.sax.saxutils import escape

import pytest

from tests.integration.engine.servers.rough_server import Answer, RoughRequest, RoughServer, head
from tests.integration.engine.transfers import options
from tradewind_agent.engine.remote.path_selection import SELECT_ALL, Excluded, PathSelection
from tradewind_agent.engine.remote.source import DownloadList
from tradewind_agent.errors import UnusableSource
from tradewind_agent.stores.port import ListRequest
from tradewind_agent.stores.s3.session import AccessKey, StoreSession
from tradewind_agent.stores.s3.store import S3Store

PAGE = 3
"""Keys a page of these stores."""


class Listing:
    """Answers pages of a listing of ``keys``; counts the requests by prefix."""

    def __init__(self, keys: list[str], most: int = PAGE) -> None:
        self.keys, self.most = sorted(keys), most
        self.requests: list[str] = []

    async def __call__(self, asked: RoughRequest, writer: asyncio.StreamWriter) -> None:
        query = {name: values[0] for name, values in parse_qs(asked.query, keep_blank_values=True).items()}
        prefix, after = query["prefix"], query.get("continuation-token", "")
        self.requests.append(prefix)
        rows = [key for key in self.keys if key.startswith(prefix)]
        if "delimiter" in query:
            ends = [key.find("/", len(prefix)) for key in rows]
            rows = sorted({key if end < 0 else key[: end + 1] for key, end in zip(rows, ends, strict=True)})
        left = [row for row in rows if row > after]
        page = left[: min(self.most, int(query["max-keys"]))]
        body = "".join(map(_write_row, page))
        if len(left) > len(page):
            body += f"<IsTruncated>true</IsTruncated><NextContinuationToken>{escape(page[-1])}</NextContinuationToken>"
        text = f"<ListBucketResult>{body}</ListBucketResult>".encode()
        writer.write(head("200 OK", asked, Content_Length=len(text), Content_Type="application/xml") + text)


def _write_row(row: str) -> str:
    if row.endswith("/"):
        return f"<CommonPrefixes><Prefix>{escape(row)}</Prefix></CommonPrefixes>"
    return f"<Contents><Key>{escape(row)}</Key><Size>1</Size></Contents>"


def refuse(line: str, code: str, **fields: object) -> Answer:
    async def answer(asked: RoughRequest, writer: asyncio.StreamWriter) -> None:
        text = f"<Error><Code>{code}</Code></Error>".encode()
        writer.write(head(line, asked, Content_Length=len(text), Content_Type="application/xml", **fields) + text)

    return answer


def list_bucket(answer: Answer, key: str = "", selection: PathSelection = SELECT_ALL) -> DownloadList:
    async def story() -> DownloadList:
        async with RoughServer({"/data/": answer}) as server:
            used = options()
            session = StoreSession("us-east-1", server.url, lambda: AccessKey("AK", "SK"), pays=False)
            store = S3Store("data", session, used)
            request = ListRequest(destination=Path("/out"), options=used, into_folder=True, selection=selection)
            return await store.list_downloads([store.find_url(key)], request)

    return asyncio.run(story())


def test_all_pages_are_read_by_prefixes_side_by_side():
    keys = [f"{folder}/{number}" for folder in "abc" for number in range(7)] + [f"top{number}" for number in range(4)]
    listing = Listing(keys)
    found = list_bucket(listing)
    assert sorted(str(job.destination) for job in found.jobs) == sorted(f"/out/{key}" for key in keys)
    assert {"a/", "b/", "c/"} <= set(listing.requests)


def test_keys_without_folders_are_read_page_by_page():
    keys = [f"key{number}" for number in range(10)]
    listing = Listing(keys)
    found = list_bucket(listing)
    assert sorted(job.destination for job in found.jobs) == [f"/out/{key}" for key in keys]
    assert len(listing.requests) == 1 + 4  # the first page shows that there is more than one; then each once


def test_many_prefixes_of_few_keys_are_read_page_by_page():
    """Stores charge for requests: one a prefix would cost as many as there are keys."""
    keys = [f"run-{number:03d}/result" for number in range(120)]
    listing = Listing(keys, most=30)
    found = list_bucket(listing)
    assert sorted(job.destination for job in found.jobs) == [f"/out/{key}" for key in keys]
    assert set(listing.requests) == {""}
    assert len(listing.requests) == 4 + 4  # the prefixes and the keys


def test_many_prefixes_are_read_one_by_one_where_few_are_selected():
    listing = Listing([f"run-{number:03d}/result" for number in range(120)], most=30)
    found = list_bucket(listing, selection=PathSelection.parse(["run-007/*"], []))
    assert [job.destination for job in found.jobs] == ["/out/run-007/result"]
    assert set(listing.requests) == {"", "run-007/"}


def test_prefixes_that_hold_nothing_selected_are_not_listed():
    listing = Listing([f"{folder}/{number}" for folder in "abc" for number in range(7)])
    found = list_bucket(listing, selection=PathSelection.parse(["a/*", "c/*"], ["c/"]))
    assert {job.destination for job in found.jobs} == {f"/out/a/{number}" for number in range(7)}
    assert set(listing.requests) == {"", "a/"}
    assert found.excluded == Excluded(files=0, folders=2)


def test_an_exact_key_lists_that_object_alone():
    listing = Listing(["a", "ab", "abc", "abcd"])
    assert [str(job.destination) for job in list_bucket(listing, "ab").jobs] == ["/out/ab"]
    assert listing.requests == ["ab"]


@pytest.mark.parametrize("tokens", [{"": "again", "again": "again"}, {"": "a", "a": "b", "b": "a"}])
def test_pages_that_lead_back_are_refused(tokens: dict[str, str]):
    async def answer(asked: RoughRequest, writer: asyncio.StreamWriter) -> None:
        token = tokens[parse_qs(asked.query).get("continuation-token", [""])[0]]
        rows = f"<IsTruncated>true</IsTruncated><NextContinuationToken>{token}</NextContinuationToken>"
        text = f"<ListBucketResult>{rows}</ListBucketResult>".encode()
        writer.write(head("200 OK", asked, Content_Length=len(text), Content_Type="application/xml") + text)

    with pytest.raises(UnusableSource, match="its pages lead back to one another"):
        list_bucket(answer)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("400 Bad Request", "AuthorizationHeaderMalformed</Code><Region>eu-west-3</Region><Code>"),
        ("400 Bad Request", "AuthorizationHeaderMalformed"),
        ("301 Moved Permanently", "PermanentRedirect"),
        ("307 Temporary Redirect", "TemporaryRedirect"),
    ],
)
def test_a_bucket_of_another_region_is_listed_there(line: str, code: str):
    listing = Listing(["a"])
    fields = {} if "<Region>" in code else {"x-amz-bucket-region": "eu-west-3"}
    if "Redirect" in code:  # where no signature of this run is good
        fields["Location"] = "http://127.0.0.1:1/data/"

    async def answer(asked: RoughRequest, writer: asyncio.StreamWriter) -> bool | None:
        if "/eu-west-3/s3/" in asked.headers["authorization"]:
            return await listing(asked, writer)
        return await refuse(line, code, **fields)(asked, writer)

    assert [str(job.destination) for job in list_bucket(answer).jobs] == ["/out/a"]


def test_an_object_may_be_read_where_the_bucket_may_not_be_listed():
    (job,) = list_bucket(refuse("403 Forbidden", "AccessDenied"), "folder/a b").jobs
    assert (str(job.destination), job.source.path, job.size_bytes) == ("/out/a b", "/data/folder/a%20b", None)


@pytest.mark.parametrize("key", ["", "folder/"])
def test_a_folder_of_a_bucket_that_may_not_be_listed_is_refused(key: str):
    with pytest.raises(UnusableSource, match="s3://data cannot be listed: these credentials may not do that"):
        list_bucket(refuse("403 Forbidden", "AccessDenied"), key)


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("403 Forbidden", "RequestTimeTooSkewed", "this host's clock differs from the store's"),
        ("403 Forbidden", "InvalidAccessKeyId", "does not know this access key"),
        ("403 Forbidden", "SignatureDoesNotMatch", "the secret key is not that of this access key"),
        ("400 Bad Request", "ExpiredToken", "the credentials have expired"),
        ("404 Not Found", "NoSuchBucket", "there is no such bucket"),
        ("402 Payment Required", "SomethingNew", "the store answered 402 Payment Required (SomethingNew)"),
    ],
)
def test_a_refusal_says_what_to_do(line: str, code: str, words: str):
    with pytest.raises(UnusableSource) as refusal:
        list_bucket(refuse(line, code), "key")
    assert words in str(refusal.value)
    assert "\n" not in str(refusal.value)
