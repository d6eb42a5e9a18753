"""What a folder of copies says of those in it, and which of them it removes; the copies themselves are empty."""

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from services.backup.errors import BackupFailed
from services.backup.folder import BackupFolder


def copied(place: Path, name: str, ended_at: datetime) -> None:
    described = place / "base" / name / "backup.json"
    described.parent.mkdir(parents=True)
    described.write_text(json.dumps({"ended_at": ended_at.isoformat(), "bytes": 1}))


def test_a_copy_made_while_the_clock_was_ahead_goes_before_those_made_since(tmp_path: Path) -> None:
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


def test_the_log_that_any_copy_needs_is_kept_whatever_their_clocks_said(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    for name, segment, ended_at in (("ahead", 9, now + timedelta(days=30)), ("old", 8, now - timedelta(days=2))):
        copied(tmp_path, name, ended_at)
        label = tmp_path / "base" / name / "data" / "backup_label"
        label.parent.mkdir()
        label.write_text(f"START WAL LOCATION: 0/{segment}000028 (file {segment:024X})\n")
    log = tmp_path / "wal"
    log.mkdir()
    for segment in range(6, 11):
        (log / f"{segment:024X}").touch()
    assert BackupFolder(tmp_path).keep(2) == []
    assert sorted(int(file.name, 16) for file in log.iterdir()) == [8, 9, 10]


@pytest.mark.parametrize("text", ["", '{"ended_at": "2026-11-2', '{"bytes": 1}'])
def test_a_copy_whose_description_is_cut_off_is_named(text: str, tmp_path: Path) -> None:
    described = tmp_path / "base" / "2026-11-23T01-00-00Z" / "backup.json"
    described.parent.mkdir(parents=True)
    described.write_text(text)
    with pytest.raises(BackupFailed, match=rf"^{described} is not as it was written$"):
        BackupFolder(tmp_path).backups()
