"""The history that was learned before: short transfers at several settings of the unchanged path, fitted by the
learner.

The rows are stored in ``benchmarks/records``: a history consists of other runs, of another day.
"""

import hashlib
import random
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from benchmarks.testbed.path_spec import PathSpec
from benchmarks.tuning.driver import TickRow
from benchmarks.tuning.transfers import FILE_BYTES, TransferSpec, set_up_transfers
from benchmarks.wan import runs
from tradewind.learning.link import fit_link
from tradewind.learning.link_log import EndpointCurves, LinkLog, reduce_log
from tradewind.learning.load.known_load import LoadTimeline
from tradewind.parameters import AXES
from tradewind.recommendation import CompactTable
from tradewind.wire.recommendations import serialize_table

SETTINGS = (
    *((cc, 1, 4) for cc in (1, 2, 4, 8, 16, 32)),
    *((cc, 1, 1) for cc in (2, 8, 24)),
    *((cc, 2, 4) for cc in (1, 4, 8)),
)
REPEATS = 2
SECONDS = 8.0
"""Length of each transfer, which is cut then."""


def measure_history(path: PathSpec, log: runs.RunLog, *, seed: int, folder: Path) -> list[runs.Row]:
    """Return the history's rows: those in ``log``, and newly measured ones where ``log`` lacks them."""
    settings_and_repeats = [(setting, repeat) for repeat in range(REPEATS) for setting in SETTINGS]
    missing = [key for key in settings_and_repeats if log.find(_build_key(path, *key)) is None]
    random.Random(seed).shuffle(missing)  # slow times of the machine then affect no setting alone
    if missing:
        with set_up_transfers(path, seed=seed, folder=folder) as testbed:
            for setting, repeat in missing:
                [rows] = testbed.run([TransferSpec(tuner="static", ticks=1, tick_s=SECONDS, setting=setting)])
                log.add(_build_key(path, setting, repeat), _make_log_row(setting, rows))
        log.rewrite()
    return [row for key in settings_and_repeats if (row := log.find(_build_key(path, *key))) is not None]


def _build_key(path: PathSpec, setting: tuple[int, int, int], repeat: int) -> str:
    return f"{path}; {setting}; {repeat}"


def _make_log_row(setting: tuple[int, int, int], rows: Sequence[TickRow]) -> runs.Row:
    [tick] = rows
    ended_s = time.time()
    return {
        "setting": setting,
        "ended_at": datetime.fromtimestamp(ended_s, UTC).isoformat(),
        "ended_s": ended_s,
        "duration_s": tick["interval_s"],
        "throughput_bps": tick["throughput_bps"],
        "rtt_s": tick["rtt_s"],
        "min_rtt_s": tick["min_rtt_s"],
        "loss": tick["loss"],
        "power_w": tick["power_w"],
    }


def fit_table(path: PathSpec, rows: Sequence[runs.Row], *, seed: int) -> CompactTable:
    """Fit the table of a recommendation from these rows alone.

    Raises
    ------
    CannotFit : the learner does not trust the rows.
    """
    log = _build_link_log(path, rows)
    curve = LoadTimeline.of_transfers(log.start_s, log.end_s, log.moved_bytes)
    reduced = reduce_log([log], EndpointCurves(curve, curve, curve))
    [leaf, *_] = fit_link(reduced, np.random.default_rng(seed)).leaves
    return leaf.build_compact_table()


def write_table(table: CompactTable, folder: Path) -> Path:
    """Store a table under its digest; return the file."""
    content = serialize_table(table)
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"table-{hashlib.sha256(content).hexdigest()[:12]}.json"
    file.write_bytes(content)
    return file


def _build_link_log(path: PathSpec, rows: Sequence[runs.Row]) -> LinkLog:
    ordered = sorted(rows, key=lambda row: float(row["ended_s"]))

    def read_column(name: str) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
        return np.array([np.nan if row[name] is None else float(row[name]) for row in ordered])

    count = len(ordered)
    duration_s, throughput_bps, ended_s = (
        read_column("duration_s"),
        read_column("throughput_bps"),
        read_column("ended_s"),
    )
    moved_bytes = throughput_bps * duration_s / 8
    unknown = np.full(count, np.nan)
    settings = np.full((count, len(AXES)), np.nan)
    settings[:, :3] = [row["setting"] for row in ordered]
    return LinkLog(
        id_high=np.arange(count, dtype=np.uint64),
        id_low=np.fromiter(_draw_ids(count), dtype=np.uint64),
        start_s=ended_s - duration_s,
        end_s=ended_s,
        received_s=ended_s,
        moved_bytes=moved_bytes,
        throughput_bps=throughput_bps,
        bandwidth_bps=np.full(count, path.rate_bps),
        rtt_s=read_column("rtt_s"),
        min_rtt_s=read_column("min_rtt_s"),
        buffer_bytes=unknown,
        retransmitted_bytes=read_column("loss") * moved_bytes,
        utilisation=unknown,
        mean_file_bytes=np.full(count, float(FILE_BYTES)),
        file_count=np.maximum(moved_bytes / FILE_BYTES, settings[:, 0]),
        settings=settings,
        source_power_w=unknown,
        destination_power_w=read_column("power_w"),
        source_base_w=unknown,
        destination_base_w=unknown,
    )


def _draw_ids(count: int) -> Iterator[int]:
    """Yield ids as a store would give them: without any order."""
    return (int.from_bytes(hashlib.sha256(str(number).encode()).digest()[:8]) for number in range(count))
