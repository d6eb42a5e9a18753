"""What the lines of single files in a log of rclone tell of its run."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from tradewind_agent.history.importers.fields import parse_number, round_within
from tradewind_agent.history.importers.json_messages import find_text

_KIND = re.compile(r"\*([a-z0-9]{1,40})\.\w{1,40}")


@dataclass(slots=True)
class FileLines:
    """What lines of single files tell; sizes are kept as counts and ends, whatever the number of files.

    ``inside`` : files that the server copied or moved within itself.
    """

    copied: int = 0
    inside: int = 0
    smallest_bytes: int | None = None
    largest_bytes: int | None = None
    failed: int = 0
    is_multi_thread: bool = False
    source_kind: str | None = None
    is_dry: bool = False

    def note_copy(self, message: Mapping[str, object], *, is_multi_thread: bool) -> None:
        """Add a file that was copied."""
        self.copied += 1
        self.is_multi_thread = self.is_multi_thread or is_multi_thread
        if (kind := _KIND.fullmatch(find_text(message, "objectType"))) is not None:
            self.source_kind = kind[1]
        if find_text(message, "size"):
            size = round_within(
                "dataset.total_bytes", parse_number("dataset.total_bytes", find_text(message, "size")), 0
            )
            self._note_sizes(size, size)

    def _note_sizes(self, smallest_bytes: int, largest_bytes: int) -> None:
        known = smallest_bytes if self.smallest_bytes is None else self.smallest_bytes
        self.smallest_bytes = min(smallest_bytes, known)
        self.largest_bytes = max(largest_bytes, self.largest_bytes or 0)

    def add(self, later: "FileLines") -> None:
        """Add what the lines behind these tell."""
        self.copied += later.copied
        self.inside += later.inside
        self.failed += later.failed
        self.is_multi_thread = self.is_multi_thread or later.is_multi_thread
        self.source_kind = later.source_kind or self.source_kind
        self.is_dry = self.is_dry or later.is_dry
        if later.smallest_bytes is not None and later.largest_bytes is not None:
            self._note_sizes(later.smallest_bytes, later.largest_bytes)
