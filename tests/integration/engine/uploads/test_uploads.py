"""Uploads to serve-files (parts, resumption, sums) and to nginx's DAV module (whole files only)."""

import asyncio
import os
import random
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from tests.integration.engine.servers.rough_server import RoughServer, head, status
from tests.integration.engine.servers.web_servers import nginx
from tests.integration.engine.transfers import digests, options, plan, until
from tradewind_agent.engine import TransferEngine, TransferResult, Url, list_uploads
from tradewind_agent.serve import Server, serve

CONTENT = random.Random(13).randbytes(6_000_000)

SEND = """
import asyncio, sys
from pathlib import Path
from tests.integration.engine.transfers import options, plan
from tradewind_agent.engine import TransferEngine, Url, list_uploads
source, url = sys.argv[1:]
asyncio.run(TransferEngine(plan(1, 2), options()).run(list_uploads([Path(source)], Url.parse(url)).jobs))
"""


@pytest.fixture(autouse=True)
def served(tmp_path: Path) -> Path:
    folder = tmp_path / "served"
    folder.mkdir()
    return folder


@asynccontextmanager
async def receiver(root: Path) -> AsyncIterator[Server]:
    server = await serve(root, writable=True)
    try:
        yield server
    finally:
        await server.close(grace_s=1.0)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "file.bin"
    path.write_bytes(CONTENT)
    return path


async def send(source: Path, url: str, settings: tuple[int, int, int] = (1, 3, 2), **changes: object) -> TransferResult:
    return await TransferEngine(plan(*settings), options(**changes)).run(list_uploads([source], Url.parse(url)).jobs)


def stored_bytes(folder: Path) -> int:
    """What is on disk of finished and unfinished files."""
    total_bytes = 0
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):  # renamed meanwhile
            total_bytes += path.stat().st_blocks * 512
    return total_bytes


@pytest.mark.parametrize("settings", [(1, 1, 1), (2, 3, 1), (4, 2, 4), (8, 1, 8)])
@pytest.mark.parametrize("checksum", [False, True])
def test_every_byte_arrives_at_the_receiver(
    content: Path, tmp_path: Path, settings: tuple[int, int, int], checksum: bool
):
    async def story() -> TransferResult:
        async with receiver(tmp_path / "served") as server:
            return await send(content, server.url, settings, checksum=checksum)

    result = asyncio.run(story())
    assert result.failures == ()
    assert result.bytes_moved == sum(path.stat().st_size for path in content.rglob("*") if path.is_file())
    assert digests(tmp_path / "served") == digests(content)


def test_one_file_may_get_another_name(source: Path, tmp_path: Path):
    async def story() -> TransferResult:
        async with receiver(tmp_path / "served") as server:
            return await send(source, f"{server.url}deep/other%20name")

    assert asyncio.run(story()).succeeded
    assert (tmp_path / "served/deep/other name").read_bytes() == CONTENT


def test_interrupted_upload_resumes_with_missing_ranges(source: Path, tmp_path: Path):
    source.write_bytes(4 * CONTENT)

    async def story() -> TransferResult:
        async with receiver(tmp_path / "served") as server:
            engine = TransferEngine(plan(1, 2, 1, 16384), options())
            task = asyncio.create_task(engine.run(list_uploads([source], Url.parse(f"{server.url}f")).jobs))
            await until(lambda: stored_bytes(tmp_path / "served") > 1_000_000)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert "f" not in digests(tmp_path / "served")
            return await send(source, f"{server.url}f")

    result = asyncio.run(story())
    assert result.succeeded
    assert result.bytes_moved < 4 * len(CONTENT)
    assert (tmp_path / "served/f").read_bytes() == 4 * CONTENT


def test_a_killed_sender_is_taken_up_by_the_next_process(source: Path, tmp_path: Path):
    source.write_bytes(CONTENT * 4)

    async def story() -> TransferResult:
        async with receiver(tmp_path / "served") as server:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-c", SEND, str(source), f"{server.url}f"),
                env={**os.environ, "PYTHONPATH": ":".join(sys.path)},
            )
            await until(lambda: server.counters.received_bytes > 0)
            process.send_signal(signal.SIGKILL)
            await process.wait()
            return await send(source, f"{server.url}f")

    result = asyncio.run(story())
    assert result.succeeded
    assert result.bytes_moved < 4 * len(CONTENT)
    assert digests(tmp_path / "served") == {"f": digests(source.parent)["file.bin"]}


def test_a_finished_upload_is_not_sent_again(source: Path, tmp_path: Path):
    async def story() -> TransferResult:
        async with receiver(tmp_path / "served") as server:
            assert (await send(source, f"{server.url}f")).files_done == 1
            return await send(source, f"{server.url}f")

    assert asyncio.run(story()).files_skipped == 1


