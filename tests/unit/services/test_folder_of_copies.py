"""What a folder of copies says of those in it, and which of them it removes; the copies themselves are empty."""

import errno
import fcntl
import json
import os
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from services.backup.errors import BackupFailed
from services.backup.files import hold_lock
from services.backup.folder import BackupFolder
from services.backup.restore import _copy_log


def copied(place: Path, name: str, ended_at: datetime, *, segment: int = 6) -> None:
    """A copy that begins in a file of the log."""
    described = place / "base" / name / "backup.json"
    label = described.parent / "data" / "backup_label"
    label.parent.mkdir(parents=True)
    label.write_text(f"START WAL LOCATION: 0/{segment}000028 (file {segment:024X})\n")
    described.write_text(json.dumps({"ended_at": ended_at.isoformat(), "bytes": 1}))


def written_down(place: Path) -> Path:
    """Five files of the log, from the sixth on."""
    log = place / "wal"
    log.mkdir()
    for segment in range(6, 11):
        (log / f"{segment:024X}").touch()
    return log


def test_backup_with_a_time_in_the_future_is_removed_before_newer_ones(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    copied(tmp_path, "ahead", now + timedelta(days=30))
    copied(tmp_path, "old", now - timedelta(days=2))
    copied(tmp_path, "new", now - timedelta(days=1))
    folder = BackupFolder(tmp_path)
    assert folder.find(None).name == "new"
    assert [each.name for each in folder.keep(2)] == ["ahead"]
    assert [each.name for each in folder.keep(1)] == ["old"]
    with pytest.raises(
        BackupFailed, match=rf"can be returned to is {re.escape((now - timedelta(days=1)).isoformat())}$"
    ):
        folder.find(None, until=now - timedelta(days=5))


def test_log_that_any_backup_needs_is_retained_whatever_their_clocks(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    for name, segment, ended_at in (("ahead", 9, now + timedelta(days=30)), ("old", 8, now - timedelta(days=2))):
        copied(tmp_path, name, ended_at, segment=segment)
    log = written_down(tmp_path)
    assert BackupFolder(tmp_path).keep(2) == []
    assert sorted(int(file.name, 16) for file in log.iterdir()) == [8, 9, 10]


@pytest.mark.parametrize("text", ["", '{"ended_at": "2026-11-2', '{"bytes": 1}', "[]", '{"ended_at": 1, "bytes": 1}'])
def test_a_copy_whose_description_is_damaged_is_named_and_passed_over(text: str, tmp_path: Path) -> None:
    now = datetime.now(UTC)
    copied(tmp_path, "whole", now - timedelta(days=1))
    copied(tmp_path, "damaged", now)
    described = tmp_path / "base" / "damaged" / "backup.json"
    described.write_text(text)
    folder = BackupFolder(tmp_path)
    assert [each.name for each in folder.list_backups()] == ["whole"]
    assert [str(each) for each in folder.list_damaged()] == [f"{described} is not as it was written"]
    assert folder.find(None).name == "whole"
    with pytest.raises(BackupFailed, match=rf"^{described} is not as it was written$"):
        folder.find("damaged")


def test_no_log_is_removed_while_a_copy_is_damaged(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    for name, segment in (("first", 7), ("second", 9)):
        copied(tmp_path, name, now - timedelta(days=10 - segment), segment=segment)
    log = written_down(tmp_path)
    (tmp_path / "base" / "first" / "backup.json").write_text("")
    assert BackupFolder(tmp_path).keep(1) == []
    assert len(list(log.iterdir())) == 5


def test_a_copy_that_is_read_from_is_removed_the_next_time(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    for name, segment in (("first", 7), ("second", 9)):
        copied(tmp_path, name, now - timedelta(days=10 - segment), segment=segment)
    log = written_down(tmp_path)
    folder = BackupFolder(tmp_path)
    with folder.find("first").read_from():
        assert folder.keep(1) == []
    assert sorted(int(file.name, 16) for file in log.iterdir()) == [7, 8, 9, 10]
    assert [each.name for each in folder.keep(1)] == ["first"]
    assert sorted(int(file.name, 16) for file in log.iterdir()) == [9, 10]


@pytest.mark.parametrize("damage", [Path.unlink, lambda label: label.write_text("START")])
def test_a_copy_that_does_not_say_which_log_it_needs_is_damaged(damage: Callable[[Path], None], tmp_path: Path) -> None:
    copied(tmp_path, "one", datetime.now(UTC))
    label = tmp_path / "base" / "one" / "data" / "backup_label"
    damage(label)
    folder = BackupFolder(tmp_path)
    assert folder.list_backups() == []
    (told,) = folder.list_damaged()
    assert str(told).startswith(str(label))


def test_a_file_of_the_log_that_is_full_meanwhile_is_copied_by_its_new_name(tmp_path: Path) -> None:
    listed = tmp_path / f"{7:024X}.partial"
    (tmp_path / f"{7:024X}").write_bytes(b"full")
    _copy_log(listed, tmp_path / "staged")
    assert (tmp_path / "staged").read_bytes() == b"full"
    with pytest.raises(FileNotFoundError):
        _copy_log(tmp_path / f"{8:024X}", tmp_path / "staged")


@pytest.mark.parametrize(("refused", "held"), [(errno.EWOULDBLOCK, False), (errno.ENOLCK, None), (errno.EBADF, None)])
def test_a_disk_without_locks_keeps_nobody_from_reading(
    refused: int, held: bool | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def flock(*_: object) -> None:
        raise OSError(refused, os.strerror(refused))

    monkeypatch.setattr(fcntl, "flock", flock)
    (tmp_path / "file").touch()
    with hold_lock(tmp_path / "file", alone=False) as found:
        assert found is held


def test_folder_that_cannot_be_listed_is_reported_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "base").mkdir()

    def refused(_: Path) -> None:
        raise PermissionError(13, "Permission denied", str(tmp_path / "base"))

    monkeypatch.setattr(Path, "iterdir", refused)  # root may list everything
    with pytest.raises(BackupFailed, match=rf"^{tmp_path / 'base'}: Permission denied$"):
        BackupFolder(tmp_path).list_backups()
