"""Transfers whose program was killed, read from the ticks that `tradewind_agent.session.live_ticks` has left."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO

from pydantic import ValidationError

from tradewind.transfer import Status
from tradewind.units import compute_throughput_bps
from tradewind.wire.heartbeats import Heartbeat, SpooledHeartbeat
from tradewind.wire.records import WireRecord
from tradewind_agent.session.live_ticks import ENDING
from tradewind_agent.session.records import LEAST_DURATION

CLOCK_SLACK = 2.0
"""Highest ratio between the time by the clock and the time by ticks of the current length: early ticks may differ."""


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
