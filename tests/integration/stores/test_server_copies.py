"""Copies that an object store makes itself: of one version, and by this host where the store cannot."""

import asyncio
import re
from dataclasses import dataclass
from typing import Any

import pytest

from tests.integration.engine.servers.stream_server import RequestHead
from tests.integration.engine.transfers import options, plan
from tests.integration.stores.bucket import Bucket
from tests.integration.stores.object_store import LOST_BEHIND, ObjectStore, _tag, _write
from tradewind_agent.engine import DownloadJob, TransferResult
from tradewind_agent.engine.jobs import RelayJob
from tradewind_agent.engine.relay.relay_engine import RelayEngine
from tradewind_agent.stores.s3.sending.object_receiver import ObjectReceiver
from tradewind_agent.stores.s3.session import AccessKey, StoreSession
from tradewind_agent.stores.s3.store import S3Store

PART_BYTES = 1_000
CONTENT = bytes(range(251)) * 20
"""Six parts."""


@dataclass(eq=False)
class CopyingStore(ObjectStore):
    """A store that copies its objects.

    ``forgets`` : it answers with success and another tag, and stores nothing.
    """

    ignores_source: bool = False
    forgets: bool = False
    blanks: int = 0

    def _answer(self, head: RequestHead, body: bytes) -> bytes | None:
        key = head.target.partition("?")[0].removeprefix("/data/")
        if head.method in ("GET", "HEAD") and "?" not in head.target and key in self.objects:
            self.requests.append(f"{head.method} object")
            content = self.objects[key]
            tag = self.tags.get(key, _tag(content))
            if head.method == "HEAD":
                fields = {"ETag": tag, "Content-Type": "x/own", "x-amz-meta-who": "me"}
                lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
                return f"HTTP/1.1 200 OK\r\nContent-Length: {len(content)}\r\n{lines}\r\n".encode()
            return _write("200 OK", content.decode("latin-1"), ETag=tag).decode().encode("latin-1")
        source = head.headers.get("x-amz-copy-source", "").removeprefix("/data/")
        if source and not self.ignores_source:
            return self._copy(head, source, key)
        if "POST" in head.method and head.target.endswith("?uploads="):
            self.described = head.headers
        return super()._answer(head, body)

    def _copy(self, head: RequestHead, source: str, key: str) -> bytes | None:
        names = dict(re.findall(r"(partNumber|uploadId)=([^&]+)", head.target))
        kind = "COPY part" if names else "COPY"
        self.requests.append(kind)
        fault = self.fault(head, self.requests.count(kind))
        if fault is not None and fault != LOST_BEHIND:
            return None if not fault[0] else _write(fault[0], f"<Error><Code>{fault[1]}</Code></Error>")
        content = self.objects[source]
        if head.headers["x-amz-copy-source-if-match"] != _tag(content):
            return _write("412 Precondition Failed", "<Error><Code>PreconditionFailed</Code></Error>")
        if names:
            first, last = re.fullmatch(r"bytes=(\d+)-(\d+)", head.headers["x-amz-copy-source-range"]).groups()
            content = content[int(first) : int(last) + 1]
            self.uploads[names["uploadId"]][int(names["partNumber"])] = content
        elif self.forgets:
            content = b""
        else:
            self.objects[key] = content
        if fault == LOST_BEHIND:
            return None
        root = "CopyPartResult" if names else "CopyObjectResult"
        text = f"<{root}><ETag>{_tag(content).replace(chr(34), '&quot;')}</ETag></{root}>"
        return _write("200 OK", " " * self.blanks + "\r\n" * (self.blanks > 0) + text)


def copy(store: CopyingStore, *, tag: str = "", third_party: bool = True) -> TransferResult:
    """Copy ``a`` to ``b`` within one bucket."""

    async def story() -> TransferResult:
        async with store, asyncio.timeout(30.0):
            used = options(third_party=third_party)
            session = StoreSession("us-east-1", store.url, lambda: AccessKey("AK", "SK"), pays=False)
            bucket = S3Store("data", session, used)
            receiver = ObjectReceiver(bucket.url, bucket.find_key, session)
            used.hooks.add_receiver(bucket.url.origin, receiver)
            content = store.objects["a"]
            fetched = DownloadJob(
                source=bucket.find_url("a"), destination="b", size_bytes=len(content), etag=tag or _tag(content)
            )
            job = RelayJob(fetched=fetched, destination=bucket.find_url("b"))
            return await RelayEngine(plan(2, 3, 2), used).run([job])

    store.objects.setdefault("a", CONTENT)
    return asyncio.run(story())


@pytest.fixture
def in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tradewind_agent.stores.s3.sending.object_copy.LARGEST_SINGLE_BYTES", 0)
    monkeypatch.setattr("tradewind_agent.stores.s3.sending.object_copy._LEAST_PART_BYTES", PART_BYTES)


