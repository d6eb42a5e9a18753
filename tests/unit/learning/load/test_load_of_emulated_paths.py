"""External load of paths whose load is known: emulated ones, in model time and as recorded."""

import json
import random
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

from benchmarks.emulation.profile import PathProfile
from benchmarks.support.direction import Direction
from tests.unit.benchmarks.emulated_transfers import Sender, TimedPath
from tradewind.learning.link_log import LinkLog
from tradewind.learning.load.external import compute_external_load
from tradewind.learning.load.known_load import LoadTimeline
from tradewind.parameters import AXES

RECORDS = Path(__file__).resolve().parents[4] / "benchmarks" / "records"
BANDWIDTH_BPS, RTT_S = 80e6, 0.06
GAP_S = 1000.0


def link_log(start_s, end_s, moved_bytes, files, settings):
    n = len(start_s)
    unknown = np.full(n, np.nan)
    columns = dict.fromkeys(
        ("min_rtt_s", "buffer_bytes", "retransmitted_bytes", "utilisation", "source_power_w", "destination_power_w",
         "source_base_w", "destination_base_w"),
        unknown,
    )  # fmt: skip
    table = np.full((n, len(AXES)), np.nan)
    for axis, values in settings.items():
        table[:, AXES.index(axis)] = values
    return LinkLog(
        id_high=np.arange(n, dtype=np.uint64),
        id_low=np.arange(n, dtype=np.uint64),
        start_s=start_s,
        end_s=end_s,
        received_s=end_s,
        moved_bytes=moved_bytes,
        throughput_bps=8 * moved_bytes / (end_s - start_s),
        bandwidth_bps=np.full(n, BANDWIDTH_BPS),
        rtt_s=np.full(n, RTT_S),
        mean_file_bytes=moved_bytes / files,
        file_count=files,
        settings=table,
        **columns,
    )


def load_of(log):
    own = LoadTimeline.of_transfers(log.start_s, log.end_s, log.moved_bytes)
    return compute_external_load(log.build_link_rows(), source=own, destination=own, both=own)


def duration_s(streams, total_bytes, cross_traffic, seed):
    """A transfer of as many files as streams, each on a connection of its own."""
    path = TimedPath(PathProfile(rate_bps=BANDWIDTH_BPS, rtt_s=RTT_S, cross_traffic=cross_traffic, seed=seed))
    senders = [Sender(path, total_bytes // streams) for _ in range(streams)]
    for sender in senders:
        sender.start(Direction.DOWN)
    path.run()
    return max(sender.ended_at_s for sender in senders)


@pytest.mark.parametrize("others", [0.0, 0.3, 0.6])
def test_the_load_of_an_emulated_path_is_the_share_that_others_take(others):
    draw = random.Random(4)
    streams = [draw.choice((1, 2, 4, 8, 16)) for _ in range(12)]
    durations = np.array([duration_s(n, 40_000_000, others, seed) for seed, n in enumerate(streams)])
    start = np.arange(len(streams)) * GAP_S
    files = np.array(streams, dtype=float)
    log = link_log(start, start + durations, np.full(len(streams), 4e7), files, {"concurrency": files})
    load = load_of(log)
    assert not load.upper_bound.all()
    assert load.feature[4:] == pytest.approx(others, abs=0.1)
    assert load.present_unknown_bps / BANDWIDTH_BPS == pytest.approx(others, abs=0.1)


@pytest.mark.parametrize("files", ["pages", "photos"])
def test_short_transfers_over_an_idle_path_are_not_taken_for_load(files):
    rows = [json.loads(line) for line in (RECORDS / f"emulated-{files}.ndjson").read_text().splitlines()]

    def column(*names):
        return np.array([float(_within(row, names)) for row in rows])

    start, end = (
        np.array([datetime.fromisoformat(row[name]).timestamp() for row in rows]) for name in ("started_at", "ended_at")
    )
    settings = {axis: column("parameters", axis) for axis in ("concurrency", "parallelism", "pipelining")}
    log = link_log(start, end, column("outcome", "bytes_moved"), column("dataset", "file_count"), settings)
    load = load_of(log)
    assert np.median(load.unknown_bps) > 0.2 * BANDWIDTH_BPS, "what is left of the path by transfers of a second"
    assert load.feature.max() < 0.05
    assert np.isnan(load.present_unknown_bps)


def _within(row, names):
    for name in names:
        row = row[name]
    return row
