"""Bytes written by a tool that does not report them: local files that changed since its start."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

CLOCK_STEP_NS = 10_000_000
"""The clock of files goes in steps of the kernel's, of at most 10 ms (100 Hz)."""


def count_bytes_written(file: Path, *, since_ns: int) -> int:
    """Return the bytes there are of a file that was written since a time; 0 of one that was not, or is not there."""
    try:
        seen = file.stat()
    except OSError:
        return 0
    return _count_allocated_bytes(seen) if seen.st_mtime_ns >= since_ns else 0


def _count_allocated_bytes(seen: os.stat_result) -> int:
    """Return the bytes of a sparse file that are there already."""
    return min(seen.st_size, 512 * seen.st_blocks) if seen.st_blocks else seen.st_size


class LocalEnd:
    """Files at and below a path; each read costs one stat a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._before: Mapping[Path, tuple[int, int]] = {
            file: (stat.st_ctime_ns, stat.st_size) for file, stat in self._list_files()
        }

    def list_written_bytes(self) -> list[int]:
        """Return the bytes that each file now has that is new or changed; of a sparse one what is there already."""
        return [
            _count_allocated_bytes(stat)
            for file, stat in self._list_files()
            if self._before.get(file) != (stat.st_ctime_ns, stat.st_size)
        ]

    def _list_files(self) -> Iterator[tuple[Path, os.stat_result]]:
        paths = self._path.rglob("*") if self._path.is_dir() else [self._path]
        for path in paths:
            try:
                if path.is_file() and not path.is_symlink():
                    yield path, path.stat()
            except OSError:
                continue  # it went since it was listed
