"""What a folder of copies says of those in it, and which of them it removes; the copies themselves are empty."""

from pathlib import Path

import pytest

from services.backup.errors import BackupFailed
from services.backup.folder import BackupFolder


@pytest.mark.parametrize("text", ["", '{"ended_at": "2026-11-2', '{"bytes": 1}'])
def test_a_copy_whose_description_is_cut_off_is_named(text: str, tmp_path: Path) -> None:
    described = tmp_path / "base" / "2026-11-23T01-00-00Z" / "backup.json"
    described.parent.mkdir(parents=True)
    described.write_text(text)
    with pytest.raises(BackupFailed, match=rf"^{described} is not as it was written$"):
        BackupFolder(tmp_path).backups()
