import json
from datetime import UTC, datetime

import pytest

from tests.unit.importers.logs import ENDS, run
from tradewind.errors import InvalidValue
from tradewind.transfer import Direction, Status
from tradewind_agent.importers import ImportContext


def copied(size: int = 1000, at: str = "2024-06-01T12:00:05.123456789+02:00", **more: object) -> str:
    fields = {
        "time": at,
        "level": "info",
        "msg": "Copied (new)",
        "size": size,
        "object": "a",
        "objectType": "*s3.Object",
    }
    return json.dumps(fields | more)


def stats(elapsed: float, at: str = "2024-06-01T12:01:40+02:00", in_flight: int = 0, **more: object) -> str:
    values = {
        "bytes": 5_000_000,
        "totalBytes": 5_000_000,
        "transfers": 5,
        "totalTransfers": 5,
        "errors": 0,
        "elapsedTime": elapsed,
        "transferring": [{"name": str(index)} for index in range(in_flight)],
    }
    return json.dumps({"time": at, "level": "notice", "msg": "Transferred", "stats": values | more})


def test_a_run_is_a_record_timed_by_its_last_stats():
    lines = [copied(1000), stats(40, bytes=1000), copied(3000), stats(100)]
    imported, refused, report = run(lines)
    record = imported[0].record
    assert (len(imported), refused, report.rows_read) == (1, [], 1)
    assert record.ended_at == datetime(2024, 6, 1, 10, 1, 40, tzinfo=UTC)
    assert record.duration_s == 100
    assert record.outcome.throughput_bps == pytest.approx(400_000)
    assert (record.outcome.files_done, record.outcome.status) == (5, Status.SUCCEEDED)
    assert (record.direction, record.protocol) == (Direction.DOWNLOAD, "s3")
    assert record.parameters.list_known() == {}


def test_the_time_that_files_were_in_flight_counts_where_rclone_reports_it():
    record = run([stats(100, transferTime=50.0)])[0][0].record
    assert record.duration_s == 50


def test_concurrency_is_known_while_files_wait():
    waiting = stats(10, in_flight=8, transfers=2, totalTransfers=50)
    draining = stats(90, in_flight=3, transfers=47, totalTransfers=50)
    imported, _, report = run([waiting, draining, stats(100)])
    assert imported[0].record.parameters.list_known() == {"concurrency": 8}
    assert any("while others waited" in assumption for assumption in report.assumptions)
    assert run([draining, stats(100)])[0][0].record.parameters.list_known() == {}


@pytest.mark.parametrize(
    "flags", ['"--transfers" "16" "--multi-thread-streams=4"', '"--transfers=16" "--multi-thread-streams" "4"']
)
def test_flags_and_version_are_read_where_the_log_has_the_command_line(flags):
    spoken = f'rclone: Version "v1.66.0" starting with parameters ["rclone" "copy" {flags} "a:" "b:"]'
    command = json.dumps({"level": "debug", "msg": spoken, "time": "2024-06-01T12:00:00Z"})
    record = run([command, copied(msg="Multi-thread Copied (new)"), stats(100)])[0][0].record
    assert record.parameters.list_known() == {"concurrency": 16, "parallelism": 4}
    assert record.mover.version == "1.66.0"


def test_runs_are_distinguished_by_their_clock():
    imported, _, _ = run(
        [stats(50), stats(100), stats(10, at="2024-06-02T12:00:10Z"), stats(30, at="2024-06-02T12:00:30Z")]
    )
    assert [item.record.duration_s for item in imported] == [100, 30]


def test_sizes_of_files_are_summed_up_when_all_are_known():
    lines = [copied(size) for size in (10, 500, 90)]
    record = run([*lines, stats(100, transfers=3, totalTransfers=3)])[0][0].record
    assert (record.dataset.min_file_bytes, record.dataset.max_file_bytes) == (10, 500)
    assert run([*lines, stats(100)])[0][0].record.dataset.max_file_bytes is None


def test_an_interrupted_and_a_failed_run_say_so():
    interrupted = run([stats(100, transfers=2, bytes=100)])[0][0].record
    assert interrupted.outcome.status is Status.CANCELLED
    assert interrupted.dataset.total_bytes == 5_000_000
    failure = json.dumps({"level": "error", "msg": "x: Failed to copy: no such bucket", "time": "2024-06-01T12:00:00Z"})
    assert run([failure, stats(100)])[0][0].record.outcome.status is Status.FAILED


