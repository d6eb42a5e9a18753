"""Ticks of a running transfer on disk, until the service has stored them in its journal.

The program that moves the files locks ``<id>.live``. Its first line is the record of a transfer that has moved nothing
yet; each further line is a tick. Journalled ticks leave the file except the last one, which shows how far the transfer
was if its program is killed. Writes are not synced: a killed program loses nothing, a power cut the last seconds.
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
from tradewind.units import compute_throughput_bps
from tradewind.wire.heartbeats import Heartbeat, SpooledHeartbeat
from tradewind.wire.records import WireRecord
from tradewind_agent.folders import PRIVATE_FILE_MODE, make_private
from tradewind_agent.session.records import LEAST_DURATION
from tradewind_agent.tuning.ticks import Tick

ENDING = ".live"
DRAFT_ENDING = ".draft"

CLOCK_SLACK = 2.0
"""Highest ratio between the time by the clock and the time by ticks of the current length: early ticks may differ."""


class LiveTicks:
    """Holds the ticks of one transfer that the service may not have.

    Parameters
    ----------
    folder : created by the first write; with ``None``, or on a full disk, the ticks stay in memory.
    beginning : the record of the transfer before its first byte.
    """

    def __init__(self, folder: Path | None, transfer_id: UUID, beginning: WireRecord) -> None:
        self._path = None if folder is None else folder / f"{transfer_id}{ENDING}"
        self._beginning = beginning
        self._pending: list[SpooledHeartbeat] = []
        self._file: IO[bytes] | None = None

    @property
    def pending(self) -> tuple[SpooledHeartbeat, ...]:
        """Ticks that the service has not confirmed as journalled, oldest first."""
        return tuple(self._pending)

    def add(self, tick: Tick) -> None:
        """Add a tick, also to the file."""
        spooled = tick.to_spooled()
        self._pending.append(spooled)
        self._write([*([] if self._file else [self._beginning.to_line()]), _encode_line(spooled)])

    def drop_journalled(self, sequence: int) -> None:
        """Drop every tick up to ``sequence``, which the service has journalled."""
        pending = [tick for tick in self._pending if tick.heartbeat.sequence > sequence]
        if len(pending) == len(self._pending):
            return
        stored = pending or self._pending[-1:]
        self._pending = pending
        if self._file is not None:
            self._replace([self._beginning.to_line(), *map(_encode_line, stored)])

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


def find_abandoned_transfers(folder: Path) -> Iterator[tuple[Path, WireRecord, tuple[SpooledHeartbeat, ...]]]:
    """Yield the transfers whose program was killed: the file, the record of what had moved, and the ticks.

    Files of running programs are locked and skipped. Files of transfers that moved nothing, or that cannot be read,
    are removed.
    """
    for path in sorted(folder.glob(f"*{ENDING}")):
        with contextlib.suppress(FileNotFoundError), path.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            if not os.path.samestat(os.fstat(file.fileno()), path.stat()):
                continue  # a running program has replaced the file meanwhile
            transfer = _read(file)
            if transfer is None:
                path.unlink(missing_ok=True)
            else:
                yield path, *transfer


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
    return _to_cancelled_record(beginning, ticks[-1]), tuple(ticks)


def _to_cancelled_record(beginning: WireRecord, last: SpooledHeartbeat) -> WireRecord:
    """Return the record of an unfinished transfer, as its last tick shows it."""
    beat = last.heartbeat
    started_at, ended_at = _estimate_times(beginning.started_at, beat)
    outcome = beginning.outcome.model_copy(
        update={
            "status": Status.CANCELLED,
            "bytes_moved": beat.bytes_moved,
            "files_done": max(beginning.dataset.file_count - beat.remaining_files, 0),
            "throughput_bps": compute_throughput_bps(beat.bytes_moved, (ended_at - started_at).total_seconds()),
        }
    )
    return beginning.model_copy(
        update={"started_at": started_at, "ended_at": ended_at, "outcome": outcome, "parameters": beat.parameters}
    )


def _estimate_times(noted_at: datetime, last: Heartbeat) -> tuple[datetime, datetime]:
    """Return start and end of a transfer whose file began at ``noted_at`` and whose last tick is ``last``.

    The clock counts if the ticks can have taken that long. Otherwise the transfer waited for its share, or the clock
    jumped: then the start is counted back from the last tick.
    """
    by_clock, by_ticks = last.at - noted_at, timedelta(seconds=last.sequence * last.interval_s)
    if by_ticks / CLOCK_SLACK <= by_clock <= by_ticks * CLOCK_SLACK and by_clock >= LEAST_DURATION:
        return noted_at, last.at
    return last.at - max(by_ticks, LEAST_DURATION), last.at


def _encode_line(spooled: SpooledHeartbeat) -> bytes:
    return spooled.model_dump_json(exclude_none=True).encode() + b"\n"
