"""A watch of logs whose runs are silent for longer than a log has to be quiet."""

import json

import pytest

from tests.unit.agent.history.watched_folder import QUIET_S
from tests.unit.importers.test_rclone import stats
from tests.unit.importers.test_rclone_at_once import line
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


FIRST = [line("10:00", 60, 1_000_000), line("10:00", 120, 50_000_000), line("10:00", 300, 90_000_000)]
SHORTER = [line("10:30", 60, 2_000_000), line("10:30", 120, 90_000_000)]
FAULT = json.dumps({"level": "error", "msg": "Failed to set modification time", "object": "f"})


@pytest.mark.parametrize(
    ("until", "then", "expected"),
    [
        ([FIRST[0], SHORTER[0], FIRST[1], SHORTER[1]], FIRST[2:], 2),
        ([FIRST[0], FAULT, FIRST[1]], FIRST[2:], 1),
    ],
    ids=["at once", "a file failed"],
)
def test_a_watch_waits_for_a_run_that_goes_on_when_another_ended_or_a_file_failed(watched, until, then, expected):
    watch = watched.watch()
    for lines in (until, then):
        watched.write("run.log", "".join(f"{each}\n" for each in lines).encode(), age_s=QUIET_S + 1)
        watch.read()
    assert moved(watched) == [90_000_000] * expected


def test_a_log_that_is_damaged_at_its_end_is_read_all_the_same(watched):
    damaged = json.loads(rclone(1, 10_000_000))
    damaged["stats"]["totalBytes"] = -5
    watched.write("run.log", json.dumps(damaged).encode() + b"\n", age_s=QUIET_S + 1)
    watch = watched.watch()
    watch.read()
    assert watch.tally.refused == 1


def test_a_run_that_never_ends_is_taken_when_its_log_was_silent_for_long(watched):
    watched.write("run.log", rclone(1, 10_000_000).encode() + b"\n", age_s=OPEN_RUN_S)
    watched.watch().read()
    assert moved(watched) == [10_000_000]


def test_a_log_that_is_removed_while_its_run_goes_on_is_forgotten(watched):
    watch = watched.watch()
    path = watched.write("run.log", rclone(1, 10_000_000).encode() + b"\n", age_s=QUIET_S + 1)
    watch.read()
    assert len(watch._open_runs._seen) == 1
    path.unlink()
    watch.read()
    assert watch._open_runs._seen == {}
