"""Verify a copy of a cluster by PostgreSQL's own list of its files, with their sizes and checksums.

`pg_verifybackup` does the same, but the wheel of the embedded server has it for some systems only.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

from services.backup.errors import BackupFailed

MANIFEST = "backup_manifest"
ALGORITHM = "SHA256"


def verify(copy: Path) -> None:
    """Compare every file with what the server stated when it sent it.

    Raises
    ------
    BackupFailed : with the first file that differs or is missing.
    """
    for entry in _list_files(copy):
        name = entry.get("Path") or bytes.fromhex(entry["Encoded-Path"]).decode("utf-8", "surrogateescape")
        file = copy / name
        if not file.is_file():
            raise BackupFailed(f"{copy}: {name} is missing")
        if file.stat().st_size != entry["Size"]:
            raise BackupFailed(f"{copy}: {name} has {file.stat().st_size} bytes, not {entry['Size']}")
        if entry["Checksum-Algorithm"] != ALGORITHM or _compute_sha256(file) != entry["Checksum"]:
            raise BackupFailed(f"{copy}: {name} is not as it was copied")


def _list_files(copy: Path) -> list[dict[str, Any]]:
    try:
        text = (copy / MANIFEST).read_bytes()
    except OSError as error:
        raise BackupFailed(f"{copy}: cannot read {MANIFEST}: {error.strerror}") from None
    listed, mark, _ = text.rpartition(b'"Manifest-Checksum"')  # of every line before its own
    try:
        entry = json.loads(text)
        is_complete = bool(mark) and hashlib.sha256(listed).hexdigest() == entry["Manifest-Checksum"]
        files: list[dict[str, Any]] = entry["Files"]
    except (ValueError, KeyError, TypeError):
        is_complete, files = False, []
    if not is_complete:
        raise BackupFailed(f"{copy}: {MANIFEST} is not as it was written")
    return files


def _compute_sha256(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
