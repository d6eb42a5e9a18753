"""Files that are not, or do not stay, what was listed: never mixed, never taken for the right one."""

import asyncio
from base64 import b64encode
from hashlib import md5, sha1, sha256
from pathlib import Path
from zlib import adler32, crc32

import pytest

from tests.conditions import stretched
from tests.integration.engine.fetching import CONTENT, SMALL, copies, fetch_one, reason_of_failure
from tests.integration.engine.servers.rough_server import RoughRequest, RoughServer, head, plain, status
from tests.integration.engine.transfers import jobs_for, options, plan
from tradewind.errors import InvalidValue
from tradewind_agent.engine import DownloadJob, SizeTrust, TransferEngine, TransferResult, Url
from tradewind_agent.engine.local.checksums import Checksum


def test_file_shrunk_since_listing_is_fetched_in_current_size(tmp_path: Path):
    copies(plain(SMALL), tmp_path, SMALL, size=len(CONTENT))


def test_file_grown_since_listing_is_fetched_in_current_size(tmp_path: Path):
    copies(plain(CONTENT), tmp_path, CONTENT, size=len(SMALL))


def test_a_manifest_size_that_the_server_does_not_have_is_a_failure(tmp_path: Path):
    async def story() -> TransferResult:
        async with RoughServer({"/file": plain(CONTENT)}) as server:
            job = DownloadJob(
                source=Url.parse(f"{server.url}/file"),
                destination=str(tmp_path / "file"),
                size_bytes=5,
                size_trust=SizeTrust.BINDING,
            )
            return await TransferEngine(plan(1), options()).run([job])

    (failure,) = asyncio.run(story()).failures
    assert failure.reason == f"the server has {len(CONTENT)} bytes, the manifest says 5"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("right", [True, False])
def test_the_sum_of_a_manifest_is_checked(tmp_path: Path, right: bool):
    digest = sha256(CONTENT if right else SMALL).hexdigest()

    async def story() -> TransferResult:
        async with RoughServer({"/file": plain(CONTENT)}) as server:
            job = DownloadJob(
                source=Url.parse(f"{server.url}/file"),
                destination=str(tmp_path / "file"),
                checksum=Checksum("sha256", bytes.fromhex(digest)),
            )
            return await TransferEngine(plan(1, 2), options()).run([job])

    result = asyncio.run(story())
    assert result.succeeded is right
    assert {path.name for path in tmp_path.iterdir()} == ({"file"} if right else set())
    assert right or "sha256 is" in result.failures[0].reason


def test_a_file_that_changes_while_it_is_fetched_is_never_mixed(tmp_path: Path):
    old, new = plain(CONTENT, '"old"'), plain(CONTENT[::-1], '"new"')

    async def answer(asked, writer):
        return await (old if asked.nth < 2 else new)(asked, writer)

    copies(answer, tmp_path, CONTENT[::-1], size=len(CONTENT))


