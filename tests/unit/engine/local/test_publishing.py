import asyncio
import os
import stat
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tradewind_agent.engine.local.folder_names import FolderNames
from tradewind_agent.engine.local.identity import FileIdentity
from tradewind_agent.engine.local.publishing import Outcomes, Publication, Publisher, publish_together
from tradewind_agent.engine.local.storage import PartFile
from tradewind_agent.errors import FileFault

CONTENT = b"0123456789"


def complete(destination: Path) -> Publication:
    part = PartFile(destination)
    part.write(0, CONTENT)
    return Publication(part, FileIdentity(len(CONTENT), None, "Sat, 21 Nov 2026 03:58:33 GMT"), None)


def test_files_that_are_published_together_fail_alone(tmp_path: Path):
    in_the_way = tmp_path / "b"
    in_the_way.mkdir()
    outcomes = publish_together([complete(tmp_path / name) for name in "abc"], durable=True)
    assert [type(outcome) for outcome in outcomes] == [type(None), FileFault, type(None)]
    assert [(tmp_path / name).read_bytes() for name in "ac"] == [CONTENT, CONTENT]
    assert [path.name for path in tmp_path.iterdir() if path.is_file()].count(".b.tradewind-part") == 1


def test_every_file_is_on_the_disk_before_it_has_its_name_and_its_folder_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    events: list[str] = []
    sync, replace = os.fsync, os.replace

    def recorded_sync(fd: int) -> None:
        events.append("sync folder" if stat.S_ISDIR(os.fstat(fd).st_mode) else "sync file")
        sync(fd)

    def recorded_replace(path: str, target: Path) -> None:
        events.append("name")
        replace(path, target)

    monkeypatch.setattr(os, "fsync", recorded_sync)
    monkeypatch.setattr(os, "replace", recorded_replace)
    assert publish_together([complete(tmp_path / name) for name in "abc"], durable=True) == [None, None, None]
    assert events == [*3 * ["sync file"], *3 * ["name"], "sync folder"]


def test_folders_that_were_made_for_a_file_are_on_the_disk_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    synced: list[Path] = []
    sync = os.fsync

    def recorded_sync(fd: int) -> None:
        if stat.S_ISDIR(os.fstat(fd).st_mode):
            synced.append(Path(f"/proc/self/fd/{fd}").readlink())
        sync(fd)

    monkeypatch.setattr(os, "fsync", recorded_sync)
    deep = tmp_path / "set" / "2026"
    assert publish_together([complete(deep / name) for name in "ab"], durable=True) == [None, None]
    assert synced == [deep, deep.parent, tmp_path]


def test_a_disk_that_is_slower_than_the_path_does_not_use_up_the_open_files(tmp_path: Path):
    before = psutil.Process().num_fds()
    told: list[BaseException | None] = []
    open_files: list[int] = []

    async def story() -> None:
        loop = asyncio.get_running_loop()
        disk: list[tuple[Callable[[], Outcomes], asyncio.Future[Outcomes]]] = []

        def run_later(work: Callable[[], Outcomes]) -> asyncio.Future[Outcomes]:
            disk.append((work, loop.create_future()))
            return disk[-1][1]

        publisher = Publisher(run_later, durable=True)
        for number in range(500):
            publisher.publish(complete(tmp_path / str(number)), told.append)
            open_files.append(psutil.Process().num_fds() - before)
        while disk:
            work, outcome = disk.pop()
            outcome.set_result(work())
            await asyncio.sleep(0)  # a turn of the loop, in which the publisher goes on

    asyncio.run(story())
    assert told == [None] * 500
    assert max(open_files) < 200
    assert {path.name for path in tmp_path.iterdir()} == {str(number) for number in range(500)}


def test_no_other_files_are_requested_while_many_wait_for_the_disk(tmp_path: Path):
    async def story() -> None:
        disk: list[tuple[Callable[[], Outcomes], asyncio.Future[Outcomes]]] = []

        def run_later(work: Callable[[], Outcomes]) -> asyncio.Future[Outcomes]:
            disk.append((work, asyncio.get_running_loop().create_future()))
            return disk[-1][1]

        publisher = Publisher(run_later, durable=False)
        number = 0
        while not publisher.is_behind():
            publisher.publish(complete(tmp_path / str(number)), lambda _: None)
            number += 1
        assert number < 100
        while disk:
            work, outcome = disk.pop()
            outcome.set_result(work())
            await asyncio.sleep(0)
        assert not publisher.is_behind()

    asyncio.run(story())


def test_a_part_of_a_longer_version_is_cut(tmp_path: Path):
    publication = complete(tmp_path / "file")
    publication.part.write(len(CONTENT), b"of an earlier version")
    assert publish_together([publication], durable=False) == [None]
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_a_part_taken_away_while_it_waits_gives_no_file_of_zeros(tmp_path: Path):
    publication = complete(tmp_path / "file")
    publication.part.close()
    (tmp_path / ".file.tradewind-part").unlink()
    (outcome,) = publish_together([publication], durable=True)
    assert isinstance(outcome, FileFault)
    assert list(tmp_path.iterdir()) == []


def test_part_that_cannot_get_its_name_is_removed_where_no_run_could_go_on_with_it(tmp_path: Path):
    part = PartFile(tmp_path / ("x" * 300))
    assert not part.may_be_there(FolderNames())
    part.write(0, CONTENT)
    publication = Publication(part, FileIdentity(len(CONTENT)), None)
    (outcome,) = publish_together([publication], durable=False)
    assert isinstance(outcome, FileFault)
    assert "too long" in str(outcome)
    assert list(tmp_path.iterdir()) == []
