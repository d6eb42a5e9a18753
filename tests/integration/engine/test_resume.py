"""A broken transfer goes on where it stopped, across processes; what is complete is left alone."""

import asyncio
import json
import os
import random
import signal
import sys
from pathlib import Path

import pytest

from tests.file_identity import identity
from tests.integration.engine.servers.rough_server import RoughServer, paced, plain
from tests.integration.engine.servers.web_servers import WebServer
from tests.integration.engine.transfers import digests, jobs_for, options, plan, until
from tradewind_agent.engine import TransferEngine, TransferResult, Url, list_downloads
from tradewind_agent.engine.local import storage
from tradewind_agent.errors import StorageFailed

CONTENT = random.Random(11).randbytes(6_000_000)

# A transfer in a process of its own, noting often what has arrived.
COPY = """
import asyncio, sys
from pathlib import Path
from tests.integration.engine.transfers import jobs_for, options, plan
from tradewind_agent.engine import TransferEngine
url, folder = sys.argv[1:]
engine = TransferEngine(plan(1, 2), options(checkpoint_interval_s=0.05, checkpoint_bytes=100_000))
asyncio.run(engine.run(jobs_for(url, ["file"], Path(folder))))
"""


async def copy(url: str, folder: Path, parallelism: int = 3) -> TransferResult:
    return await TransferEngine(plan(1, parallelism), options()).run(jobs_for(url, ["file"], folder))


def journal(folder: Path) -> list[str]:
    path = folder / ".file.tradewind-journal"
    return path.read_text().splitlines() if path.exists() else []


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


async def break_off(server: RoughServer, folder: Path) -> None:
    """Cancel a transfer when about half of the file is there."""
    engine = TransferEngine(plan(1, 2), options())
    task = asyncio.create_task(engine.run(jobs_for(server.url, ["file"], folder)))
    await until(lambda: engine.take_snapshot().moved_bytes > len(CONTENT) // 2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_cancelled_transfer_resumes(tmp_path: Path):
    async def story() -> TransferResult:
        async with RoughServer({"/file": paced(CONTENT)}) as server:
            await break_off(server, tmp_path)
            assert names_in(tmp_path) == {".file.tradewind-part", ".file.tradewind-journal"}
            return await copy(server.url, tmp_path)

    result = asyncio.run(story())
    assert result.succeeded
    assert result.bytes_moved <= len(CONTENT) // 2
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"file": CONTENT}


def test_a_killed_process_is_taken_up_from_its_journal(tmp_path: Path):
    async def story() -> TransferResult:
        async with RoughServer({"/file": paced(CONTENT)}) as server:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-c",
                COPY,
                server.url,
                str(tmp_path),
                env={**os.environ, "PYTHONPATH": ":".join(sys.path)},
            )
            await until(lambda: len(journal(tmp_path)) > 1)
            process.send_signal(signal.SIGKILL)
            assert await process.wait() == -signal.SIGKILL
            return await copy(server.url, tmp_path)

    result = asyncio.run(story())
    assert result.succeeded
    assert result.bytes_moved < len(CONTENT)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"file": CONTENT}


def test_a_part_of_another_version_is_not_used(tmp_path: Path):
    async def story() -> None:
        async with RoughServer({"/file": paced(CONTENT)}) as server:
            await break_off(server, tmp_path)
        async with RoughServer({"/file": plain(CONTENT[::-1], '"two"')}) as server:
            assert (await copy(server.url, tmp_path)).succeeded

    asyncio.run(story())
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"file": CONTENT[::-1]}


@pytest.mark.parametrize("damage", ["", "not json", '{"format": 1}', '{"format": 99, "size_bytes": 1}'])
def test_a_damaged_journal_only_costs_the_part(tmp_path: Path, damage: str):
    (tmp_path / ".file.tradewind-part").write_bytes(b"\0" * 100)
    (tmp_path / ".file.tradewind-journal").write_text(damage)

    async def story() -> TransferResult:
        async with RoughServer({"/file": plain(CONTENT)}) as server:
            return await copy(server.url, tmp_path)

    assert asyncio.run(story()).bytes_moved == len(CONTENT)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"file": CONTENT}


def test_a_part_received_in_full_is_only_confirmed(tmp_path: Path):
    (tmp_path / ".file.tradewind-part").write_bytes(CONTENT)
    header = {"format": 1, "size_bytes": len(CONTENT), "etag": '"one"', "last_modified": None}
    (tmp_path / ".file.tradewind-journal").write_text(f"{json.dumps(header)}\n[0, {len(CONTENT) - 1}]\n")

    async def story() -> TransferResult:
        async with RoughServer({"/file": plain(CONTENT)}) as server:
            return await copy(server.url, tmp_path)

    result = asyncio.run(story())
    assert (result.files_done, result.bytes_moved) == (1, 0)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"file": CONTENT}


def test_complete_files_stay_and_changed_ones_are_fetched(web_server: WebServer, content: Path, tmp_path: Path):
    async def run() -> TransferResult:
        jobs = (await list_downloads([Url.parse(f"{web_server.url}small/")], tmp_path, options())).jobs
        return await TransferEngine(plan(2, 1, 4), options()).run(jobs)

    assert asyncio.run(run()).files_done == 60
    stale, damaged = tmp_path / "s07.bin", tmp_path / "s09.bin"
    os.utime(stale, (1, 1))
    damaged.write_bytes(b"other")
    before = identity(tmp_path / "s00.bin")
    again = asyncio.run(run())
    assert (again.files_done, again.files_skipped, again.failures) == (2, 58, ())
    assert again.bytes_moved == sum((content / "small" / path.name).stat().st_size for path in (stale, damaged))
    assert identity(tmp_path / "s00.bin") == before
    assert digests(tmp_path) == digests(content / "small")


def test_full_disk_stops_transfer_and_keeps_received_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    written_bytes = 0

    def pwrite(fd: int, data: memoryview, position: int) -> int:
        nonlocal written_bytes
        if written_bytes > len(CONTENT) // 2:
            raise OSError(28, "No space left on device")
        written_bytes += len(data)
        return pwrite_of_the_system(fd, data, position)

    pwrite_of_the_system = os.pwrite
    names = ["file", *(f"other{number}" for number in range(20))]

    async def story() -> TransferResult:
        async with RoughServer({f"/{name}": paced(CONTENT) for name in names}) as server:
            with monkeypatch.context() as patch:
                patch.setattr(storage.os, "pwrite", pwrite)
                stopped = await TransferEngine(plan(2, 2), options()).run(jobs_for(server.url, names, tmp_path))
            assert isinstance(stopped.stopped, StorageFailed)
            assert "no space is left; make room and run the same command again" in str(stopped.stopped)
            assert stopped.files_done == 0
            return await copy(server.url, tmp_path)

    result = asyncio.run(story())
    assert 0 < result.bytes_moved < len(CONTENT)
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_a_folder_that_cannot_be_written_fails_that_file_alone(tmp_path: Path):
    (tmp_path / "in the way").write_text("a file, not a folder")

    async def story() -> TransferResult:
        async with RoughServer({"/file": plain(CONTENT), "/in the way/file": plain(CONTENT)}) as server:
            good, bad = jobs_for(server.url, ["file"], tmp_path) + jobs_for(
                server.url, ["file"], tmp_path / "in the way"
            )
            return await TransferEngine(plan(2), options()).run([bad, good])

    result = asyncio.run(story())
    assert result.files_done == 1
    (failure,) = result.failures
    assert failure.reason.startswith(f"cannot write {tmp_path / 'in the way' / 'file'}")