def test_the_store_copies_an_object_by_one_request():
    store = CopyingStore(blanks=3)
    result = copy(store)
    assert (result.failures, result.files_done) == ((), 1)
    assert result.bytes_moved == result.bytes_by_servers == len(CONTENT)
    assert (store.objects["b"], store.requests) == (CONTENT, ["COPY"])


def test_copy_with_another_tag_that_is_not_there_is_a_failure():
    (failure,) = copy(CopyingStore(forgets=True)).failures
    assert "does not have the object" in failure.reason


@pytest.mark.usefixtures("in_parts")
def test_the_store_copies_a_large_object_part_by_part_with_its_metadata():
    store = CopyingStore()
    result = copy(store)
    assert result.failures == ()
    assert result.bytes_by_servers == len(CONTENT)
    assert store.objects["b"] == CONTENT
    assert store.requests.count("COPY part") == 6
    assert (store.described["content-type"], store.described["x-amz-meta-who"]) == ("x/own", "me")
    assert store.uploads == {}


@pytest.mark.parametrize("fault", [("", ""), ("503 Slow Down", "SlowDown"), ("200 OK", "InternalError"), LOST_BEHIND])
def test_a_copy_that_fails_for_a_while_is_made_again(fault: tuple[str, str]):
    store = CopyingStore(lambda _head, count: fault if count == 1 else None)
    assert copy(store).failures == ()
    assert store.objects["b"] == CONTENT


@pytest.mark.usefixtures("in_parts")
@pytest.mark.parametrize("fault", [("", ""), ("503 Slow Down", "SlowDown"), ("200 OK", "InternalError"), LOST_BEHIND])
def test_a_part_that_fails_for_a_while_is_copied_again(fault: tuple[str, str]):
    store = CopyingStore(lambda head, count: fault if count == 2 and "x-amz-copy-source" in head.headers else None)
    assert copy(store).failures == ()
    assert store.objects["b"] == CONTENT
    assert store.uploads == {}


@pytest.mark.parametrize("parts", [False, True])
def test_an_error_in_the_body_of_a_200_fails_the_object(parts: bool, request: pytest.FixtureRequest):
    if parts:
        request.getfixturevalue("in_parts")
    store = CopyingStore(lambda head, _: ("200 OK", "InternalError") if "x-amz-copy-source" in head.headers else None)
    (failure,) = copy(store).failures
    assert "InternalError" in failure.reason
    assert "b" not in store.objects
    assert store.uploads == {}


@pytest.mark.parametrize("parts", [False, True])
def test_an_object_that_changed_since_it_was_listed_fails_in_one_line(parts: bool, request: pytest.FixtureRequest):
    if parts:
        request.getfixturevalue("in_parts")
    store = CopyingStore()
    (failure,) = copy(store, tag='"00000000000000000000000000000000"').failures
    assert failure.reason.endswith("changed since it was listed; copy it again when it is at rest")
    assert "b" not in store.objects


@pytest.mark.parametrize("parts", [False, True])
@pytest.mark.parametrize(
    ("fault", "words"),
    [(("501 Not Implemented", "NotImplemented"), "501"), (("403 Forbidden", "AccessDenied"), "403 Forbidden")],
)
def test_this_host_relays_what_the_store_does_not_copy(
    parts: bool, fault: tuple[str, str], words: str, request: pytest.FixtureRequest
):
    if parts:
        request.getfixturevalue("in_parts")
    store = CopyingStore(lambda head, _: fault if "x-amz-copy-source" in head.headers else None)
    result = copy(store)
    assert (result.failures, result.bytes_by_servers) == ((), 0)
    assert result.bytes_moved == len(CONTENT)
    assert store.objects["b"] == CONTENT
    assert store.uploads == {}
    (note,) = result.notes
    assert note.startswith("1 file went through this host, as the servers do not move them: ")
    assert words in note


def test_a_store_that_ignores_the_source_leaves_no_empty_object():
    store = CopyingStore(ignores_source=True)
    result = copy(store)
    assert result.failures == ()
    assert store.objects["b"] == CONTENT
    assert len(result.notes) == 1


def test_nobody_but_this_host_moves_bytes_if_the_user_forbids_it():
    store = CopyingStore()
    result = copy(store, third_party=False)
    assert (result.failures, result.bytes_by_servers) == ((), 0)
    assert "COPY" not in store.requests


def test_the_report_says_that_the_store_moved_the_bytes(bucket: Bucket):
    bucket.put("x/a", b"a" * 1_000)
    report: Any = bucket.relay(f"s3://{bucket.name}/x/", f"s3://{bucket.name}/y/")
    assert report.bytes_by_servers == report.bytes_moved == 1_000
    assert "energy not measured, as the servers have moved it between them" in report.format_line()
    assert {record.mover.name for record in report.records} == {"tradewind-third-party"}
    assert report.build_document()["bytes_by_servers"] == 1_000
