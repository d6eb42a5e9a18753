"""Sums of files that follow the bytes while they arrive: complete at the end, and never of bytes that came again."""

import asyncio
import random
from base64 import b64encode
from hashlib import md5, sha256
from pathlib import Path

import pytest

from tests.integration.engine.fetching import CONTENT, fetch_one
from tests.integration.engine.servers.rough_server import Answer, RoughServer, cut_short, head, plain
from tests.integration.engine.transfers import options, plan
from tradewind_agent.engine import DownloadJob, TransferEngine, TransferResult, Url
from tradewind_agent.engine.local.followed_sum import FollowedSum
from tradewind_agent.engine.local.storage import PartFile

OTHER = CONTENT[::-1]


@pytest.fixture(autouse=True)
def short_steps(monkeypatch: pytest.MonkeyPatch):
    """Sums follow from the first bytes on, as they do in long files."""
    monkeypatch.setattr(FollowedSum, "LEAST_BYTES", 50_000)


@pytest.fixture
def followed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Ends of what was summed while the file arrived."""
    ends: list[int] = []
    add = PartFile.add_to_sum

    def noted(self, running, end: int) -> bool:
        ends.append(end)
        return add(self, running, end)

    monkeypatch.setattr(PartFile, "add_to_sum", noted)
    return ends


def fetch(answer: Answer, folder: Path, streams: int = 3) -> TransferResult:
    """Fetch an object whose tag is the sum of `CONTENT`."""

    async def story() -> TransferResult:
        async with RoughServer({"/file": answer}) as server:
            job = DownloadJob(
                source=Url.parse(f"{server.url}/file"),
                destination=str(folder / "file"),
                size_bytes=len(CONTENT),
                has_md5_tag=True,
            )
            return await TransferEngine(plan(1, streams, 2), options()).run([job])

    return asyncio.run(story())


TAG = f'"{md5(CONTENT).hexdigest()}"'


@pytest.mark.parametrize("streams", [1, 4])
def test_sum_is_computed_while_the_file_arrives(tmp_path: Path, followed: list[int], streams: int):
    assert fetch(plain(CONTENT, TAG), tmp_path, streams).succeeded
    assert followed
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_file_without_a_known_sum_is_not_read_again(tmp_path: Path, followed: list[int]):
    assert fetch(plain(CONTENT, '"any"'), tmp_path).succeeded
    assert followed == []


@pytest.mark.parametrize("wrong_at", [0, len(CONTENT) // 2, len(CONTENT) - 1])
def test_wrong_byte_anywhere_costs_the_file(tmp_path: Path, wrong_at: int):
    body = bytearray(CONTENT)
    body[wrong_at] ^= 1
    result = fetch(plain(bytes(body), TAG), tmp_path)
    assert result.failures[0].reason.startswith("md5 is")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("streams", [1, 3])
def test_answers_that_break_off_leave_the_sum_right(tmp_path: Path, streams: int):
    assert fetch(cut_short(CONTENT, 200_000, 2 * streams, TAG), tmp_path, streams).succeeded
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_version_that_changes_after_a_part_was_summed_starts_the_sum_again(tmp_path: Path):
    old = cut_short(OTHER, 400_000, 1, f'"{md5(OTHER).hexdigest()}"')

    async def answer(asked, writer):
        if asked.nth:
            return await plain(CONTENT, TAG)(asked, writer)
        await old(asked, writer)
        await writer.drain()
        await asyncio.sleep(0.1)  # the sum has followed
        return False

    assert fetch(answer, tmp_path, 1).succeeded
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_nameless_file_that_comes_again_from_its_start_is_summed_again(tmp_path: Path):
    field = f"sha-256=:{b64encode(sha256(CONTENT).digest()).decode()}:"

    async def answer(asked, writer):
        body = CONTENT if asked.nth else OTHER
        writer.write(head("200 OK", asked, Content_Length=len(CONTENT), Repr_Digest=field))
        writer.write(body if asked.nth else body[: len(body) // 2])
        await writer.drain()
        if not asked.nth:
            await asyncio.sleep(0.1)
        return bool(asked.nth)

    async def story() -> TransferResult:
        async with RoughServer({"/file": answer}) as server:
            return await fetch_one(server, tmp_path)

    assert asyncio.run(story()).failures == ()
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_server_that_sends_too_much_has_its_bytes_summed_again(tmp_path: Path):
    whole = plain(CONTENT, TAG)

    async def answer(asked, writer):
        if asked.nth:
            return await whole(asked, writer)
        first, last = asked.span(len(CONTENT)) or (0, len(CONTENT) - 1)
        where = f"bytes {first}-{last}/{len(CONTENT)}"
        writer.write(head("206 Partial Content", asked, Transfer_Encoding="chunked", Content_Range=where, ETag=TAG))
        for body in (OTHER[first : last + 1], b"too much"):
            writer.write(f"{len(body):x}\r\n".encode() + body + b"\r\n")
            await writer.drain()
            await asyncio.sleep(0.1)
        return False

    assert fetch(answer, tmp_path, 1).succeeded
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_resumed_file_is_summed_with_the_bytes_of_the_earlier_run(tmp_path: Path, followed: list[int]):
    gone = 2_000_000

    async def breaks(asked, writer):
        if (asked.span(len(CONTENT)) or (0, 0))[0] >= gone:
            writer.write(head("410 Gone", asked, Content_Length=0))
            return True
        return await plain(CONTENT, TAG)(asked, writer)

    assert not fetch(breaks, tmp_path).succeeded
    followed.clear()
    assert fetch(plain(CONTENT, TAG), tmp_path).succeeded
    assert (tmp_path / "file").read_bytes() == CONTENT


@pytest.mark.parametrize("seed", range(8))
def test_many_broken_answers_in_any_order_never_spoil_the_sum(tmp_path: Path, seed: int):
    draw, whole = random.Random(seed), plain(CONTENT, TAG)

    async def answer(asked, writer):
        kind = draw.choice(["whole", "whole", "cut", "full"])
        span = asked.span(len(CONTENT))
        if kind == "whole" or asked.nth > 12:
            return await whole(asked, writer)
        if kind == "full" or span is None:
            writer.write(head("200 OK", asked, Content_Length=len(CONTENT), ETag=TAG))
            writer.write(CONTENT[: draw.randrange(len(CONTENT))])
            return False
        return await cut_short(CONTENT, draw.randrange(1, 400_000), 99, TAG)(asked, writer)

    result = fetch(answer, tmp_path, draw.randrange(1, 5))
    assert result.failures == ()
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