def test_copied_lines_without_stats_are_refused_with_advice():
    imported, refused, _ = run([copied(), copied(), copied(msg="Copied (server-side copy)")])
    assert imported == []
    assert refused[0].reason.startswith("is not in the log: 2 files with an end but no start; run rclone with")


def test_a_run_that_copied_nothing_is_no_row():
    _, _, report = run([json.dumps({"level": "info", "msg": "There was nothing to transfer"})])
    assert report.rows_read == 0


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ("{broken", "row"),
        (stats(100, bytes=-5), "stats.bytes"),
        (stats(100, at="noon"), "ended_at"),
        (stats(100, at="2024-06-01T12:00:00"), "ended_at"),
        (stats(1e300), "stats.elapsedTime"),
        (stats(0), "started_at"),
        (stats(100, bytes=0), "outcome.bytes_moved"),
    ],
)
def test_bad_lines_are_refused_with_their_field(line, field):
    imported, refused, _ = run([line], format="rclone")
    assert imported == []
    assert [item.field for item in refused] == [field]


def test_ends_come_from_the_context():
    with pytest.raises(InvalidValue, match="--source: is needed"):
        run([stats(1)], ImportContext(destination="b"))
    assert run([stats(100)], ENDS)[0][0].record.source == "alpha"


def log_message(words: str) -> str:
    return json.dumps({"time": "2024-06-01T12:00:00+02:00", "level": "info", "msg": words})


@pytest.mark.parametrize(
    ("words", "limit_bps"),
    [
        ("Starting bandwidth limiter at 1.5Mi Byte/s", 1.5 * 8 * 2**20),
        ("Starting bandwidth limiter at 5MBytes/s", 5 * 8 * 2**20),
        ("Starting bandwidth limiter at 10Mi:512Ki Byte/s", 512 * 8 * 2**10),
        ("Scheduled bandwidth change. Limit set to 2Mi Byte/s", 2 * 8 * 2**20),
        ('rclone: Version "v1.60.1" starting with parameters ["rclone" "copy" "--bwlimit" "300" "a" "b:"]', 300 * 8192),
        ('rclone: Version "v1.60.1" starting with parameters ["rclone" "copy" "--bwlimit=0" "a" "b:"]', None),
    ],
)
def test_record_states_the_rate_that_the_user_limited_the_run_to(words: str, limit_bps: float | None):
    record = run([log_message(words), stats(100)])[0][0].record
    assert record.parameters.nic_bps == limit_bps


def test_limit_of_a_later_run_is_not_stated_of_the_run_before_it():
    first, second = (
        each.record
        for each in run([stats(100), log_message("Starting bandwidth limiter at 1Mi Byte/s"), stats(200)])[0]
    )
    assert (first.parameters.nic_bps, second.parameters.nic_bps) == (None, 8 * 2**20)


def test_runs_that_each_lasted_longer_are_distinguished_by_when_they_started():
    lines = []
    for day, elapsed in ((1, 10), (2, 20), (3, 40)):
        lines += [
            copied(day * 1000, f"2026-03-0{day}T01:00:40+00:00"),
            stats(elapsed, f"2026-03-0{day}T01:00:40+00:00"),
        ]
    imported, refused, _ = run([line.replace('"transfers": 5', '"transfers": 1') for line in lines])
    assert refused == []
    assert [each.record.duration_s for each in imported] == [10, 20, 40]
    assert [each.record.dataset.max_file_bytes for each in imported] == [1000, 2000, 3000]


def test_a_run_read_with_slow_statistics_stays_one():
    lines = [stats(elapsed, f"2026-03-01T01:{elapsed // 60:02}:{elapsed % 60:02}+00:00") for elapsed in (60, 600, 1800)]
    imported, _, _ = run(lines)
    assert [each.record.duration_s for each in imported] == [1800]


def test_runs_that_follow_at_once_are_distinguished():
    lines = [stats(10, "2026-03-01T01:00:10+00:00"), stats(20, "2026-03-01T01:00:30.2+00:00")]
    assert [each.record.duration_s for each in run(lines)[0]] == [10, 20]


