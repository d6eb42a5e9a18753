"""Ticks of a running transfer on disk, until the service has them for good.

``<id>.live`` is locked by the program that moves the files: a line with the record of a transfer that has moved nothing
yet, then a line a tick. What is journalled leaves the file, but for the last tick, which tells how far the transfer was
if its program is killed. Writing is not synced: a killed program loses nothing, a host without power the last seconds.
"""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO
from uuid import UUID

from pydantic import ValidationError

from tradewind.transfer import Status
from tradewind.units import throughput_bps
from tradewind.wire.heartbeats import Heartbeat, SpooledHeartbeat
from tradewind.wire.records import WireRecord
from tradewind_agent.folders import PRIVATE_FILE_MODE, make_private
from tradewind_agent.session.records import LEAST_DURATION
from tradewind_agent.tuning.ticks import Tick

ENDING = ".live"
DRAFT_ENDING = ".draft"

CLOCK_SLACK = 2.0
"""How many times as long as its ticks of now a transfer may have taken: ticks may be longer or shorter at first."""


class LiveTicks:
    """Ticks of one transfer that the service may not have.

    Parameters
    ----------
    folder : made when first written to; ``None`` keeps the ticks in memory alone, as a full disk does.
    beginning : the transfer before its first byte.
    """

    def __init__(self, folder: Path | None, transfer_id: UUID, beginning: WireRecord) -> None:
        self._path = None if folder is None else folder / f"{transfer_id}{ENDING}"
        self._beginning = beginning
        self._pending: list[SpooledHeartbeat] = []
        self._file: IO[bytes] | None = None

    @property
    def pending(self) -> tuple[SpooledHeartbeat, ...]:
        """Ticks that the service has not said to have stored for good, oldest first."""
        return tuple(self._pending)

    def add(self, tick: Tick) -> None:
        """One more tick."""
        spooled = tick.spooled()
        self._pending.append(spooled)
        self._write([*([] if self._file else [self._beginning.to_line()]), _line(spooled)])

    def drop_journalled(self, sequence: int) -> None:
        """The service has every tick up to this one for good."""
        left = [each for each in self._pending if each.heartbeat.sequence > sequence]
        if len(left) == len(self._pending):
            return
        kept = left or self._pending[-1:]
        self._pending = left
        if self._file is not None:
            self._replace([self._beginning.to_line(), *map(_line, kept)])

    def remove(self) -> None:
        """The transfer is sealed, or not worth keeping."""
        if self._file is not None and self._path is not None:
            self._path.unlink(missing_ok=True)
        self.close()

    def close(self) -> None:
        """Leave what is on disk to the next command."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _write(self, lines: list[bytes]) -> None:
        with self._giving_up_on_failure():
            file = self._file or self._opened()
            if file is not None:
                file.writelines(lines)
                file.flush()

    def _opened(self) -> IO[bytes] | None:
        if self._path is None:
            return None
        make_private(self._path.parent)
        self._file = _locked(self._path)
        return self._file

    def _replace(self, lines: list[bytes]) -> None:
        """The file with these lines alone: whole and locked before it takes the place of the one before."""
        assert self._file is not None
        assert self._path is not None
        draft = self._path.with_suffix(DRAFT_ENDING)
        with self._giving_up_on_failure():
            file, before = _locked(draft), self._file
            self._file = file
            file.writelines(lines)
            file.flush()
            draft.replace(self._path)
            before.close()

    @contextlib.contextmanager
    def _giving_up_on_failure(self) -> Iterator[None]:
        """A disk that takes no ticks stops no transfer: they stay in memory.

        The file goes before its lock does: unlocked, it would be taken for one of a killed program.
        """
        try:
            yield
        except OSError:
            path, self._path = self._path, None
            for each in () if path is None else (path, path.with_suffix(DRAFT_ENDING)):
                with contextlib.suppress(OSError):
                    each.unlink(missing_ok=True)
            if self._file is not None:
                file, self._file = self._file, None
                with contextlib.suppress(OSError):
                    file.close()


def _locked(path: Path) -> IO[bytes]:
    """An empty file, locked while it is open."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, PRIVATE_FILE_MODE)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    return os.fdopen(descriptor, "wb")


def find_abandoned_transfers(folder: Path) -> Iterator[tuple[Path, WireRecord, tuple[SpooledHeartbeat, ...]]]:
    """Transfers whose program was killed: their file, the record of what they had moved, and their ticks.

    Files of running programs are locked, and passed over. What moved nothing, or cannot be read, is removed.
    """
    for path in sorted(folder.glob(f"*{ENDING}")):
        with contextlib.suppress(FileNotFoundError), path.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            if not os.path.samestat(os.fstat(file.fileno()), path.stat()):
                continue  # a running program has put another in its place meanwhile
            found = _read(file)
            if found is None:
                path.unlink(missing_ok=True)
            else:
                yield path, *found


def _read(file: IO[bytes]) -> tuple[WireRecord, tuple[SpooledHeartbeat, ...]] | None:
    first, *lines = file.read().splitlines() or [b""]
    ticks: list[SpooledHeartbeat] = []
    try:
        beginning = WireRecord.model_validate_json(first)
        ticks.extend(SpooledHeartbeat.model_validate_json(line) for line in lines)
    except ValidationError:  # the last line was being written
        if not ticks:
            return None
    if not ticks or not ticks[-1].heartbeat.bytes_moved:
        return None
    return _cut_short(beginning, ticks[-1]), tuple(ticks)


def _cut_short(beginning: WireRecord, last: SpooledHeartbeat) -> WireRecord:
    """The record of a transfer that nobody has ended, as far as its last tick tells."""
    beat = last.heartbeat
    started_at, ended_at = _times(beginning.started_at, beat)
    outcome = beginning.outcome.model_copy(
        update={
            "status": Status.CANCELLED,
            "bytes_moved": beat.bytes_moved,
            "files_done": max(beginning.dataset.file_count - beat.remaining_files, 0),
            "throughput_bps": throughput_bps(beat.bytes_moved, (ended_at - started_at).total_seconds()),
        }
    )
    return beginning.model_copy(
        update={"started_at": started_at, "ended_at": ended_at, "outcome": outcome, "parameters": beat.parameters}
    )


def _times(noted_at: datetime, last: Heartbeat) -> tuple[datetime, datetime]:
    """Start and end of a transfer that was noted as beginning and last told of itself by ``last``.

    By the clock where its ticks can have taken so long; else it waited for its share, or the clock jumped, and the
    ticks count back from the last one.
    """
    by_clock, by_ticks = last.at - noted_at, timedelta(seconds=last.sequence * last.interval_s)
    if by_ticks / CLOCK_SLACK <= by_clock <= by_ticks * CLOCK_SLACK and by_clock >= LEAST_DURATION:
        return noted_at, last.at
    return last.at - max(by_ticks, LEAST_DURATION), last.at


def _line(spooled: SpooledHeartbeat) -> bytes:
    return spooled.model_dump_json(exclude_none=True).encode() + b"\n"
