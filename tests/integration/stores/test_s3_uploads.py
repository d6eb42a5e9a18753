"""Uploads to an object store that refuses, forgets and loses: every object is right, and no parts are left open."""

import asyncio
import random
from dataclasses import replace
from pathlib import Path

import pytest

from tests.integration.engine.servers.stream_server import RequestHead
from tests.integration.engine.transfers import options, plan
from tests.integration.stores.object_store import LOST_BEHIND, Fault, ObjectStore
from tradewind_agent.engine import TransferEngine, TransferResult
from tradewind_agent.engine.remote.source import list_uploads
from tradewind_agent.engine.store_access import ObjectProperties, StoreAccess
from tradewind_agent.errors import UnusableSource
from tradewind_agent.stores.s3.sending.upload_notes import open_note
from tradewind_agent.stores.s3.session import AccessKey, StoreSession
from tradewind_agent.stores.s3.store import S3Store

PART_BYTES = 100_000
CONTENT = random.Random(9).randbytes(5 * PART_BYTES + 17)
SMALL = CONTENT[:3_000]


@pytest.fixture(autouse=True)
def short_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "tradewind_agent.stores.s3.sending.compared_upload.choose_part_bytes",
        lambda _, planned=None: planned or PART_BYTES,
    )
    monkeypatch.setattr("tradewind_agent.stores.s3.sending.compared_upload.LEAST_PART_BYTES", PART_BYTES // 2)


def send(
    store: ObjectStore,
    source: Path,
    content: bytes = CONTENT,
    part_bytes: int | None = None,
    *,
    noted: str = "",
    streams: int = 3,
    sends_sums: bool = True,
    **changes: object,
) -> TransferResult:
    """Send one file as ``up/file``; ``noted`` : the id of an upload that an earlier run has noted as its own."""
    notes = source.parent / "notes"
    planned = [
        each._replace(parameters=replace(each.parameters, part_bytes=part_bytes)) for each in plan(2, streams, 2)
    ]

    async def story() -> TransferResult:
        async with store, asyncio.timeout(30.0):
            used = options(stores=StoreAccess(notes_folder=notes), **changes)
            key = AccessKey("AK", "SK")
            session = StoreSession("us-east-1", store.url, lambda: key, pays=False, sends_sums=sends_sums)
            bucket = S3Store("data", session, used)
            source.write_bytes(content)  # noqa: ASYNC240 -- before anything is sent
            if noted:
                note = open_note(notes, str(bucket.find_url("up/file")))
                assert note is not None
                note.write(noted)
                note.close(is_over=False)
            jobs = list_uploads([source], bucket.find_url("up/file")).jobs
            return await TransferEngine(planned, used).run(jobs)

    return asyncio.run(story())


def refuse(kind: str, status: str, code: str = "", *, first: int = 1, last: int = 1) -> Fault:
    """Answer requests of a kind so, from one of them to another; without a status the connection ends."""

    def fault(head: RequestHead, count: int) -> tuple[str, str] | None:
        method, *names = kind.split()
        is_meant = head.method == method and all(f"{name}=" in head.target or name in head.target for name in names)
        is_exact = len(names) == head.target.count("&") + ("?" in head.target) if method == "PUT" else True
        return (status, code) if is_meant and is_exact and first <= count <= last else None

    return fault


def test_a_large_file_goes_in_parts_and_a_small_one_at_once(tmp_path: Path):
    store = ObjectStore()
    assert send(store, tmp_path / "large").failures == ()
    assert store.objects == {"up/file": CONTENT}
    assert store.requests.count("PUT uploadId partNumber") == 6
    assert store.uploads == {}
    store = ObjectStore()
    assert send(store, tmp_path / "small", SMALL).failures == ()
    assert (store.objects, store.requests) == ({"up/file": SMALL}, ["PUT"])


@pytest.mark.parametrize(
    ("kind", "status", "code"),
    [
        ("PUT partNumber uploadId", "", ""),
        ("PUT partNumber uploadId", "503 Slow Down", "SlowDown"),
        ("PUT partNumber uploadId", "500 Internal Server Error", "InternalError"),
        ("PUT partNumber uploadId", "400 Bad Request", "RequestTimeout"),
        ("PUT partNumber uploadId", "400 Bad Request", "BadDigest"),
        ("PUT partNumber uploadId", "404 Not Found", "NoSuchUpload"),
        ("GET uploads", "403 Forbidden", "AccessDenied"),
        ("GET uploads", "501 Not Implemented", "NotImplemented"),
        ("GET uploads", "503 Slow Down", "SlowDown"),
        ("POST uploads", "", ""),
        ("POST uploads", "503 Slow Down", "SlowDown"),
        ("POST uploads", "200 OK", "InternalError"),
        ("POST uploadId", "", ""),
        ("PUT partNumber uploadId", *LOST_BEHIND),
        ("POST uploads", *LOST_BEHIND),
        ("POST uploadId", *LOST_BEHIND),
        ("GET uploads", "500 Internal Server Error", "InternalError"),
        ("POST uploadId", "500 Internal Server Error", "InternalError"),
        ("POST uploadId", "200 OK", "InternalError"),
    ],
)
def test_refusals_that_pass_cost_no_file(tmp_path: Path, kind: str, status: str, code: str):
    store = ObjectStore(refuse(kind, status, code))
    result = send(store, tmp_path / "file")
    assert result.failures == ()
    assert store.objects == {"up/file": CONTENT}
    assert store.uploads == {}
    if (kind, status) == ("POST uploadId", "lost"):
        assert store.requests.count("PUT uploadId partNumber") == 6


@pytest.mark.parametrize(
    ("status", "code"), [("", ""), ("503 Slow Down", "SlowDown"), ("400 Bad Request", "BadDigest")]
)
def test_a_small_object_is_sent_again(tmp_path: Path, status: str, code: str):
    store = ObjectStore(refuse("PUT", status, code, last=2))
    assert send(store, tmp_path / "file", SMALL).failures == ()
    assert store.objects == {"up/file": SMALL}


@pytest.mark.parametrize("content", [CONTENT, SMALL], ids=["parts", "whole"])
def test_a_refusal_that_stays_fails_with_its_meaning_and_leaves_no_parts(tmp_path: Path, content: bytes):
    def fault(head: RequestHead, _: int) -> tuple[str, str] | None:
        return ("403 Forbidden", "AccessDenied") if head.method == "PUT" else None

    store = ObjectStore(fault)
    (failure,) = send(store, tmp_path / "file", content).failures
    assert failure.reason.startswith("these credentials may not do that")
    assert (store.objects, store.uploads) == ({}, {})


def test_parts_of_an_earlier_run_are_reused_where_they_are_those_of_the_file(tmp_path: Path):
    parts = {number: CONTENT[(number - 1) * PART_BYTES : number * PART_BYTES] for number in (1, 2, 3, 6)}
    store = ObjectStore(uploads={"earlier": parts | {2: bytes(PART_BYTES), 3: parts[3][:-1], 9: b"of a longer file"}})
    assert send(store, tmp_path / "file").failures == ()
    assert store.objects == {"up/file": CONTENT}
    assert store.requests.count("PUT uploadId partNumber") == 4
    assert "POST uploads" not in store.requests


@pytest.mark.parametrize(("part_bytes", "count"), [(None, 6), (2 * PART_BYTES, 3), (PART_BYTES // 2, 11)])
def test_parts_have_the_planned_size(tmp_path: Path, part_bytes: int | None, count: int):
    store = ObjectStore()
    assert send(store, tmp_path / "file", part_bytes=part_bytes).failures == ()
    assert store.objects == {"up/file": CONTENT}
    assert store.requests.count("PUT uploadId partNumber") == count


@pytest.mark.parametrize("planned", [PART_BYTES // 2, 2 * PART_BYTES])
def test_parts_of_an_earlier_run_are_reused_though_another_size_is_planned(tmp_path: Path, planned: int):
    parts = {number: CONTENT[(number - 1) * PART_BYTES : number * PART_BYTES] for number in (1, 2, 4)}
    store = ObjectStore(uploads={"earlier": parts})
    assert send(store, tmp_path / "file", part_bytes=planned).failures == ()
    assert store.objects == {"up/file": CONTENT}
    assert store.requests.count("PUT uploadId partNumber") == 3


def test_parts_of_somebody_else_leave_the_planned_size(tmp_path: Path):
    store = ObjectStore(uploads={"others": {1: bytes(PART_BYTES)}})
    assert send(store, tmp_path / "file", part_bytes=2 * PART_BYTES).failures == ()
    assert store.requests.count("PUT uploadId partNumber") == 3


def test_a_file_that_changes_while_it_is_sent_is_not_stored(tmp_path: Path):
    source = tmp_path / "file"

    def fault(head: RequestHead, count: int) -> tuple[str, str] | None:
        if head.method == "PUT" and count == 2:
            source.write_bytes(CONTENT[::-1])
        return None

    store = ObjectStore(fault)
    (failure,) = send(store, source).failures
    assert "changed while it was sent" in failure.reason
    assert store.objects == {}
    assert store.uploads == {}, store.requests


def test_an_empty_file_becomes_an_empty_object(tmp_path: Path):
    store = ObjectStore()
    assert send(store, tmp_path / "file", b"").failures == ()
    assert store.objects == {"up/file": b""}


def test_an_upload_of_somebody_else_is_neither_used_nor_ended(tmp_path: Path):
    store = ObjectStore(uploads={"others": {1: b"of another file"}})
    assert send(store, tmp_path / "file").failures == ()
    assert store.objects == {"up/file": CONTENT}
    assert store.uploads == {"others": {1: b"of another file"}}


def test_one_error_of_the_list_gives_no_earlier_upload_up(tmp_path: Path):
    parts = {number: CONTENT[(number - 1) * PART_BYTES : number * PART_BYTES] for number in (1, 2)}
    store = ObjectStore(refuse("GET uploads", "500 Internal Server Error", "InternalError"), uploads={"earlier": parts})
    assert send(store, tmp_path / "file").failures == ()
    assert store.uploads == {}
    assert store.requests.count("PUT uploadId partNumber") == 4


def test_parts_that_the_store_does_not_forget_are_reported(tmp_path: Path):
    def fault(head: RequestHead, _: int) -> tuple[str, str] | None:
        if head.method == "DELETE":
            return "503 Slow Down", "SlowDown"
        return ("403 Forbidden", "AccessDenied") if head.method == "PUT" else None

    (failure,) = send(ObjectStore(fault), tmp_path / "file").failures
    assert failure.reason.endswith("its parts are still in the store")


def test_credentials_that_cannot_be_renewed_end_the_copy(tmp_path: Path):
    def refuse_key() -> AccessKey:
        raise UnusableSource("the credentials for the object store have expired")

    async def story() -> None:
        used = options()
        async with ObjectStore() as store, asyncio.timeout(10.0):
            bucket = S3Store("data", StoreSession("us-east-1", store.url, refuse_key, pays=False), used)
            (tmp_path / "file").write_bytes(SMALL)
            jobs = list_uploads([tmp_path / "file"], bucket.find_url("up/file")).jobs
            await TransferEngine(plan(2, 3, 2), used).run(jobs)

    with pytest.raises(UnusableSource, match="have expired"):
        asyncio.run(story())


COLD = ObjectProperties(storage_class="STANDARD_IA", content_type="text/csv", metadata=(("project", "storm 7"),))
COLD_HEADERS = {"content-type": "text/csv", "x-amz-storage-class": "STANDARD_IA", "x-amz-meta-project": "storm 7"}


@pytest.mark.parametrize("content", [CONTENT, SMALL], ids=["parts", "whole"])
def test_objects_get_the_properties_that_the_user_names(tmp_path: Path, content: bytes):
    store = ObjectStore()
    assert send(store, tmp_path / "file", content, properties=COLD).failures == ()
    assert store.properties["up/file"] == COLD_HEADERS
    store = ObjectStore()
    assert send(store, tmp_path / "file.csv", content).failures == ()
    assert store.properties["up/file"] == {"content-type": "text/csv"}


@pytest.mark.parametrize(
    ("earlier", "properties", "expected"),
    [
        (COLD_HEADERS, COLD, COLD_HEADERS),
        (COLD_HEADERS, ObjectProperties(), {"content-type": "application/octet-stream"}),
        ({"content-type": "application/octet-stream"}, COLD, COLD_HEADERS),
        ({**COLD_HEADERS, "x-amz-meta-project": "other"}, COLD, COLD_HEADERS),
    ],
)
def test_an_upload_that_was_started_with_other_properties_is_sent_again(
    tmp_path: Path, earlier: dict[str, str], properties: ObjectProperties, expected: dict[str, str]
):
    parts = {number: CONTENT[(number - 1) * PART_BYTES : number * PART_BYTES] for number in (1, 2)}
    store = ObjectStore(uploads={"earlier": parts}, properties={"earlier": earlier})
    assert send(store, tmp_path / "file", properties=properties).failures == ()
    assert store.objects == {"up/file": CONTENT}
    assert store.properties["up/file"] == expected
    assert store.requests.count("PUT uploadId partNumber") == (4 if earlier == expected else 10)
    assert store.uploads == {}


def list_notes(folder: Path) -> list[Path]:
    return list((folder / "notes").iterdir())


@pytest.mark.parametrize("parts", [{}, {1: bytes(PART_BYTES)}, {1: CONTENT[:PART_BYTES]}], ids=["none", "other", "own"])
def test_an_upload_that_an_earlier_run_has_noted_is_gone_on_with(tmp_path: Path, parts: dict[int, bytes]):
    store = ObjectStore()
    store.uploads["ours"] = dict(parts)
    assert send(store, tmp_path / "file", noted="ours").failures == ()
    assert (store.objects, store.uploads) == ({"up/file": CONTENT}, {})
    assert list_notes(tmp_path) == []


def test_a_noted_upload_is_ended_with_a_file_that_fails(tmp_path: Path):
    store = ObjectStore(refuse("PUT partNumber uploadId", "403 Forbidden", "AccessDenied", last=10**6))
    store.uploads["ours"] = {}
    assert len(send(store, tmp_path / "file", noted="ours").failures) == 1
    assert (store.objects, store.uploads) == ({}, {})
    assert list_notes(tmp_path) == []


def test_an_upload_that_is_left_stays_noted(tmp_path: Path):
    refused = refuse("DELETE uploadId", "500 Internal Server Error", "InternalError", last=10**6)
    denied = refuse("PUT partNumber uploadId", "403 Forbidden", "AccessDenied", last=10**6)
    store = ObjectStore(lambda head, count: denied(head, count) or refused(head, count))
    assert "still in the store" in send(store, tmp_path / "file").failures[0].reason
    (note,) = list_notes(tmp_path)
    assert note.read_text() == next(iter(store.uploads))


def test_a_noted_upload_that_the_store_does_not_know_any_more_is_started_again(tmp_path: Path):
    store = ObjectStore()
    assert send(store, tmp_path / "file", noted="gone").failures == ()
    assert (store.objects, store.uploads) == ({"up/file": CONTENT}, {})
    assert list_notes(tmp_path) == []


@pytest.mark.parametrize(
    ("size", "part_bytes", "parts"),
    [(4 * PART_BYTES, None, 0), (4 * PART_BYTES + 1, None, 5), (2 * PART_BYTES, PART_BYTES, 2)],
)
def test_over_one_stream_long_files_go_in_parts_too(tmp_path: Path, size: int, part_bytes: int | None, parts: int):
    store = ObjectStore()
    assert send(store, tmp_path / "file", CONTENT[:size], part_bytes, streams=1).failures == ()
    assert store.objects == {"up/file": CONTENT[:size]}
    assert store.requests.count("PUT uploadId partNumber") == parts


def test_store_that_permits_one_request_at_a_time_gets_the_file(tmp_path: Path):
    """Every second request of those that begin an upload is refused, as by a limit that each query uses up."""
    seen = 0

    def fault(head: RequestHead, _: int) -> tuple[str, str] | None:
        nonlocal seen
        if "uploads" not in head.target:
            return None
        seen += 1
        return ("503 Slow Down", "SlowDown") if seen % 2 == 0 else None

    store = ObjectStore(fault=fault)
    assert send(store, tmp_path / "f").failures == ()
    assert store.objects == {"up/file": CONTENT}
    assert store.requests.count("GET uploads") == 1