DRY = json.dumps({"level": "warning", "msg": "Skipped copy as --dry-run is set (size 2.861Mi)", "object": "a"})
OLD_DRY = json.dumps({"level": "notice", "msg": "Not copying as --dry-run", "object": "a"})
DRY_START = json.dumps({"msg": 'rclone: Version "v1.66" starting with parameters ["rclone" "copy" "-n" "a" "b"]'})


@pytest.mark.parametrize("line", [DRY, OLD_DRY, DRY_START])
def test_a_dry_run_makes_no_record_and_is_reported_once(line: str):
    imported, refused, report = run([line, stats(0.15)])
    assert (imported, refused) == ([], [])
    assert report.assumptions == ["dry runs moved nothing and make no record"]


def test_a_real_run_behind_a_dry_one_is_a_record():
    lines = [DRY, stats(1, "2026-03-01T01:00:01+00:00"), copied(), stats(30, "2026-03-01T01:05:00+00:00")]
    assert [each.record.duration_s for each in run(lines)[0]] == [30]


def test_server_side_copies_are_not_counted_as_transferred():
    inside = {"serverSideCopies": 2, "serverSideCopyBytes": 4_000_000}
    record = run([stats(10, **inside)])[0][0].record
    assert (record.outcome.bytes_moved, record.outcome.files_done) == (1_000_000, 3)
    assert (record.dataset.total_bytes, record.dataset.file_count) == (1_000_000, 3)
    alone = {"serverSideMoves": 5, "serverSideMoveBytes": 5_000_000}
    imported, refused, report = run([stats(10, **alone)])
    assert (imported, refused) == ([], [])
    assert any("crossed no network" in assumption for assumption in report.assumptions)


def test_a_run_that_found_nothing_to_copy_is_no_row():
    imported, refused, report = run([stats(3, bytes=0, totalBytes=0, transfers=0, totalTransfers=0)])
    assert (imported, refused) == ([], [])
    assert report.assumptions == ["runs that found nothing to copy make no record"]


@pytest.mark.parametrize("name", ["rclone: ", ""])
def test_the_command_line_is_read_with_and_without_the_programs_name(name):
    words = f'{name}Version "v1.71.2" starting with parameters ["rclone" "sync" "--transfers=12" "/x" "y:"]'
    record = run([json.dumps({"level": "debug", "msg": words, "object": "rclone"}), stats(100)])[0][0].record
    assert (record.parameters.concurrency, record.mover.version) == (12, "1.71.2")


def test_failures_of_an_attempt_that_was_repeated_do_not_count():
    failure = json.dumps({"level": "error", "msg": "Failed to copy: broken pipe", "object": "a"})
    retried = json.dumps({"level": "error", "msg": "Attempt 1/3 failed with 1 errors and: broken pipe"})
    succeeded = json.dumps({"level": "error", "msg": "Attempt 2/3 succeeded"})
    record = run([failure, retried, copied(), succeeded, stats(100)])[0][0].record
    assert (record.outcome.status, record.outcome.files_failed) == (Status.SUCCEEDED, 0)
    last = json.dumps({"level": "error", "msg": "Attempt 3/3 failed with 1 errors and: broken pipe"})
    assert run([failure, last, stats(100)])[0][0].record.outcome.status is Status.FAILED


def test_lines_of_others_in_the_log_are_skipped_and_damaged_messages_refused():
    imported, refused, report = run(["Started the nightly copy", stats(100), '{"level": "info", "ms', "[1]"])
    assert (len(imported), [item.row for item in refused]) == (1, [3])
    assert report.skipped == {"no messages of rclone": 2}


TEXT_LOG = [
    '2025/05/06 07:08:00 DEBUG : rclone: Version "v1.68.2" starting with parameters ["rclone" "--transfers" "6"]',
    "2025/05/06 07:08:05 INFO  : dir/a: b.bin: Copied (new)",
    "2025/05/06 07:08:30 INFO  : ",
    "Transferred:   \t   30.000 MiB / 90 MiB, 33%, 1 MiB/s, ETA 1m0s",
    "Transferred:            1 / 3, 33%",
    "Elapsed time:        30.0s",
    "Transferring:",
    " *                                  c.bin: 50% /30Mi, 1Mi/s, 15s",
    "",
    "2025/05/06 07:09:30 INFO  : ",
    "Transferred:   \t   90 MiB / 90 MiB, 100%, 1 MiB/s, ETA 0s",
    "Checks:                 2 / 2, 100%",
    "Transferred:            3 / 3, 100%",
    "Elapsed time:      1m30.0s",
]


