"""Reading on in log files that grow, are renamed and are cut off: what is new since the offset that was remembered.

A file is known by its device and inode, so that a rename (``transfers.log`` → ``transfers.log.1``) changes nothing. The
hash of its beginning tells a file that was truncated and written anew, or that got a used inode: it is read from the
start. Only whole lines are taken; a line that is still being written waits for its end.
"""

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from pathlib import Path
from stat import S_ISREG
from typing import IO, Any

from tradewind.units import MIB

MAX_PART_BYTES = 4 * MIB
"""Bytes taken at once; bounds the memory."""

_FINGERPRINT_BYTES = 256
_COMPRESSED_MAGIC = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"BZh", b"\xfd7zXZ")
_MAX_HEAD_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """How far a file has been read.

    ``offset`` : bytes, always at the start of a line unless ``skipping`` (inside a line too long to hold).
    ``row`` : number of the next line, 1 for the first.
    ``fingerprint``, ``fingerprint_bytes`` : hash of the file's beginning and how much of it was hashed.
    """

    name: str
    offset: int = 0
    row: int = 1
    skipping: bool = False
    fingerprint: str = ""
    fingerprint_bytes: int = 0

    def document(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Whole lines of one file between two offsets, and where reading goes on once they are safe."""

    path: Path
    file_id: str
    content: bytes
    first_row: int
    start: int
    end: Position
    head: bytes
    """First line of the file, for formats whose columns it names; empty where the part begins with it."""


def file_id(status: os.stat_result) -> str:
    return f"{status.st_dev}:{status.st_ino}"


def logs_in(folder: Path, pattern: str) -> Iterator[tuple[Path, os.stat_result]]:
    """Regular files of ``folder`` whose names fit ``pattern``, least recently written first."""
    found = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(".") or not fnmatch(entry.name, pattern):
                continue
            try:
                status = entry.stat(follow_symlinks=True)
            except FileNotFoundError:
                continue  # rotated away between the listing and now
            if S_ISREG(status.st_mode):
                found.append((status.st_mtime_ns, entry.name, status))
    for _, name, status in sorted(found, key=lambda each: each[:2]):
        yield folder / name, status


def next_part(path: Path, known: Position | None, *, until: int | None = None) -> Part | None:
    """The lines of ``path`` after ``known``, at most 4 MiB of them; ``None`` when there is nothing whole to take.

    Parameters
    ----------
    known : where reading stopped; ``None`` for a file that is new.
    until : take exactly the bytes up to this offset, to repeat a part that may not have been kept.

    Raises
    ------
    OSError : the file cannot be read.
    """
    with path.open("rb") as file:
        position = _checked(file, path, known)
        if file.read(6).startswith(_COMPRESSED_MAGIC):
            return None  # a rotated log that was compressed: its lines were read before
        file.seek(position.offset)
        content = file.read(MAX_PART_BYTES if until is None else max(until - position.offset, 0))
        taken = _whole_lines(content, position, all_of_it=until is not None)
        if taken is None:
            return None
        lines, end = taken
        head = _head(file) if position.offset else b""
        return Part(
            path=path,
            file_id=file_id(os.fstat(file.fileno())),
            content=lines,
            first_row=end.row - lines.count(b"\n"),
            start=position.offset,
            end=_fingerprinted(file, end),
            head=head,
        )


def _checked(file: IO[bytes], path: Path, known: Position | None) -> Position:
    """``known`` if it still is about this file, else its beginning; the file then stands at 0."""
    if known is None:
        return Position(name=path.name)
    file.seek(0)
    same = _hash(file.read(known.fingerprint_bytes)) == known.fingerprint
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    return replace(known, name=path.name) if same and size >= known.offset else Position(name=path.name)


def _whole_lines(content: bytes, position: Position, *, all_of_it: bool) -> tuple[bytes, Position] | None:
    """Lines to take of ``content`` and the position after them."""
    skipped = 0
    if position.skipping:
        skipped = content.find(b"\n") + 1
        if not skipped:
            return (b"", replace(position, offset=position.offset + len(content))) if content else None
        position = replace(position, row=position.row + 1, skipping=False)
    end = content.rfind(b"\n") + 1
    if end <= skipped and not skipped:
        too_long = len(content) >= MAX_PART_BYTES or (all_of_it and content)
        return (b"", replace(position, offset=position.offset + len(content), skipping=True)) if too_long else None
    lines = content[skipped:end]
    return lines, replace(position, offset=position.offset + end, row=position.row + lines.count(b"\n"))


def _fingerprinted(file: IO[bytes], position: Position) -> Position:
    file.seek(0)
    beginning = file.read(min(_FINGERPRINT_BYTES, position.offset))
    return replace(position, fingerprint=_hash(beginning), fingerprint_bytes=len(beginning))


def _head(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.readline(_MAX_HEAD_BYTES)


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
