"""Reading on in log files that grow, are renamed and are cut off: what is new since the offset that was remembered.

A file is known by its device and inode, so that a rename (``transfers.log`` → ``transfers.log.1``) changes nothing. The
hashes of its beginning, which may be all header, and of what was read last show that a file was truncated and
written again, or that got a used inode: it is read from the start. Only complete lines are taken; a line that is still
being written waits for its end.
"""

import hashlib
import io
import os
import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fnmatch import fnmatch
from pathlib import Path
from stat import S_ISREG
from types import TracebackType
from typing import IO, Any, Self

from tradewind.units import MIB
from tradewind_agent.history.packed_stream import MAGIC_BYTES, is_packed

MAX_PART_BYTES = 4 * MIB
"""Bytes taken at once where each line stands for itself; bounds the memory."""

HEAD_BYTES = 256 * 1024
"""Of a log's beginning, that tell what its columns are called, and mean."""

_FINGERPRINT_BYTES = 256
_ROTATION = re.compile(r"[.-]\d[\d.-]*$")
_SCAN_BYTES = MIB


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """How far a file has been read.

    ``offset`` : bytes, always at the start of a line unless ``skipping`` (inside a line too long to hold).
    ``row`` : number of the next line, 1 for the first.
    ``fingerprint``, ``fingerprint_bytes`` : hash of the file's beginning and how much of it was hashed.
    ``end_fingerprint``, ``end_fingerprint_bytes`` : the same of what is before ``offset``; an older agent kept none.
    """

    name: str
    offset: int = 0
    row: int = 1
    skipping: bool = False
    fingerprint: str = ""
    fingerprint_bytes: int = 0
    end_fingerprint: str = ""
    end_fingerprint_bytes: int = 0

    def build_document(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


def format_file_id(status: os.stat_result) -> str:
    return f"{status.st_dev}:{status.st_ino}"


def list_earlier_names(compressed: str) -> set[str]:
    """List the names that a rotated log had when it could be read: ``x.log.1.gz`` was ``x.log.1``, or ``x.log``."""
    rotated = Path(compressed).stem
    return {rotated, _ROTATION.sub("", rotated)}


def list_logs(folder: Path, pattern: str) -> Iterator[tuple[Path, os.stat_result]]:
    """List regular files of ``folder`` whose names fit ``pattern``, least recently written first."""
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


class LogFile:
    """An open log and where reading it goes on; stays with its inode whatever happens to the name."""

    def __init__(self, path: Path, known: Position | None) -> None:
        self.path = path
        with ExitStack() as opening:  # a stale network file opens, and cannot be looked at
            self._file = opening.enter_context(path.open("rb"))
            status = os.fstat(self._file.fileno())
            self.id = format_file_id(status)
            self.written_at = datetime.fromtimestamp(status.st_mtime, UTC)
            self.position = self._check_position(known)
            opening.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    @property
    def is_compressed(self) -> bool:
        """Whether this is a rotated log that was compressed: its lines were read before."""
        return is_packed(self._read_bytes(0, MAGIC_BYTES))

    def read_head(self, until: int) -> bytes:
        """Read the first lines before an offset: some formats state there the names and meanings of their columns."""
        return self._read_bytes(0, self._find_last_line_end(0, min(until, HEAD_BYTES)))

    def read_next_part(self, *, most_bytes: int | None = MAX_PART_BYTES, until: int | None = None) -> "Part | None":
        """Read the complete lines after ``position``; return ``None`` where there are none.

        Parameters
        ----------
        most_bytes : how much to take at once; ``None`` for all there is.
        until : take exactly the bytes up to this offset, to repeat a part that may not have been kept.
        """
        start, size = self.position.offset, self._file.seek(0, os.SEEK_END)
        stop = min(size, until if until is not None else size if most_bytes is None else start + most_bytes)
        if stop <= start:
            return None
        position = self._skip_long_line(stop)
        begin = position.offset
        end = self._find_last_line_end(begin, stop)
        if end > begin:
            rows = self._count_newlines(begin, end)
            return self._build_part(begin, end, replace(position, offset=end, row=position.row + rows))
        if begin > start:
            return self._build_part(begin, begin, position)
        too_long = until is not None or (most_bytes is not None and stop - start >= most_bytes)
        return self._build_part(stop, stop, replace(position, offset=stop, skipping=True)) if too_long else None

    def has_more(self, position: Position) -> bool:
        """Return whether there is more behind a position, be it an incomplete line."""
        return self._file.seek(0, os.SEEK_END) > position.offset

    def _check_position(self, known: Position | None) -> Position:
        """Return ``known`` if it still is about this file, else the file's beginning."""
        fresh = Position(name=self.path.name)
        if known is None or self._file.seek(0, os.SEEK_END) < known.offset:
            return fresh
        same = _hash(self._read_bytes(0, known.fingerprint_bytes)) == known.fingerprint
        if known.end_fingerprint:
            end = self._read_bytes(known.offset - known.end_fingerprint_bytes, known.offset)
            same = same and _hash(end) == known.end_fingerprint
        return replace(known, name=self.path.name) if same else fresh

    def _build_part(self, begin: int, end: int, after: Position) -> "Part":
        beginning = self._read_bytes(0, min(_FINGERPRINT_BYTES, after.offset))
        ending = self._read_bytes(max(after.offset - _FINGERPRINT_BYTES, 0), after.offset)
        return Part(
            lines=io.BufferedReader(_Section(self._file, begin, end)),
            is_empty=begin == end,
            first_row=after.row - self._count_newlines(begin, end),
            start=self.position.offset,
            after=replace(
                after,
                fingerprint=_hash(beginning),
                fingerprint_bytes=len(beginning),
                end_fingerprint=_hash(ending),
                end_fingerprint_bytes=len(ending),
            ),
        )

    def _skip_long_line(self, stop: int) -> Position:
        """Return the position after the line that is being skipped, if any; ``stop`` where it does not end before."""
        position = self.position
        if not position.skipping:
            return position
        for offset in range(position.offset, stop, _SCAN_BYTES):
            found = self._read_bytes(offset, min(offset + _SCAN_BYTES, stop)).find(b"\n")
            if found >= 0:
                return replace(position, offset=offset + found + 1, row=position.row + 1, skipping=False)
        return replace(position, offset=stop)

    def _find_last_line_end(self, begin: int, stop: int) -> int:
        """Return the offset after the last newline in [begin, stop), else ``begin``."""
        end = stop
        while end > begin:
            offset = max(end - _SCAN_BYTES, begin)
            found = self._read_bytes(offset, end).rfind(b"\n")
            if found >= 0:
                return offset + found + 1
            end = offset
        return begin

    def _count_newlines(self, begin: int, end: int) -> int:
        blocks = (self._read_bytes(at, min(at + _SCAN_BYTES, end)) for at in range(begin, end, _SCAN_BYTES))
        return sum(block.count(b"\n") for block in blocks)

    def _read_bytes(self, begin: int, end: int) -> bytes:
        self._file.seek(begin)
        return self._file.read(max(end - begin, 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Whole lines of a log between two offsets, to be read while it is open.

    ``is_empty`` : only (a piece of) a line too long to hold was passed.
    ``after`` : where reading goes on once the part is safe.
    """

    lines: IO[bytes]
    is_empty: bool
    first_row: int
    start: int
    after: Position

    def count_lines(self) -> int:
        """Count the lines from the current place to the end; this reads them."""
        return sum(block.count(b"\n") for block in iter(lambda: self.lines.read(_SCAN_BYTES), b""))


class _Section(io.RawIOBase):
    """Bytes [begin, end) of an open file as a file of its own."""

    def __init__(self, file: IO[bytes], begin: int, end: int) -> None:
        self._file = file
        self._begin = begin
        self._end = end
        self._at = begin

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._file.seek(self._at)
        data = self._file.read(min(len(buffer), self._end - self._at))
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        origin = {os.SEEK_SET: self._begin, os.SEEK_CUR: self._at, os.SEEK_END: self._end}[whence]
        self._at = min(max(origin + offset, self._begin), self._end)
        return self._at - self._begin

    def tell(self) -> int:
        return self._at - self._begin


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
