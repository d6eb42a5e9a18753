"""``--delete`` on an object store: what goes, what stays, and what is reported where the store refuses."""

import asyncio
import re
from base64 import b64decode, b64encode
from hashlib import md5
from pathlib import Path
from zlib import crc32

import pytest

from tests.integration.engine.servers.stream_server import RequestHead, StreamServer, read_head
from tests.integration.engine.transfers import options
from tests.integration.stores.bucket import Bucket, read
from tradewind_agent.copy.removal import Removal
from tradewind_agent.engine.http.address import Url
from tradewind_agent.engine.remote.omissions import ListingRules
from tradewind_agent.engine.remote.path_selection import PathSelection
from tradewind_agent.errors import UnusableSource
from tradewind_agent.stores.port import ListRequest
from tradewind_agent.stores.s3.bucket_listing import BucketListing
from tradewind_agent.stores.s3.object_removal import remove_objects

DELETE = ListingRules(delete=True)
ODD = ("a&b<c>'\"", "ü/é\u0301", "a//b", "%41 +", "both", "both/in")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "stays").write_bytes(b"here")
    return tmp_path / "set"


def test_objects_that_the_folder_has_not_are_removed_below_the_prefix_alone(bucket: Bucket, folder: Path):
    for key in ("up/stays", "up/raw.tmp", "up/keep/x", "up/", "other", "upside", *(f"up/{name}" for name in ODD)):
        bucket.put(key, b"" if key.endswith("/") else key.encode())
    rules = ListingRules(selection=PathSelection.parse([], ["*.tmp", "keep/"]), delete=True)
    report = bucket.send(folder, f"s3://{bucket.name}/up/", rules=rules)
    assert report.is_complete, report.format_line()
    assert bucket.list_keys() == {"up/stays", "up/raw.tmp", "up/keep/x", "up/", "other", "upside"}
    assert report.removal is not None
    assert set(report.removal.removed) == {f"s3://{bucket.name}/up/{name}" for name in ODD}


def test_thousands_of_objects_are_removed(bucket: Bucket, folder: Path):
    for number in range(1_205):
        bucket.put(f"{number:04}", b"x")
    report = bucket.send(folder, f"s3://{bucket.name}/", rules=DELETE)
    assert report.removal is not None
    assert len(report.removal.removed) == 1_205
    assert bucket.list_keys() == {"stays"}


def test_a_download_from_a_bucket_removes_here(bucket: Bucket, folder: Path):
    bucket.put("new", b"new")
    assert bucket.fetch(f"s3://{bucket.name}/", folder, rules=DELETE).is_complete
    assert read(folder) == {"new": b"new"}


def test_an_object_that_is_left_out_keeps_all_files_here(bucket: Bucket, folder: Path):
    bucket.put("new", b"new")
    bucket.put("odd//x", b"x")
    report = bucket.fetch(f"s3://{bucket.name}/", folder, rules=DELETE)
    assert report.removal is not None
    assert "odd//x cannot be stored under its name" in (report.removal.obstacle or "")
    assert set(read(folder)) == {"new", "stays"}


def test_a_listing_that_fails_in_the_middle_removes_and_copies_nothing(bucket: Bucket, folder: Path, monkeypatch):
    bucket.put("up/old", b"old")

    async def fail(*_: object) -> None:
        raise UnusableSource("the store lists no more")

    monkeypatch.setattr("tradewind_agent.stores.s3.store.BucketListing.list", fail)
    with pytest.raises(UnusableSource, match="lists no more"):
        bucket.send(folder, f"s3://{bucket.name}/up/", rules=DELETE)
    assert bucket.list_keys() == {"up/old"}


