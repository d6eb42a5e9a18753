"""Lines of a tool's output as they come, and what is known of its files by them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from tradewind_agent.movers.port import ToolResult

HOPELESS = (
    "AccessDenied",
    "(403)",
    "(404)",
    "Forbidden",
    "NoSuchBucket",
    "NoSuchKey",
    "no object found",
    "not found",
    "does not exist",
    "InvalidAccessKeyId",
    "SignatureDoesNotMatch",
    "ExpiredToken",
    "RequestTimeTooSkewed",
    "Unable to locate credentials",
    "NoCredentialProviders",
    "No space left on device",
    "Permission denied",
    "warning: Skipping",
)
"""Reasons of failures that fewer requests at once do not change, as aws and s5cmd print them."""


@dataclass
class MovedFiles:
    """Files that a tool has reported, by destination; of one that was moved twice the last result counts.

    ``is_readable`` : whether the size of each is known.
    ``has_reasons`` : whether the last start gave reasons of failures; ``may_succeed_later`` : whether less load may
    change one of them.
    """

    sizes_bytes: dict[str, int] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)
    is_readable: bool = True
    has_reasons: bool = False
    may_succeed_later: bool = False

    def note_started(self) -> None:
        """Note a start, which tries all again that has failed."""
        self.failed.clear()
        self.has_reasons = self.may_succeed_later = False

    def add(self, destination: str, size_bytes: int | None) -> None:
        """Note a file that was moved; ``None`` where its size cannot be found."""
        self.is_readable = self.is_readable and size_bytes is not None
        self.sizes_bytes[destination] = size_bytes or 0

    def add_failure(self, name: str, reason: str) -> None:
        self.failed.add(name)
        self.note_reason(reason)

    def note_reason(self, reason: str) -> None:
        self.has_reasons = True
        self.may_succeed_later = self.may_succeed_later or not any(mark in reason for mark in HOPELESS)

    @property
    def result(self) -> ToolResult:
        return ToolResult(sum(list(self.sizes_bytes.values())), len(self.sizes_bytes), len(self.failed))


class OutputReader(Protocol):
    """A reader of a tool's output, one for all of its starts.

    Each call gets what the tool has written since the last one, and returns what the user is to see of it.
    """

    @property
    def files(self) -> MovedFiles: ...

    @property
    def bytes_under_way(self) -> int:
        """Return the bytes moved so far, as far as the tool says; at least those of finished files."""

    @property
    def is_readable(self) -> bool:
        """Return whether all that is moved is reported, with its size."""

    def read_output(self, chunk: bytes, /) -> bytes: ...

    def read_errors(self, chunk: bytes, /) -> bytes: ...

    def note_started(self) -> None:
        """Note that the tool starts, perhaps once more."""


class LineBuffer:
    """Splits a stream at the ends of its lines; what follows the last one waits.

    Parameters
    ----------
    ends : each byte ends a line.
    """

    def __init__(self, take: Callable[[str], None], ends: bytes = b"\n") -> None:
        self._take, self._ends, self._pending = take, ends, b""

    def add(self, chunk: bytes) -> None:
        """Take what was written; an empty chunk is the end of the stream."""
        text = self._pending + chunk
        for end in self._ends[1:]:
            text = text.replace(bytes([end]), self._ends[:1])
        *lines, self._pending = text.split(self._ends[:1])
        if not chunk and self._pending:
            lines, self._pending = [*lines, self._pending], b""
        for line in lines:
            self._take(line.decode("utf-8", "surrogateescape"))
