"""Runs of rclone that write into one file at once, and statistics whose time nothing says."""

import json

import pytest

from tests.unit.importers.logs import run
from tests.unit.importers.test_rclone import stats


def line(start: str, elapsed: int, moved: int, *, total: int = 90_000_000) -> str:
    """Return stats of a run that started at a minute and second of an hour."""
    minute, second = map(int, start.split(":"))
    at = 60 * minute + second + elapsed
    time = f"2025-07-09T04:{at // 60:02}:{at % 60:02}.250000+00:00"
    done = 4 if moved == total else 1
    return stats(
        elapsed, time, transferTime=float(elapsed), bytes=moved, totalBytes=total, transfers=done, totalTransfers=4
    )


def test_runs_whose_lines_alternate_are_one_record_each():
    first = [
        line("10:00", elapsed, moved) for elapsed, moved in ((60, 1_000_000), (120, 50_000_000), (180, 90_000_000))
    ]
    second = [
        line("10:30", elapsed, moved) for elapsed, moved in ((60, 2_000_000), (120, 4_000_000), (200, 90_000_000))
    ]
    lines = [each for pair in zip(first, second, strict=True) for each in pair]
    imported, refused, report = run(lines)
    found = [(item.record.outcome.bytes_moved, item.record.duration_s) for item in imported]
    assert (found, refused) == ([(90_000_000, 180), (90_000_000, 200)], [])
    assert any("at once" in assumption for assumption in report.assumptions)


def test_damaged_statistics_of_one_run_refuse_no_line_of_later_ones():
    damaged = json.loads(line("10:00", 60, 1_000_000))
    damaged["stats"]["totalBytes"] = -5
    later = [line("20:00", 60, 1_000_000), line("20:00", 70, 90_000_000), line("30:00", 60, 90_000_000)]
    imported, refused, _ = run([json.dumps(damaged), *later])
    assert ([item.record.duration_s for item in imported], [row.row for row in refused]) == ([70, 60], [1])


def test_a_run_whose_clock_was_set_forward_stays_one_record():
    lines = [line("10:00", 60, 1_000_000), line("10:40", 120, 2_000_000), line("10:40", 180, 90_000_000)]
    imported, refused, _ = run(lines)
    assert ([item.record.duration_s for item in imported], refused) == ([180], [])


def test_runs_that_follow_each_other_stay_apart():
    lines = [line("10:00", 60, 1_000_000), line("20:00", 60, 90_000_000), line("30:00", 30, 90_000_000)]
    assert [item.record.duration_s for item in run(lines)[0]] == [60, 60, 30]


def test_statistics_of_the_screen_have_no_time_though_a_message_before_them_has_one():
    lines = ["2025/07/09 04:05:06 NOTICE: Config file not found - using defaults"]
    lines += ["Transferred:   \t  30 MiB / 100 MiB, 30%, 5 MiB/s, ETA 9s", "Elapsed time:         6.0s"]
    lines += [" *  a: 30% /100Mi, 5Mi/s, 9sTransferred:   \t  100 MiB / 100 MiB, 100%, 5 MiB/s, ETA 0s"]
    lines += ["Transferred:            1 / 1, 100%", "Elapsed time:        20.0s"]
    imported, refused, _ = run(lines)
    assert imported == []
    assert "--progress" in refused[0].reason


@pytest.mark.parametrize("more", ["", "stats.go:484: ", "[99] ", "stats.go:484: [99] "])
def test_options_of_the_format_of_messages_do_not_matter(more):
    lines = [f"2025/07/09 04:05:06.25 {more}INFO  : ", "Transferred: 100 MiB / 100 MiB, 100%, 5 MiB/s, ETA 0s"]
    lines += ["Transferred: 1 / 1, 100%", "Elapsed time: 20.0s"]
    assert [item.record.duration_s for item in run(lines)[0]] == [20]