class RemovalServer(StreamServer):
    """Removes keys as a script says: ``refused`` has the codes of errors by key, which end after ``lasting`` requests.

    ``status`` : of answers to documents that name many, in place of their results.
    """

    def __init__(
        self,
        refused: dict[str, str] | None = None,
        *,
        lasting: int = 99,
        status: str = "200 OK",
        takes_sums: bool = True,
    ) -> None:
        super().__init__()
        self.takes_sums = takes_sums
        self.refused, self.lasting, self.status = refused or {}, lasting, status
        self.documents: list[list[str]] = []
        self.removed: list[str] = []
        self.methods: list[str] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = await read_head(reader)
        assert asked is not None
        body = await reader.readexactly(int(asked.headers.get("content-length", "0")))
        self.methods.append(asked.method)
        status, text = self._answer(asked, body)
        writer.write(f"HTTP/1.1 {status}\r\nContent-Length: {len(text)}\r\n\r\n{text}".encode())
        await writer.drain()
        writer.close()

    def _answer(self, asked: RequestHead, body: bytes) -> tuple[str, str]:
        if asked.method == "DELETE":
            self.removed.append(asked.target)
            return "200 OK", ""
        assert asked.target == "/data/?delete="
        assert b64decode(asked.headers["content-md5"]) == md5(body, usedforsecurity=False).digest()
        crc = b64encode(crc32(body).to_bytes(4, "big")).decode() if self.takes_sums else None
        assert asked.headers.get("x-amz-checksum-crc32") == crc
        keys = re.findall("<Key>(.*?)</Key>", body.decode())
        self.documents.append(keys)
        if self.status != "200 OK":
            return self.status, "<Error><Code>NotImplemented</Code></Error>" if "501" in self.status else ""
        refused = self.refused if len(self.documents) <= self.lasting else {}
        rows = [
            f"<Error><Key>{key}</Key><Code>{refused[key]}</Code></Error>"
            if key in refused
            else f"<Deleted><Key>{key}</Key></Deleted>"
            for key in keys
            if refused.get(key) != "silent"
        ]
        return "200 OK", f"<DeleteResult>{''.join(rows)}</DeleteResult>"


class Noted:
    def __init__(self) -> None:
        self.removed: set[str] = set()
        self.failures: dict[str, str] = {}

    def note_removed(self, path: str) -> None:
        self.removed.add(path)

    def note_failure(self, path: str, reason: str) -> None:
        self.failures[path] = reason


def remove(server: RemovalServer, keys: list[str]) -> Noted:
    noted = Noted()

    async def story() -> None:
        async with server, asyncio.timeout(30):
            place = Url.parse(f"http://{server.address}/data/")
            listing = BucketListing("data", place, ListRequest(destination=Path(), options=options()))
            await remove_objects(listing, {key: key for key in keys}, noted, sends_sums=server.takes_sums)

    asyncio.run(story())
    return noted


def test_the_refusal_of_single_keys_is_reported_and_the_others_go():
    noted = remove(RemovalServer({"b": "AccessDenied", "c": "silent", "d": "Odd"}), list("abcd"))
    assert noted.removed == {"a"}
    assert noted.failures["b"].startswith("these credentials may not do that")
    assert noted.failures["c"] == "the store does not say that it was removed"
    assert noted.failures["d"] == "Odd"


def test_store_that_takes_no_sums_removes_by_the_md5_alone():
    assert remove(RemovalServer(takes_sums=False), ["a", "b"]).removed == {"a", "b"}


def test_a_refusal_that_passes_is_tried_again_for_its_key_alone():
    server = RemovalServer({"b": "SlowDown"}, lasting=2)
    assert remove(server, list("abc")).removed == {"a", "b", "c"}
    assert server.documents == [["a", "b", "c"], ["b"], ["b"]]
    server = RemovalServer({"b": "InternalError"})
    assert remove(server, list("ab")).failures == {"b": "InternalError"}


def test_a_store_without_removal_of_many_gets_one_request_a_key():
    server = RemovalServer(status="501 Not Implemented")
    assert remove(server, ["a", "b/c"]).removed == {"a", "b/c"}
    assert sorted(server.removed) == ["/data/a", "/data/b/c"]


def test_a_request_that_is_refused_fails_all_its_keys():
    noted = remove(RemovalServer(status="403 Forbidden"), list("ab"))
    assert (noted.removed, set(noted.failures)) == (set(), {"a", "b"})


def test_names_that_no_document_can_hold_are_removed_one_by_one():
    server = RemovalServer()
    assert remove(server, ["good", "bad\x01", "also\r"]).removed == {"good", "bad\x01", "also\r"}
    assert server.documents == [["good"]]
    assert sorted(server.removed) == ["/data/also%0D", "/data/bad%01"]


def test_a_thousand_keys_go_in_one_request():
    server = RemovalServer()
    assert len(remove(server, [str(number) for number in range(2_001)]).removed) == 2_001
    assert sorted(map(len, server.documents)) == [1, 1000, 1000]


def test_a_report_names_the_first_that_was_not_removed():
    removal = Removal(removed=["a"], failures={"b": "is locked"})
    assert removal.format_part() == "; 1 file removed, 1 not, first b: is locked"
    assert not removal.succeeded