def test_the_text_log_is_read_as_the_json_log_is():
    imported, refused, report = run(TEXT_LOG)
    record = imported[0].record
    assert (refused, report.format, len(imported)) == ([], "rclone", 1)
    assert (record.outcome.bytes_moved, record.duration_s, record.outcome.files_done) == (90 * 2**20, 90, 3)
    assert record.ended_at == datetime(2025, 5, 6, 7, 9, 30, tzinfo=UTC)
    assert (record.parameters.concurrency, record.mover.version) == (6, "1.68.2")
    assert any("--timezone" in each for each in report.assumptions)


@pytest.mark.parametrize(
    ("moved", "size"),
    [
        ("1.5G / 1.5 GBytes, 100%, 10 MBytes/s, ETA 0s", 1.5 * 2**30),
        ("  700 / 700 Bytes, 100%, 70 Bytes/s, ETA 0s", 700),
        ("2.250 KiB / 2.250 KiB, 100%, 70 B/s, ETA 0s", 2304),
        ("10 B / 10 B, 100%, 1 B/s, ETA 0s", 10),
    ],
)
def test_sizes_of_the_text_log_are_read_in_the_words_of_all_versions(moved, size):
    lines = [
        "2025/05/06 07:08:30 INFO  : ",
        f"Transferred:   \t {moved}",
        "Transferred: 1 / 1, 100%",
        "Elapsed time: 10s",
    ]
    assert run(lines)[0][0].record.outcome.bytes_moved == size


def test_runs_and_dry_runs_of_the_text_log_are_distinguished():
    later = [line.replace("2025/05/06", "2025/05/07") for line in TEXT_LOG]
    dry = ["2025/05/08 07:00:00 NOTICE: x: Skipped copy as --dry-run is set (size 3Mi)", *TEXT_LOG[9:]]
    dry = [line.replace("05/06 07:09", "05/08 07:09") for line in dry]
    imported, refused, report = run([*TEXT_LOG, *later, *dry])
    assert ([item.record.ended_at.day for item in imported], refused) == ([6, 7], [])
    assert any("dry runs" in each for each in report.assumptions)


@pytest.mark.parametrize(
    "lines", [TEXT_LOG[3:6], [line.partition(" ")[2][9:] for line in TEXT_LOG[2:3]] + TEXT_LOG[3:6]]
)
def test_statistics_without_a_time_are_refused_with_what_to_do(lines):
    imported, refused, report = run(lines)
    assert (imported, report.format) == ([], "rclone")
    assert "its stats lines have no time; run rclone with --use-json-log" in refused[0].reason


@pytest.mark.parametrize(
    ("elapsed", "seconds"), [("1w2d3h4m5.6s", 788_645.6), ("1y1w0.0s", 32_140_800.0), ("1d0.5s", 86_400.5)]
)
def test_long_runs_of_the_text_log_last_for_weeks(elapsed, seconds):
    moved = "Transferred: 9 TiB / 9 TiB, 100%, 1 MiB/s, ETA 0s"
    lines = ["2025/05/06 07:08:30 INFO  : ", moved, f"Elapsed time: {elapsed}"]
    assert run(lines)[0][0].record.duration_s == pytest.approx(seconds)


def test_statistics_without_totals_of_old_versions_are_read():
    lines = [
        "2017/05/06 07:08:30 INFO  : ",
        "Transferred:   9.537 MBytes (488.281 kBytes/s)",
        "Errors:                 0",
        "Checks:                 0",
        "Transferred:            2",
        "Elapsed time:       20s",
    ]
    (row,), refused, _ = run(lines)
    assert (row.record.outcome.bytes_moved, row.record.duration_s, refused) == (round(9.537 * 2**20), 20, [])
    assert row.record.dataset.file_count == 2


@pytest.mark.parametrize("tail", ["", " (xfr#1/2)"])
def test_statistics_of_one_line_are_refused_with_the_option_to_leave_out(tail):
    line = f"2025/05/06 07:08:30 NOTICE:     9.537 MiB / 9.537 MiB, 100%, 488.281 KiB/s, ETA 0s{tail}"
    imported, refused, report = run([line, line])
    assert (imported, report.format, len(refused)) == ([], "rclone", 1)
    assert "without --stats-one-line" in refused[0].reason
