"""The journal of an unfinished upload: the written ranges, and those of them that are safe on disk.

Lines of text, appended: ``tradewind-parts 1 TOTAL BOOT INODE`` first, then ``w FIRST LAST`` for bytes handed to the
kernel, ``s FIRST LAST`` for bytes that were synced, ``h HEX`` for the SHA-256 of the full file. Written bytes
survive the death of the server but not that of the machine: after another boot only synced ranges count. A journal
speaks only of the part file whose inode it names, so that one left over by a crash is never believed about a new file.
"""

import errno
import os
from collections.abc import Callable
from dataclasses import dataclass, field

from tradewind_agent.serve.folder import PART_PREFIX
from tradewind_agent.serve.uploads.byte_ranges import ByteRanges

JOURNAL_SUFFIX = ".journal"
_FORMAT = "tradewind-parts 1"
_REWRITE_FROM_LINES = 4096


@dataclass(slots=True)
class PartLogState:
    """The state that a journal describes.

    Attributes
    ----------
    trusted : whether every written range counts, which is so within one boot of the machine.
    """

    total_bytes: int
    is_trusted: bool
    received: ByteRanges = field(default_factory=ByteRanges)
    sha256: str | None = None


def is_journal(name: str) -> bool:
    """Return whether a file of that name is the journal of a part file."""
    return name.startswith(PART_PREFIX) and name.endswith(JOURNAL_SUFFIX)


def read_journal(text: str, *, boot: str, inode: int) -> PartLogState | None:
    """Return the state that a journal's text describes, or None when it is no journal of this part file.

    A last line without its end was cut off by a crash and does not count.
    """
    lines = text.split("\n")[:-1]
    words = lines[0].split() if lines else []
    if len(words) != 5 or " ".join(words[:2]) != _FORMAT or not words[2].isdecimal() or words[4] != str(inode):
        return None
    state = PartLogState(int(words[2]), is_trusted=bool(boot) and words[3] == boot)
    for line in lines[1:]:
        match line.split():
            case [("s" | "w") as kind, first, last] if first.isdecimal() and last.isdecimal():
                if kind == "s" or state.is_trusted:
                    state.received.add(int(first), int(last))
            case ["h", digest]:
                state.sha256 = digest
    return state


class PartLog:
    """Appends to a journal that is open for appending.

    Parameters
    ----------
    descriptor : of the journal; closed with ``close``.
    boot : names the time since the machine was started; empty when unknown, and then nothing unsynced is ever trusted.
    inode : of the part file.
    on_size : called with its size before and after each change, in whichever thread makes it.

    Attributes
    ----------
    size_bytes : of the journal on disk.
    """

    def __init__(
        self,
        descriptor: int,
        *,
        total_bytes: int,
        boot: str,
        inode: int,
        on_size: Callable[[int, int], None] = lambda _before, _after: None,
    ) -> None:
        self.size_bytes = os.fstat(descriptor).st_size
        self._on_size = on_size
        self._descriptor = descriptor
        self._total_bytes, self._boot, self._inode = total_bytes, boot, inode
        self._lines = 0

    def rewrite(self, synced: ByteRanges, written: ByteRanges, sha256: str | None) -> None:
        """Rewrite the journal: a crash meanwhile loses ranges, but never claims bytes that are not there."""
        lines = [f"{_FORMAT} {self._total_bytes} {self._boot or '-'} {self._inode}"]
        lines += [f"s {first} {last}" for first, last in synced]
        lines += [f"w {first} {last}" for first, last in written]
        lines += [] if sha256 is None else [f"h {sha256}"]
        os.ftruncate(self._descriptor, 0)
        self._resize(0)
        self._append(*lines)
        self._lines = len(lines)

    @property
    def is_long(self) -> bool:
        """Return whether it is worth rewriting."""
        return self._lines >= _REWRITE_FROM_LINES

    def note_written(self, first: int, last: int) -> None:
        self._append(f"w {first} {last}")

    def note_synced(self, ranges: list[tuple[int, int]]) -> None:
        """Note ranges whose data was synced before, and sync the note."""
        self._append(*(f"s {first} {last}" for first, last in ranges))
        os.fsync(self._descriptor)

    def note_sha256(self, sha256: str) -> None:
        self._append(f"h {sha256}")

    def close(self) -> None:
        os.close(self._descriptor)

    def _append(self, *lines: str) -> None:
        text = "".join(f"{line}\n" for line in lines).encode()
        written = os.write(self._descriptor, text)
        self._resize(self.size_bytes + written)
        if written < len(text):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._lines += len(lines)

    def _resize(self, size_bytes: int) -> None:
        before, self.size_bytes = self.size_bytes, size_bytes
        self._on_size(before, size_bytes)
