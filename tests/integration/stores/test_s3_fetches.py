"""Objects of a scripted store: why one cannot be fetched, where those of a manifest are, and which are archived."""

import asyncio
from pathlib import Path

import pytest

from tests.integration.engine.servers.rough_server import Answer, RoughServer, head, plain
from tests.integration.engine.transfers import options, plan
from tradewind_agent.copy.source_listing import build_downloads
from tradewind_agent.engine import TransferEngine, TransferResult
from tradewind_agent.engine.remote.source import DownloadList
from tradewind_agent.stores.port import ListRequest, Place
from tradewind_agent.stores.s3.session import AccessKey, StoreSession
from tradewind_agent.stores.s3.store import S3Store

CONTENT = bytes(range(256)) * 40


def write_document(line: str, text: str, **fields: object) -> Answer:
    async def answer(asked, writer) -> None:
        fields.setdefault("Content_Type", "application/xml")
        writer.write(head(line, asked, Content_Length=len(text.encode()), **fields) + text.encode())

    return answer


def list_keys(*rows: str) -> Answer:
    return write_document("200 OK", f"<ListBucketResult>{''.join(rows)}</ListBucketResult>")


def refuse(line: str, code: str, message: str = "", **fields: object) -> Answer:
    return write_document(line, f"<Error><Code>{code}</Code><Message>{message}</Message></Error>", **fields)


def open_store(server: RoughServer, used) -> S3Store:
    session = StoreSession("us-east-1", server.url, lambda: AccessKey("AK", "SK"), pays=False)
    return S3Store("data", session, used)


def fetch(answers: dict[str, Answer], folder: Path, manifest: str | None = None) -> tuple[TransferResult, RoughServer]:
    """Fetch the object `key` of the bucket, or what a manifest names."""

    async def story() -> tuple[TransferResult, RoughServer]:
        async with RoughServer(answers) as server:
            used = options()
            store = open_store(server, used)
            request = ListRequest(destination=folder, options=used, into_folder=True)
            place = Place(store, store.find_url("key" if manifest is None else ""))
            found = await build_downloads([place], manifest, request)
            return await TransferEngine(plan(1), used).run(found.jobs), server

    return asyncio.run(story())


ROW = f"<Contents><Key>key</Key><Size>{len(CONTENT)}</Size></Contents>"


@pytest.mark.parametrize(
    ("line", "code", "message", "reason"),
    [
        ("403 Forbidden", "AccessDenied", "Access Denied", "these credentials may not do that; ask the bucket's owner"),
        ("404 Not Found", "NoSuchKey", "", "there is no such object"),
        ("403 Forbidden", "InvalidObjectState", "no", "it is archived; restore it first"),
        ("400 Bad Request", "NewCode", "two\nlines", "the store answered 400 Bad Request (NewCode: two lines)"),
        ("400 Bad Request", "NewCode", "long " * 100, "the store answered 400 Bad Request (NewCode: long long"),
    ],
)
def test_refused_download_says_why_and_is_not_requested_again(
    tmp_path: Path, line: str, code: str, message: str, reason: str
):
    result, server = fetch({"/data/": list_keys(ROW), "/data/key": refuse(line, code, message)}, tmp_path)
    (failure,) = result.failures
    assert failure.reason.startswith(reason)
    assert len(failure.reason) < 300
    assert "\n" not in failure.reason
    assert [asked.path for asked in server.asked].count("/data/key") == 1


def test_store_that_is_busy_is_requested_again_and_named_if_it_stays_so(tmp_path: Path):
    slow = refuse("503 Service Unavailable", "SlowDown", "Reduce your request rate")
    result, server = fetch({"/data/": list_keys(ROW), "/data/key": slow}, tmp_path)
    assert result.failures[0].reason.startswith("the store wants fewer requests; try again later")
    assert [asked.path for asked in server.asked].count("/data/key") > 1


@pytest.mark.parametrize("body", ["", "<html>no</html>", "no document"])
def test_refusal_without_a_document_states_the_status(tmp_path: Path, body: str):
    answers = {"/data/": list_keys(ROW), "/data/key": write_document("404 Not Found", body)}
    assert fetch(answers, tmp_path)[0].failures[0].reason == "the server answered 404 Not Found"


def test_manifest_of_a_bucket_in_another_region_is_fetched_there(tmp_path: Path):
    there = {"/data/": list_keys(ROW), "/data/folder/key": plain(CONTENT)}

    def only_there(path: str) -> Answer:
        elsewhere = refuse("400 Bad Request", "AuthorizationHeaderMalformed", x_amz_bucket_region="eu-west-3")

        async def answer(asked, writer) -> bool | None:
            is_there = "/eu-west-3/s3/" in asked.headers["authorization"]
            return await (there[path] if is_there else elsewhere)(asked, writer)

        return answer

    (tmp_path / "manifest").write_text("folder/key\n")
    result, _ = fetch({path: only_there(path) for path in there}, tmp_path, str(tmp_path / "manifest"))
    assert result.failures == ()
    assert (tmp_path / "folder" / "key").read_bytes() == CONTENT


def test_manifest_of_a_bucket_that_may_not_be_listed_is_fetched(tmp_path: Path):
    (tmp_path / "manifest").write_text("key\n")
    answers = {"/data/": refuse("403 Forbidden", "AccessDenied"), "/data/key": plain(CONTENT)}
    result, _ = fetch(answers, tmp_path, str(tmp_path / "manifest"))
    assert result.failures == ()


def write_archived(key: str, status: str) -> str:
    return f"<Contents><Key>{key}</Key><Size>1</Size><StorageClass>GLACIER</StorageClass>{status}</Contents>"


def test_store_that_states_restorations_gets_no_request_an_object(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(StoreSession, "is_aws", True)
    rows = [
        write_archived("cold", ""),
        write_archived("soon", "<RestoreStatus><IsRestoreInProgress>true</IsRestoreInProgress></RestoreStatus>"),
        write_archived(
            "warm", "<RestoreStatus><RestoreExpiryDate>2026-12-01T00:00:00Z</RestoreExpiryDate></RestoreStatus>"
        ),
    ]

    async def story() -> tuple[DownloadList, RoughServer]:
        async with RoughServer({"/data/": list_keys(*rows)}) as server:
            used = options()
            store = open_store(server, used)
            request = ListRequest(destination=tmp_path, options=used, into_folder=True)
            return await store.list_downloads([store.find_url("")], request), server

    found, server = asyncio.run(story())
    assert [job.destination for job in found.jobs] == [str(tmp_path / "warm")]
    assert [each.place for each in found.omissions] == ["s3://data/cold", "s3://data/soon"]
    assert [asked.method for asked in server.asked] == ["GET"]
    assert server.asked[0].headers["x-amz-optional-object-attributes"] == "RestoreStatus"
    assert "x-amz-optional-object-attributes" in server.asked[0].headers["authorization"]
