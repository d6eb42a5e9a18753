"""Ticks of a running transfer on disk, until the service has stored them in its journal.

The program that moves the files locks ``<id>.live``. Its first line is the record of a transfer that has moved nothing
yet; each further line is a tick. Journalled ticks leave the file except the last one, which shows how far the transfer
was if its program is killed. Writes are not synced: a killed program loses nothing, a power cut the last seconds.
"""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING
from uuid import UUID

from tradewind import record_document
from tradewind.transfer import TransferRecord
from tradewind_agent.folders import PRIVATE_FILE_MODE, make_private
from tradewind_agent.tuning.ticks import Tick

if TYPE_CHECKING:
    from tradewind.wire.heartbeats import SpooledHeartbeat

ENDING = ".live"
DRAFT_ENDING = ".draft"


class LiveTicks:
    """Holds the ticks of one transfer that the service may not have.

    Parameters
    ----------
    folder : created by the first write; with ``None``, or on a full disk, the ticks stay in memory.
    beginning : the record of the transfer before its first byte.
    """

    def __init__(self, folder: Path | None, transfer_id: UUID, beginning: TransferRecord) -> None:
        self._path = None if folder is None else folder / f"{transfer_id}{ENDING}"
        self._beginning = beginning
        self._pending: list[Tick] = []
        self._file: IO[bytes] | None = None

    @property
    def pending(self) -> "tuple[SpooledHeartbeat, ...]":
        """Ticks that the service has not confirmed as journalled, oldest first."""
        return tuple(_to_spooled(tick) for tick in self._pending)

    def add(self, tick: Tick) -> None:
        """Add a tick, also to the file."""
        self._pending.append(tick)
        if self._path is not None:
            self._write([*([] if self._file else [record_document.to_line(self._beginning)]), _encode_line(tick)])

    def drop_journalled(self, sequence: int) -> None:
        """Drop every tick up to ``sequence``, which the service has journalled."""
        pending = [tick for tick in self._pending if tick.sequence > sequence]
        if len(pending) == len(self._pending):
            return
        stored = pending or self._pending[-1:]
        self._pending = pending
        if self._file is not None:
            self._replace([record_document.to_line(self._beginning), *map(_encode_line, stored)])

    def remove(self) -> None:
        """Remove the file of a transfer that is sealed, or not worth storing."""
        if self._file is not None and self._path is not None:
            self._path.unlink(missing_ok=True)
        self.close()

    def close(self) -> None:
        """Close the file; the next command sends what it holds."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _write(self, lines: list[bytes]) -> None:
        with self._fall_back_to_memory():
            file = self._file or self._open()
            if file is not None:
                file.writelines(lines)
                file.flush()

    def _open(self) -> IO[bytes] | None:
        if self._path is None:
            return None
        make_private(self._path.parent)
        self._file = _open_locked(self._path)
        return self._file

    def _replace(self, lines: list[bytes]) -> None:
        """Replace the file by one with these lines alone, which is complete and locked before it takes the name."""
        assert self._file is not None
        assert self._path is not None
        draft = self._path.with_suffix(DRAFT_ENDING)
        with self._fall_back_to_memory():
            file, before = _open_locked(draft), self._file
            self._file = file
            file.writelines(lines)
            file.flush()
            draft.replace(self._path)
            before.close()

    @contextlib.contextmanager
    def _fall_back_to_memory(self) -> Iterator[None]:
        """Keep the ticks in memory alone if the disk fails, so that the transfer goes on.

        The file is removed before its lock is released: an unlocked file looks like that of a killed program.
        """
        try:
            yield
        except OSError:
            path, self._path = self._path, None
            for leftover in () if path is None else (path, path.with_suffix(DRAFT_ENDING)):
                with contextlib.suppress(OSError):
                    leftover.unlink(missing_ok=True)
            if self._file is not None:
                file, self._file = self._file, None
                with contextlib.suppress(OSError):
                    file.close()


def _open_locked(path: Path) -> IO[bytes]:
    """Open an empty file that stays locked until it is closed."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, PRIVATE_FILE_MODE)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    return os.fdopen(descriptor, "wb")


def _encode_line(tick: Tick) -> bytes:
    return _to_spooled(tick).model_dump_json(exclude_none=True).encode() + b"\n"


def _to_spooled(tick: Tick) -> "SpooledHeartbeat":
    from tradewind_agent.tuning.wire_ticks import to_spooled  # noqa: PLC0415 -- loads the wire models

    return to_spooled(tick)
