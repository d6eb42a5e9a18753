"""Logs of rclone whose newest line is first, and logs of two runs that only look as if it were."""

import json

import pytest

from tests.unit.importers.logs import ENDS, run


def stats(elapsed_s: float, moved: int, total: int, *, files: tuple[int, int] = (1, 1), **more: object) -> str:
    """Return stats of a run that started at ten."""
    second, fraction = divmod(round(elapsed_s * 1000), 1000)
    at = f"2026-03-01T10:{second // 60:02}:{second % 60:02}.{fraction:03}000Z"
    values = {"bytes": moved, "totalBytes": total, "elapsedTime": elapsed_s, "transferTime": elapsed_s, "errors": 0}
    values |= {"transfers": files[0], "totalTransfers": files[1]} | more
    return json.dumps({"time": at, "level": "notice", "msg": "Transferred", "stats": values})


def text(second: int, moved: str) -> list[str]:
    """Return the last statistics of a run that started at ten, in a text log."""
    return [
        f"2026/03/01 10:00:{second} INFO  : ",
        f"Transferred:   \t   {moved} / {moved}, 100%, 1 MiB/s, ETA 0s",
        "Transferred:            1 / 1, 100%",
        f"Elapsed time: {second}.0s",
    ]


def durations(lines: list[str]) -> list[float]:
    """Return how long the runs of a log took, none of whose lines may be refused."""
    imported, refused, _ = run(lines, ENDS)
    assert refused == []
    return [each.record.duration_s for each in imported]


@pytest.mark.parametrize("moved", [30_000_000, 40_000_000])
def test_runs_of_hosts_that_started_in_one_second_are_a_record_each(moved):
    first = stats(20, 40_000_000, 40_000_000)
    assert durations([first, stats(10, moved, moved), stats(15, 20_000_000, 20_000_000)]) == [20, 10, 15]


def test_runs_of_hosts_that_started_in_one_second_are_a_record_each_in_text():
    assert durations([*text(20, "40 MiB"), *text(10, "30 MiB")]) == [20, 10]


def test_run_of_many_lines_behind_a_longer_one_is_a_record():
    later = [stats(5 * k, 5_000_000 * k, 20_000_000, files=(k, 4)) for k in (1, 2, 3, 4)]
    assert durations([stats(60, 90_000_000, 90_000_000, files=(9, 9)), *later]) == [60, 20]


def test_lines_of_two_processes_that_are_swapped_by_milliseconds_are_of_two_runs():
    lines = []
    for k in (1, 2, 3, 4):
        lines.append(stats(10 * k, 10_000_000 * k, 40_000_000, files=(2 * k, 8)))
        lines.append(stats(10 * k - 0.002, 5_000_000 * k, 20_000_000, files=(k, 4)))
    assert durations(lines) == [40, 39.998]


def test_killed_run_with_more_files_than_the_one_before_it_is_another():
    lines = [stats(40, 90_000_000, 90_000_000, files=(9, 9)), stats(10, 20_000_000, 95_000_000, files=(2, 12))]
    assert durations(lines) == [40, 10]


def test_rest_of_a_log_that_was_put_before_its_beginning_is_a_run_of_its_own_and_the_beginning_refused():
    lines = [stats(10 * k, 10_000_000 * k, 40_000_000, files=(k, 4)) for k in (3, 4, 1, 2)]
    imported, refused, _ = run(lines, ENDS)
    assert [each.record.duration_s for each in imported] == [40]
    assert [each.row for each in refused] == [4]
    assert "sort the log by time" in refused[0].reason


def test_failures_that_lowered_the_totals_do_not_hide_that_the_newest_line_is_first():
    lines = [stats(10, 1_000_000, 90_000_000, files=(1, 9)), stats(20, 8_000_000, 8_000_000, files=(8, 8), errors=1)]
    assert len(run(lines[::-1], ENDS)[1]) == 1


def test_lines_between_which_files_were_only_compared_are_one_run_newest_first():
    lines = [stats(10 * k, 5_000_000, 5_000_000, transferTime=2.5) for k in (1, 2, 3)]
    imported, refused, _ = run(lines[::-1], ENDS)
    assert ([each.record.outcome.bytes_moved for each in imported], len(refused)) == ([5_000_000], 2)


def test_line_with_nothing_in_flight_is_refused_among_others_that_are_newest_first():
    lines = [stats(10, 1_000_000, 5_000_000, files=(1, 5)), stats(20, 5_000_000, 5_000_000, files=(5, 5))]
    lines.append(stats(30, 9_000_000, 9_000_000, files=(9, 9)))
    imported, refused, _ = run(lines[::-1], ENDS)
    assert ([each.record.duration_s for each in imported], [each.row for each in refused]) == ([30], [2, 3])


def test_damaged_stats_refuse_no_line_behind_them():
    lines = [stats(20, 40_000_000, -5), stats(10, 30_000_000, 30_000_000)]
    imported, refused, _ = run(lines, ENDS)
    assert ([each.record.duration_s for each in imported], [each.row for each in refused]) == ([10], [1])


def test_many_lines_newest_first_are_refused_each():
    lines = [stats(10 * k, 10_000_000 * k, 400_000_000, files=(k, 40)) for k in range(1, 41)]
    imported, refused, _ = run(lines[::-1], ENDS)
    assert ([each.record.duration_s for each in imported], len(refused)) == ([400], 39)
