"""rsync's own log of a run: the files that it sent or received, with the bytes that it took for each.

Nothing else shows that. A run that finds its files at the other end sends nothing, a large file that has hardly
changed is nearly all there, and a dry run moves none; its output is as the user likes it.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from tradewind_agent.movers.port import ToolResult
from tradewind_agent.movers.tail import LineTail

_OPTIONS = ("log-file", "log-file-format")
_FORMAT = "%o %l %b"
_MOVED = re.compile(rb"\S+ \S+ \[\d+\] (?:send|recv) (\d+) (\d+)")
"""Operation, length of a file, and bytes that were taken for it: 0 of folders, links, and all that a dry run shows."""


class RsyncLog:
    """The log of one run of rsync, read while it grows."""

    def __init__(self, path: Path) -> None:
        self._path, self._tail = path, LineTail(path)
        self._bytes_moved = self._files_done = 0

    @property
    def options(self) -> tuple[str, ...]:
        """Return what has rsync write this log; its output stays as it is."""
        return (f"--log-file={self._path}", f"--log-file-format={_FORMAT}")

    def read(self) -> None:
        """Read the lines that were added."""
        for line in self._tail.read():
            if (moved := _MOVED.fullmatch(line.rstrip())) is not None and int(moved[2]):
                self._bytes_moved += min(int(moved[1]), int(moved[2]))  # the end of a file takes some bytes more
                self._files_done += 1

    def build_result(self, files_failed: int) -> ToolResult:
        self.read()
        return ToolResult(self._bytes_moved, self._files_done, files_failed)


def has_own_log(own_options: Mapping[str, tuple[str, ...]]) -> bool:
    """Return whether the user has rsync write a log already; it writes one."""
    return any(name in own_options for name in _OPTIONS)
