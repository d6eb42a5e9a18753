"""Sums that follow the bytes of a part, and what is left to sum when the part is published."""

import asyncio
import os
import random
from collections.abc import Callable
from hashlib import md5
from pathlib import Path

import pytest

from tradewind_agent.engine.local.checksums import Checksum, RunningSum
from tradewind_agent.engine.local.followed_sum import FollowedSum
from tradewind_agent.engine.local.identity import FileIdentity
from tradewind_agent.engine.local.publishing import Publication, publish_together
from tradewind_agent.engine.local.storage import PartFile
from tradewind_agent.errors import FileFault

CONTENT = random.Random(7).randbytes(3_000_000)
MD5 = Checksum("md5", md5(CONTENT).digest())


@pytest.fixture
def part(tmp_path: Path) -> PartFile:
    part = PartFile(tmp_path / "file")
    part.write(0, CONTENT)
    return part


@pytest.fixture(autouse=True)
def short_steps(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(FollowedSum, "LEAST_BYTES", 1)


def follow(part: PartFile, ends: list[int], between: Callable[[], None] = lambda: None) -> FollowedSum:
    """Follow up to each of the ends, with a pause in which the threads finish."""

    async def story() -> FollowedSum:
        loop = asyncio.get_running_loop()
        followed = FollowedSum(part, "md5", lambda work: loop.run_in_executor(None, work))
        for end in ends:
            followed.follow(end)
            for _ in range(200):
                await asyncio.sleep(0.005)
                if followed.running.position >= end:
                    break
            between()
        return followed

    return asyncio.run(story())


def publish(part: PartFile, running: RunningSum | None, expected: Checksum = MD5) -> object:
    publication = Publication(part, FileIdentity(len(CONTENT)), expected, running)
    return publish_together([publication], durable=False)[0]


def test_sum_that_has_followed_all_bytes_reads_none_when_the_file_is_published(
    part: PartFile, monkeypatch: pytest.MonkeyPatch
):
    followed = follow(part, [1_000, 2_000_000, len(CONTENT)])
    read: list[int] = []
    pread = os.pread

    def counted(fd: int, most_bytes: int, position: int) -> bytes:
        block = pread(fd, most_bytes, position)
        read.append(len(block))
        return block

    monkeypatch.setattr(os, "pread", counted)
    assert publish(part, followed.running) is None
    assert sum(read) == 0
    assert Path(part.destination).read_bytes() == CONTENT


def test_bytes_behind_the_end_are_not_summed_before_they_have_arrived(tmp_path: Path):
    part = PartFile(tmp_path / "file")
    part.write(0, CONTENT[:1_500_000])
    part.write(2_500_000, CONTENT[2_500_000:])  # another stream; what lies between reads as zeros
    followed = follow(part, [1_500_000])
    assert followed.running.position == 1_500_000
    part.write(1_500_000, CONTENT[1_500_000:2_500_000])
    assert publish(part, followed.running) is None


def test_wrong_byte_behind_the_followed_ones_is_found(part: PartFile, tmp_path: Path):
    followed = follow(part, [1_000_000])
    part.write(2_000_000, bytes([CONTENT[2_000_000] ^ 1]))
    assert isinstance(publish(part, followed.running), FileFault)
    assert list(tmp_path.iterdir()) == []


def test_wrong_byte_among_the_followed_ones_is_found(tmp_path: Path):
    part = PartFile(tmp_path / "file")
    part.write(0, bytes([CONTENT[0] ^ 1]) + CONTENT[1:])
    followed = follow(part, [1_000_000])
    assert isinstance(publish(part, followed.running), FileFault)
    assert list(tmp_path.iterdir()) == []


def test_sum_of_another_algorithm_than_the_expected_one_is_computed_from_the_start(part: PartFile):
    running = RunningSum("crc32")
    assert part.add_to_sum(running, 1_000_000)
    assert publish(part, running) is None


def test_closed_part_is_followed_no_further_and_summed_in_full_when_published(part: PartFile):
    followed = follow(part, [1_000_000, len(CONTENT)], between=part.close)
    assert followed.running.position == 1_000_000
    assert publish(part, followed.running) is None


def test_sum_that_was_stopped_follows_no_more(part: PartFile):
    async def story() -> FollowedSum:
        followed = FollowedSum(part, "md5", lambda work: asyncio.get_running_loop().run_in_executor(None, work))
        followed.stop()
        followed.follow(len(CONTENT))
        return followed

    assert asyncio.run(story()).running.position == 0
    part.discard()


def test_bytes_of_a_longer_version_behind_the_file_do_not_count(part: PartFile):
    part.write(len(CONTENT), b"of an earlier run")
    assert publish(part, None) is None
    assert Path(part.destination).read_bytes() == CONTENT
