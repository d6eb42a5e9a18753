"""A watch of logs whose runs are silent for longer than a log has to be quiet."""

import json

import pytest

from tests.unit.agent.history.watched_folder import QUIET_S
from tests.unit.importers.test_rclone import stats
from tradewind_agent.history.log_parts import OPEN_RUN_S


def moved(watched):
    return [json.loads(line)["outcome"]["bytes_moved"] for line in watched.spooled.splitlines()]


def rclone(minute, moved_bytes):
    done = int(moved_bytes == 30_000_000)
    at = f"2023-11-14T12:{minute:02}:00+00:00"
    return stats(60.0 * minute, at, bytes=moved_bytes, totalBytes=30_000_000, transfers=done, totalTransfers=1)


def event(name, **data):
    return json.dumps({"event": name, "data": data})


START = event(
    "start",
    version="iperf 3.17",
    timestamp={"timesecs": 1_700_000_000},
    test_start={"protocol": "TCP", "num_streams": 1},
)
END = event("end", sum_sent={}, sum_received={"bytes": 30_000_000, "seconds": 300})
ARIA2 = (
    " *** Download Progress Summary as of Tue Nov 14 12:0{}:00 2023 *** \n[#abcdef {}MiB/30MiB(9%) CN:2 DL:1MiB ETA:9s]"
)
ARIA2_RESULT = "gid   |stat|avg speed  |path/URI\nabcdef|OK  |   1.0MiB/s|/f"


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ([rclone(1, 10_000_000), rclone(2, 20_000_000), rclone(3, 30_000_000)], 30_000_000),
        ([START, event("interval", streams=[]), END], 30_000_000),
        ([ARIA2.format(1, 10), ARIA2.format(2, 20), ARIA2_RESULT], 30 * 2**20),
    ],
    ids=["rclone", "iperf3", "aria2"],
)
def test_a_run_that_is_silent_for_longer_than_quiet_is_one_record(watched, pieces, expected):
    watch = watched.watch()
    for piece in pieces:
        watched.write("run.log", piece.encode() + b"\n", age_s=QUIET_S + 1)
        watch.read()
    assert moved(watched) == [expected]
    assert watch.tally.refused == 0


def test_a_run_that_never_ends_is_taken_when_its_log_was_silent_for_long(watched):
    watched.write("run.log", rclone(1, 10_000_000).encode() + b"\n", age_s=OPEN_RUN_S)
    watched.watch().read()
    assert moved(watched) == [10_000_000]