def test_a_file_that_never_stops_changing_is_given_up(tmp_path: Path):
    async def answer(asked, writer):
        etag = f'"{asked.nth}"'
        writer.write(head("200 OK", asked, Content_Length=len(CONTENT), ETag=etag) + CONTENT[: len(CONTENT) // 2])
        return False

    reason, _ = reason_of_failure(answer, tmp_path, size=len(CONTENT))
    assert reason.endswith("(tried 4 times)")


def test_a_file_whose_name_of_a_version_differs_by_server_is_taken_in_one_answer(tmp_path: Path):
    async def answer(asked, writer):
        return await plain(CONTENT, f'"{asked.nth}"')(asked, writer)

    _, server = copies(answer, tmp_path, CONTENT, size=len(CONTENT))
    assert "range" not in server.asked[-1].headers


def test_a_file_that_fails_half_way_can_be_resumed(tmp_path: Path):
    whole = plain(CONTENT)
    gone = status("410 Gone", 10**6)

    async def answer(asked, writer):
        return await (whole if asked.nth == 0 else gone)(asked, writer)

    async def story() -> tuple[TransferResult, TransferResult]:
        async with RoughServer({"/file": answer}) as server:
            failed = await fetch_one(server, tmp_path, size=len(CONTENT))
        async with RoughServer({"/file": whole}) as server:
            return failed, await fetch_one(server, tmp_path, size=len(CONTENT))

    failed, resumed = asyncio.run(story())
    assert failed.failures[0].reason == "the server answered 410 Gone"
    assert resumed.succeeded
    assert failed.bytes_moved + resumed.bytes_moved == len(CONTENT)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"file": CONTENT}


def test_server_digest_is_checked_with_checksum_option(tmp_path: Path):
    digest = b64encode(sha256(CONTENT).digest()).decode()

    async def answer(asked, writer):
        assert asked.headers["want-repr-digest"] == "sha-256=10"
        assert "adler32" in asked.headers["want-digest"]
        field = f"sha-256=:{digest}:"
        writer.write(head("200 OK", asked, Content_Length=len(SMALL), Repr_Digest=field) + SMALL)

    async def story() -> TransferResult:
        async with RoughServer({"/file": answer}) as server:
            return await fetch_one(server, tmp_path, checksum=True)

    (failure,) = asyncio.run(story()).failures
    assert failure.reason.startswith(f"sha256 is {sha256(SMALL).hexdigest()}, expected {sha256(CONTENT).hexdigest()}")


@pytest.mark.parametrize(
    "header",
    [
        {"Repr-Digest": f"sha-256=:{b64encode(sha256(CONTENT).digest()).decode()}:"},
        {"Digest": f"adler32={adler32(CONTENT):x}"},
        {"Content-MD5": b64encode(md5(CONTENT).digest()).decode()},
        {"OC-Checksum": f"SHA1:{sha1(CONTENT).hexdigest()} MD5:{md5(CONTENT).hexdigest()}"},
        {"X-Goog-Hash": f"md5={b64encode(md5(CONTENT).digest()).decode()}"},
        {"x-amz-checksum-crc32": b64encode(crc32(CONTENT).to_bytes(4, "big")).decode()},
    ],
    ids=lambda header: next(iter(header)),
)
@pytest.mark.parametrize("is_right", [True, False], ids=["right", "wrong"])
def test_sum_that_an_answer_states_is_checked_without_request(tmp_path: Path, header: dict[str, str], is_right: bool):
    body = CONTENT if is_right else CONTENT[:-1] + bytes([CONTENT[-1] ^ 1])

    async def answer(asked, writer):
        writer.write(head("200 OK", asked, Content_Length=len(body), **header) + body)

    async def story() -> TransferResult:
        async with RoughServer({"/file": answer}) as server:
            return await fetch_one(server, tmp_path)

    result = asyncio.run(story())
    assert result.succeeded is is_right
    assert is_right or " is " in result.failures[0].reason
    assert [path.read_bytes() for path in tmp_path.iterdir()] == ([CONTENT] if is_right else [])


@pytest.mark.parametrize("is_right", [True, False], ids=["right", "wrong"])
@pytest.mark.parametrize("streams", [1, 3])
def test_object_has_the_sum_that_its_tag_states_also_in_parts(tmp_path: Path, streams: int, is_right: bool):
    tag = f'"{md5(CONTENT if is_right else SMALL).hexdigest()}"'

    async def story() -> TransferResult:
        async with RoughServer({"/file": plain(CONTENT, tag)}) as server:
            job = DownloadJob(
                source=Url.parse(f"{server.url}/file"),
                destination=str(tmp_path / "file"),
                size_bytes=len(CONTENT),
                has_md5_tag=True,
            )
            return await TransferEngine(plan(1, streams), options()).run([job])

    result = asyncio.run(story())
    assert [path.read_bytes() for path in tmp_path.iterdir()] == ([CONTENT] if is_right else [])
    assert is_right or result.failures[0].reason.startswith("md5 is")


def test_sum_of_a_version_whose_answer_broke_off_says_nothing_of_the_next(tmp_path: Path):
    changed = CONTENT[:-1] + bytes([CONTENT[-1] ^ 1])

    async def answer(asked, writer):
        content = changed if asked.nth else CONTENT
        field = f"sha-256=:{b64encode(sha256(content).digest()).decode()}:"
        writer.write(head("200 OK", asked, Content_Length=len(content), Repr_Digest=field))
        writer.write(content if asked.nth else content[:1_000])
        return bool(asked.nth)

    async def story() -> TransferResult:
        async with RoughServer({"/file": answer}) as server:
            return await fetch_one(server, tmp_path)

    assert asyncio.run(story()).failures == ()
    assert (tmp_path / "file").read_bytes() == changed


def test_two_jobs_for_one_place_are_refused(tmp_path: Path):
    jobs = jobs_for("http://127.0.0.1:1", ["a"], tmp_path)
    with pytest.raises(InvalidValue, match="two files would both become"):
        asyncio.run(TransferEngine(plan(1), options()).run(jobs * 2))


def test_range_that_is_lost_while_another_is_on_its_way_is_requested_after_that(tmp_path: Path):
    """The first range comes shifted, so that no range is wanted any more; the second one takes its time."""

    async def answer(asked: RoughRequest, writer: asyncio.StreamWriter) -> None:
        span = asked.span(len(CONTENT))
        if span is None:
            await plain(CONTENT)(asked, writer)
        elif span[0] == 0:
            first, last = 1, span[1]
            where = f"bytes {first}-{last}/{len(CONTENT)}"
            writer.write(head("206 Partial Content", asked, Content_Length=last, Content_Range=where, ETag='"one"'))
            writer.write(CONTENT[first : last + 1])
        else:
            await asyncio.sleep(0.5)
            await plain(CONTENT)(asked, writer)

    async def story() -> TransferResult:
        async with RoughServer({"/file": answer}) as server, asyncio.timeout(stretched(20.0)):
            return await fetch_one(server, tmp_path, settings=(1, 2, 1), size=len(CONTENT))

    assert asyncio.run(story()).failures == ()
    assert (tmp_path / "file").read_bytes() == CONTENT
