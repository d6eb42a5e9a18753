"""Bodies that are not as long as the file is known to be: a failure, and nothing under the final name."""

import asyncio
import gzip
from pathlib import Path

import pytest

from tests.integration.engine.fetching import CONTENT, SMALL, copies, reason_of_failure
from tests.integration.engine.servers.rough_server import Answer, RoughServer, chunked, head, plain, status, until_close
from tests.integration.engine.transfers import options, plan
from tradewind_agent.engine import DownloadJob, SizeTrust, TransferEngine, TransferResult, Url

SHORT, LONG = CONTENT[:100_000], CONTENT + b"more"


def of_old_protocol(content: bytes) -> Answer:
    """HTTP/1.0 with neither length nor chunks."""

    async def answer(asked, writer):
        writer.write(b'HTTP/1.0 200 OK\r\nETag: "one"\r\n\r\n' + content)
        return False

    return answer


def part_until_close(content: bytes, cut: int) -> Answer:
    """The range that was asked for, in chunks or to the end of the connection, ``cut`` bytes short."""

    async def answer(asked, writer):
        first, last = asked.span(len(content)) or (0, len(content) - 1)
        where = f"bytes {first}-{last}/{len(content)}"
        writer.write(head("206 Partial Content", asked, Connection="close", Content_Range=where, ETag='"one"'))
        writer.write(content[first : last + 1 - cut])
        return False

    return answer


def fetched_as(folder: Path, answer: Answer, size_bytes: int, trust: SizeTrust, least_bytes: int = 0) -> TransferResult:
    """Copy a file whose size is known, as far as ``trust`` goes."""

    async def story() -> TransferResult:
        async with RoughServer({"/file": answer}) as server:
            job = DownloadJob(
                source=Url.parse(f"{server.url}/file"),
                destination=folder / "file",
                size_bytes=size_bytes,
                size_trust=trust,
                least_bytes=least_bytes,
            )
            return await TransferEngine(plan(1, 3, 2), options()).run([job])

    return asyncio.run(story())


@pytest.mark.parametrize("trust", [SizeTrust.LISTED, SizeTrust.BINDING])
@pytest.mark.parametrize(
    ("content", "reason"),
    [(SHORT, "the body ended after"), (LONG, "more bytes than"), (b"", "the body ended after")],
    ids=["short", "long", "empty"],
)
@pytest.mark.parametrize("framed", [until_close, of_old_protocol, chunked])
def test_a_body_without_a_length_has_the_size_that_is_known(
    tmp_path: Path, framed, content: bytes, reason: str, trust: SizeTrust
):
    result = fetched_as(tmp_path, framed(content), len(CONTENT), trust)
    assert result.files_done == 0
    (failure,) = result.failures
    assert reason in failure.reason
    assert not (tmp_path / "file").exists()


@pytest.mark.parametrize("framed", [until_close, of_old_protocol, chunked])
def test_a_rounded_size_demands_nothing(tmp_path: Path, framed):
    result = fetched_as(tmp_path, framed(CONTENT), 3 << 20, SizeTrust.ROUNDED)
    assert result.failures == ()
    assert (tmp_path / "file").read_bytes() == CONTENT


@pytest.mark.parametrize("framed", [until_close, of_old_protocol])
def test_body_that_ends_with_the_connection_must_reach_the_rounded_size(tmp_path: Path, framed):
    size, least = len(CONTENT) + 1000, len(CONTENT)
    assert fetched_as(tmp_path, framed(CONTENT), size, SizeTrust.ROUNDED, least).files_done == 1
    (tmp_path / "file").unlink()
    cut = fetched_as(tmp_path, framed(CONTENT[:-1]), size, SizeTrust.ROUNDED, least)
    (failure,) = cut.failures
    assert f"the body ended after {len(CONTENT) - 1} of" in failure.reason
    assert not (tmp_path / "file").exists()


@pytest.mark.parametrize("framed", [until_close, chunked])
def test_a_file_that_is_known_to_be_empty_has_no_bytes(tmp_path: Path, framed):
    assert fetched_as(tmp_path, framed(SMALL), 0, SizeTrust.BINDING).files_done == 0
    assert not (tmp_path / "file").exists()
    assert fetched_as(tmp_path, framed(b""), 0, SizeTrust.BINDING).files_done == 1
    assert (tmp_path / "file").read_bytes() == b""


