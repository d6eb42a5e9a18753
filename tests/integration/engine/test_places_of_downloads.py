"""What stands, or is being written, where a download goes: not destroyed, not mixed, and not taken for it unseen."""

import asyncio
import os
import stat
from base64 import b64encode
from hashlib import sha256
from pathlib import Path

import pytest

from tests.file_identity import identity
from tests.integration.engine.fetching import CONTENT, SMALL
from tests.integration.engine.servers.rough_server import Answer, RoughRequest, RoughServer, head, paced, plain
from tests.integration.engine.transfers import jobs_for, options, plan, until
from tradewind_agent.engine import DownloadJob, TransferEngine, TransferResult, Url
from tradewind_agent.engine.local.checksums import Checksum

OTHER = CONTENT[::-1]
WRITTEN = "Tue, 14 Nov 2023 22:13:20 GMT"
WRITTEN_AT = 1_700_000_000


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.mark.parametrize("place", ["file", "locked"])
def test_place_where_no_file_can_be_made_fails_before_anything_is_requested(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
):
    (tmp_path / "file").write_bytes(b"no folder")
    (tmp_path / "locked").mkdir(mode=0o500)
    if os.geteuid() == 0:  # may write everywhere
        real = os.access
        monkeypatch.setattr(os, "access", lambda path, mode: not str(path).endswith("locked") and real(path, mode))

    async def story() -> tuple[TransferResult, int]:
        async with RoughServer({f"/{number}": plain(SMALL) for number in range(50)}) as server:
            jobs = jobs_for(server.url, [str(number) for number in range(50)], tmp_path / place / "sub")
            result = await TransferEngine(plan(4), options()).run(jobs)
            return result, len(server.asked)

    result, requests = asyncio.run(story())
    assert (len(result.failures), requests) == (50, 0)
    assert {"file": "a directory", "locked": "permission denied"}[place] in result.failures[0].reason
    assert names_in(tmp_path) == {"file", "locked"}


@pytest.mark.parametrize("parallelism", [1, 3])
def test_second_copy_to_the_same_name_is_refused(tmp_path: Path, parallelism: int):
    async def story() -> tuple[TransferResult, TransferResult]:
        one, other = RoughServer({"/file": paced(CONTENT)}), RoughServer({"/file": paced(OTHER)})
        async with one, other:
            first = TransferEngine(plan(1, parallelism), options())
            running = asyncio.create_task(first.run(jobs_for(one.url, ["file"], tmp_path)))
            await until(lambda: first.take_snapshot().moved_bytes > 0)
            late = TransferEngine(plan(1, parallelism), options())
            refused = await late.run(jobs_for(other.url, ["file"], tmp_path))
            return await running, refused

    done, refused = asyncio.run(story())
    assert done.succeeded
    assert [failure.reason for failure in refused.failures] == [
        f"another copy is writing {tmp_path / 'file'}; let it end, or copy to another name"
    ]
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"file": CONTENT}


def test_two_copies_that_start_at_once_never_mix(tmp_path: Path):
    async def story() -> list[TransferResult]:
        one, other = RoughServer({"/file": paced(CONTENT)}), RoughServer({"/file": paced(OTHER)})
        async with one, other:
            runs = (
                TransferEngine(plan(1, 3), options()).run(jobs_for(server.url, ["file"], tmp_path))
                for server in (one, other)
            )
            return await asyncio.gather(*runs)

    results = asyncio.run(story())
    assert sorted(result.succeeded for result in results) == [False, True]
    expected = CONTENT if results[0].succeeded else OTHER
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"file": expected}


def test_a_copy_that_was_refused_can_be_run_again(tmp_path: Path):
    async def story() -> TransferResult:
        async with RoughServer({"/file": paced(CONTENT)}) as server:
            first = TransferEngine(plan(1, 2), options())
            running = asyncio.create_task(first.run(jobs_for(server.url, ["file"], tmp_path)))
            await until(lambda: first.take_snapshot().moved_bytes > 0)
            await TransferEngine(plan(1), options()).run(jobs_for(server.url, ["file"], tmp_path))
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            return await TransferEngine(plan(1), options()).run(jobs_for(server.url, ["file"], tmp_path))

    result = asyncio.run(story())
    assert result.succeeded
    assert 0 < result.bytes_moved < len(CONTENT)
    assert (tmp_path / "file").read_bytes() == CONTENT


