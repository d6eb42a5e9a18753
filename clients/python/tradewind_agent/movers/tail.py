"""Incremental reads of a file that a tool is writing."""

from pathlib import Path


class Tail:
    """The new bytes of a file since the last read; a file that is not there yet is empty."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0

    def read(self) -> bytes:
        """Return all bytes that were added."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                added = file.read()
        except FileNotFoundError:
            return b""
        self._offset += len(added)
        return added


class LineTail:
    """The new complete lines of a file since the last read."""

    def __init__(self, path: Path) -> None:
        self._tail = Tail(path)
        self._pending = b""

    def read(self) -> list[bytes]:
        """Return the lines that were completed, without their ends."""
        *lines, self._pending = (self._pending + self._tail.read()).split(b"\n")
        return lines