def test_full_body_is_required_once_size_is_known(tmp_path: Path):
    short = until_close(SHORT)

    async def answer(asked, writer):
        if asked.nth:
            return await short(asked, writer)
        writer.write(head("200 OK", asked, Content_Length=len(CONTENT)) + SHORT)
        return False

    reason, _ = reason_of_failure(answer, tmp_path)
    assert reason.startswith(f"the body ended after {len(SHORT)} of {len(CONTENT)} bytes")


@pytest.mark.parametrize("known", [None, len(CONTENT)])
def test_truncated_part_is_not_complete(tmp_path: Path, known: int | None):
    reason, _ = reason_of_failure(part_until_close(CONTENT, cut=len(CONTENT)), tmp_path, size=known)
    assert reason.startswith("the body ended after")


def test_a_part_that_ends_early_is_completed_by_others(tmp_path: Path):
    whole, cut = plain(CONTENT), part_until_close(CONTENT, cut=70_000)

    async def answer(asked, writer):
        return await (cut if asked.nth < 3 else whole)(asked, writer)

    copies(answer, tmp_path, CONTENT, size=len(CONTENT))


def test_more_bytes_than_a_part_has_are_not_taken_for_it(tmp_path: Path):
    whole = plain(CONTENT)

    async def answer(asked, writer):
        span = asked.span(len(CONTENT))
        if span is None or asked.nth > 2:
            await whole(asked, writer)
            return
        where = f"bytes {span[0]}-{span[1]}/{len(CONTENT)}"
        writer.write(head("206 Partial Content", asked, Transfer_Encoding="chunked", Content_Range=where, ETag='"one"'))
        garbage = bytes(span[1] + 1 - span[0] + 100)
        for start in range(0, len(garbage), 50):
            piece = garbage[start : start + 50]
            writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        writer.write(b"0\r\n\r\n")

    copies(answer, tmp_path, CONTENT, size=len(CONTENT))


def test_a_packed_form_of_the_file_is_not_the_file(tmp_path: Path):
    async def answer(asked, writer):
        writer.write(head("200 OK", asked, Content_Length=len(SHORT), Content_Encoding="gzip") + SHORT)

    reason, _ = reason_of_failure(answer, tmp_path, size=len(CONTENT))
    assert reason == f"the server sends {len(CONTENT)} bytes as {len(SHORT)} of gzip only; try --compress auto"


def test_stored_compressed_file_is_copied_unchanged(tmp_path: Path):
    async def answer(asked, writer):
        writer.write(head("200 OK", asked, Content_Length=len(SHORT), Content_Encoding="gzip") + SHORT)

    copies(answer, tmp_path, SHORT, size=len(SHORT))


def test_a_server_that_refuses_after_a_cut_body_leaves_no_name(tmp_path: Path):
    gone, short = status("410 Gone", 10**6), until_close(SHORT)

    async def answer(asked, writer):
        return await (gone if asked.nth else short)(asked, writer)

    reason_of_failure(answer, tmp_path, size=len(CONTENT))


def packed_against_the_request(content: bytes, *, states_length: bool) -> Answer:
    async def answer(asked, writer):
        length = {"Content_Length": len(content)} if states_length else {"Connection": "close"}
        writer.write(head("200 OK", asked, Content_Encoding="gzip", **length) + content)
        return states_length

    return answer


@pytest.mark.parametrize("states_length", [True, False])
@pytest.mark.parametrize(("name", "is_file"), [("page", False), ("page.csv", False), ("page.csv.gz", True)])
def test_a_compressed_answer_of_unknown_size_is_the_file_only_by_its_name(
    tmp_path: Path, name: str, is_file: bool, states_length: bool
):
    content = gzip.compress(CONTENT)

    async def story() -> TransferResult:
        answers = {f"/{name}": packed_against_the_request(content, states_length=states_length)}
        async with RoughServer(answers) as server:
            job = DownloadJob(source=Url.parse(f"{server.url}/{name}"), destination=str(tmp_path / name))
            return await TransferEngine(plan(1, 3, 2), options()).run([job])

    result = asyncio.run(story())
    assert result.succeeded is is_file
    assert [path.name for path in tmp_path.iterdir()] == ([name] if is_file else [])
    if is_file:
        assert (tmp_path / name).read_bytes() == content
    else:
        assert "as gzip only" in result.failures[0].reason