@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize("kind", ["pipe", "socket", "folder"])
def test_destination_that_is_no_file_is_refused_before_any_request(tmp_path: Path, kind: str, linked: bool):
    there = tmp_path / ("there" if linked else "file")
    match kind:
        case "pipe":
            os.mkfifo(there)
        case "socket":
            os.mknod(there, stat.S_IFSOCK | 0o600)
        case _:
            there.mkdir()
    if linked:
        (tmp_path / "file").symlink_to(there)
    before = identity(tmp_path / "file")

    async def story() -> tuple[TransferResult, RoughServer]:
        async with RoughServer({"/file": plain(CONTENT)}) as server:
            return await TransferEngine(plan(1, 2), options()).run(jobs_for(server.url, ["file"], tmp_path)), server

    result, server = asyncio.run(story())
    assert server.asked == []
    assert f"is a {kind}; a copy replaces only files" in result.failures[0].reason
    assert identity(tmp_path / "file") == before
    assert names_in(tmp_path) == {"file", there.name}


def test_a_device_is_never_replaced(tmp_path: Path):
    (tmp_path / "file").symlink_to("/dev/null")

    async def story() -> TransferResult:
        async with RoughServer({"/file": plain(CONTENT)}) as server:
            return await TransferEngine(plan(1, 2), options()).run(jobs_for(server.url, ["file"], tmp_path))

    assert "is a device" in asyncio.run(story()).failures[0].reason
    assert stat.S_ISCHR((tmp_path / "file").stat().st_mode)


def with_sum(content: bytes, digest: str | None) -> Answer:
    """A file with ranges, dated long ago, and its sum where it is asked for."""

    async def answer(asked: RoughRequest, writer) -> None:
        told: dict[str, object] = {"ETag": '"one"', "Last_Modified": WRITTEN}
        if digest is not None and "want-repr-digest" in asked.headers:
            told["Repr_Digest"] = f"sha-256=:{digest}:"
        span = asked.span(len(content))
        if span is None:
            writer.write(head("200 OK", asked, Content_Length=len(content), **told) + content)
            return
        first, last = span
        told |= {"Content_Range": f"bytes {first}-{last}/{len(content)}", "Content_Length": last + 1 - first}
        writer.write(head("206 Partial Content", asked, **told) + content[first : last + 1])

    return answer


SUM = b64encode(sha256(SMALL).digest()).decode()
WRONG = bytes(len(SMALL))


def copied_over(folder: Path, here: bytes, digest: str | None, *, sha: Checksum | None = None, **changes: object):
    """Copy a file to where one of the same size and time is."""
    (folder / "file").write_bytes(here)
    os.utime(folder / "file", (WRITTEN_AT, WRITTEN_AT))

    async def story() -> TransferResult:
        async with RoughServer({"/file": with_sum(SMALL, digest)}) as server:
            job = DownloadJob(source=Url.parse(f"{server.url}/file"), destination=str(folder / "file"), checksum=sha)
            return await TransferEngine(plan(1, 2), options(**changes)).run([job])

    result = asyncio.run(story())
    assert result.failures == ()
    return result


@pytest.mark.parametrize("digest", [SUM, None])
def test_with_sums_wrong_bytes_of_the_right_size_and_time_are_fetched_again(tmp_path: Path, digest: str | None):
    assert copied_over(tmp_path, WRONG, digest, checksum=True).files_done == 1
    assert (tmp_path / "file").read_bytes() == SMALL


def test_with_sums_a_file_that_has_its_sum_stays(tmp_path: Path):
    result = copied_over(tmp_path, SMALL, SUM, checksum=True)
    assert (result.files_skipped, result.bytes_moved) == (1, 0)


@pytest.mark.parametrize("checksum", [False, True])
def test_the_sum_of_a_manifest_is_that_of_a_file_that_is_here_too(tmp_path: Path, checksum: bool):
    digest = Checksum("sha256", sha256(SMALL).digest())
    assert copied_over(tmp_path, WRONG, None, sha=digest, checksum=checksum).files_done == 1
    assert (tmp_path / "file").read_bytes() == SMALL
    assert copied_over(tmp_path, SMALL, None, sha=digest, checksum=checksum).files_skipped == 1


def test_without_sums_size_and_time_are_enough(tmp_path: Path):
    assert copied_over(tmp_path, WRONG, SUM).files_skipped == 1