def test_server_without_parts_gets_full_files(content: Path, tmp_path: Path, world_readable: Path):
    work = world_readable / "dav"
    (work / "served").mkdir(parents=True)
    dav = "dav_methods PUT; create_full_put_path on; client_max_body_size 0;"
    with nginx(work / "served", work, server=dav) as server:
        result = asyncio.run(send(content, server.url, (3, 2, 4)))
    assert result.failures == ()
    assert digests(work / "served") == digests(content)


def test_a_receiver_that_may_not_be_written_fails_in_one_line(source: Path, tmp_path: Path):
    async def story() -> TransferResult:
        server = await serve(source.parent)
        try:
            return await send(source, server.url)
        finally:
            await server.close(grace_s=1.0)

    (failure,) = asyncio.run(story()).failures
    assert failure.reason.startswith("the server answered 405 Method Not Allowed")
    assert failure.reason.endswith("start serve-files with --writable")


def test_temporary_error_is_retried_and_permanent_error_reported(source: Path):
    async def stored(asked, writer):
        writer.write(head("201 Created", asked, Content_Length=0))

    source.write_bytes(b"")

    async def story(times: int) -> TransferResult:
        async with RoughServer({"/f": status("503 Service Unavailable", times, stored)}) as server:
            return await send(source, f"{server.url}/f")

    assert asyncio.run(story(2)).succeeded
    (failure,) = asyncio.run(story(100)).failures
    assert failure.reason == "the server answered 503 Service Unavailable (tried 4 times)"


def test_a_source_that_changed_since_it_was_listed_is_not_sent(source: Path, tmp_path: Path):
    async def story() -> TransferResult:
        async with receiver(tmp_path / "served") as server:
            jobs = list_uploads([source], Url.parse(f"{server.url}f")).jobs
            os.utime(source, (1, 1))
            return await TransferEngine(plan(1), options()).run(jobs)

    (failure,) = asyncio.run(story()).failures
    assert failure.reason == f"{source} has changed since it was listed"
    assert digests(tmp_path / "served") == {}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("checksum", [True, False])
def test_pipe_in_place_of_a_source_is_refused_at_once(source: Path, tmp_path: Path, *, checksum: bool):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    async def story() -> TransferResult:
        async with receiver(tmp_path / "served") as server:
            jobs = list_uploads([source], Url.parse(f"{server.url}f")).jobs
            os.rename(pipe, source)  # noqa: PTH104 -- in one step
            return await TransferEngine(plan(1), options(checksum=checksum)).run(jobs)

    (failure,) = asyncio.run(story()).failures
    assert failure.reason == f"cannot read {source}: it is no regular file"


def test_connections_of_an_upload_are_concurrency_times_parallelism(tmp_path: Path):
    folder = tmp_path / "source"
    folder.mkdir()
    for number in range(6):
        (folder / f"f{number}").write_bytes(CONTENT)

    async def story() -> None:
        async with receiver(tmp_path / "served") as server:
            engine = TransferEngine(plan(2, 3), options())
            task = asyncio.create_task(engine.run(list_uploads([folder], Url.parse(server.url)).jobs))
            await until(lambda: engine.take_snapshot().open_connections == 6)
            assert (await task).files_done == 6

    asyncio.run(story())


def rewrite_unseen(path: Path, content: bytes) -> None:
    """Other bytes of the same size and time."""
    found = path.stat()
    path.write_bytes(content)
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))


def test_a_source_that_changes_under_its_time_is_not_gone_on_with(served: Path, source: Path):
    async def story() -> TransferResult:
        async with receiver(served) as server:
            engine = TransferEngine(plan(1, 2), options(rate_bytes_per_s=20e6))
            task = asyncio.create_task(engine.run(list_uploads([source], Url.parse(server.url)).jobs))
            await until(lambda: engine.take_snapshot().moved_bytes > len(CONTENT) // 2)
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            rewrite_unseen(source, CONTENT[::-1])
            return await send(source, server.url)

    assert asyncio.run(story()).succeeded
    assert (served / "file.bin").read_bytes() == CONTENT[::-1]


def test_a_source_that_changes_while_it_is_sent_gets_no_name(served: Path, source: Path):
    async def story() -> TransferResult:
        async with receiver(served) as server:
            engine = TransferEngine(plan(1), options(rate_bytes_per_s=20e6))
            task = asyncio.create_task(engine.run(list_uploads([source], Url.parse(server.url)).jobs))
            await until(lambda: engine.take_snapshot().moved_bytes > len(CONTENT) // 4)
            with source.open("r+b") as file:
                file.write(CONTENT[::-1])
            return await task

    (failure,) = asyncio.run(story()).failures
    assert "changed while it was sent" in failure.reason
    assert not (served / "file.bin").exists()
