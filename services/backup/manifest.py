"""Whether a copy of a cluster is whole: PostgreSQL's own list of files in it, with their sizes and checksums.

What `pg_verifybackup` does, which the wheel of the embedded server has for some systems alone.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

from services.backup.errors import BackupFailed

MANIFEST = "backup_manifest"
ALGORITHM = "SHA256"


def verify(copy: Path) -> None:
    """Compare every file with what the server said of it when it sent it.

    Raises
    ------
    BackupFailed : with the first file that differs or is missing.
    """
    for told in _files(copy):
        name = told.get("Path") or bytes.fromhex(told["Encoded-Path"]).decode("utf-8", "surrogateescape")
        file = copy / name
        if not file.is_file():
            raise BackupFailed(f"{copy}: {name} is missing")
        if file.stat().st_size != told["Size"]:
            raise BackupFailed(f"{copy}: {name} has {file.stat().st_size} bytes, not {told['Size']}")
        if told["Checksum-Algorithm"] != ALGORITHM or _sha256(file) != told["Checksum"]:
            raise BackupFailed(f"{copy}: {name} is not as it was copied")


def _files(copy: Path) -> list[dict[str, Any]]:
    try:
        text = (copy / MANIFEST).read_bytes()
    except OSError as error:
        raise BackupFailed(f"{copy}: cannot read {MANIFEST}: {error.strerror}") from None
    listed, mark, _ = text.rpartition(b'"Manifest-Checksum"')  # of every line before its own
    try:
        told = json.loads(text)
        whole = bool(mark) and hashlib.sha256(listed).hexdigest() == told["Manifest-Checksum"]
        files: list[dict[str, Any]] = told["Files"]
    except (ValueError, KeyError, TypeError):
        whole, files = False, []
    if not whole:
        raise BackupFailed(f"{copy}: {MANIFEST} is not as it was written")
    return files


def _sha256(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
