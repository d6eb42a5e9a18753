"""Logs of files that programs gave up, of copies in place, and of two runs that began at different times."""

import json
from datetime import UTC, datetime

from tests.unit.importers.logs import ENDS, run
from tradewind.transfer import Status

_TASK = {
    "DATA_TYPE": "task", "task_id": "t1", "type": "TRANSFER", "status": "SUCCEEDED",
    "source_endpoint_display_name": "north", "destination_endpoint_display_name": "south", "source_endpoint_id": "u1",
    "destination_endpoint_id": "u2", "request_time": "2026-03-01T10:00:00+00:00", "files": 10, "files_transferred": 10,
    "completion_time": "2026-03-01T10:01:40+00:00", "bytes_transferred": 10_000_000_000,
}  # fmt: skip


def _stats(moved: int, elapsed_s: float, at: str, total: int) -> str:
    values = {"bytes": moved, "totalBytes": total, "elapsedTime": elapsed_s, "transferTime": elapsed_s, "errors": 0}
    values |= {"transfers": int(moved == total), "totalTransfers": 1}
    return json.dumps({"time": at, "level": "notice", "msg": "Transferred", "stats": values})


def test_run_that_started_earlier_and_writes_later_is_another_run():
    lines = [
        _stats(10_000_000, 10.0, "2026-03-01T10:00:10Z", 20_000_000),
        _stats(90_000_000, 65.0, "2026-03-01T10:00:15Z", 95_000_000),
        _stats(20_000_000, 20.0, "2026-03-01T10:00:20Z", 20_000_000),
        _stats(95_000_000, 75.0, "2026-03-01T10:00:25Z", 95_000_000),
    ]
    imported, refused, _ = run(lines, ENDS)
    found = {(each.record.started_at, each.record.outcome.bytes_moved) for each in imported}
    assert refused == []
    assert found == {
        (datetime(2026, 3, 1, 10, tzinfo=UTC), 20_000_000),
        (datetime(2026, 3, 1, 9, 59, 10, tzinfo=UTC), 95_000_000),
    }


def test_file_that_wget_gave_up_is_a_failure():
    lines = [
        "--2026-03-01 10:00:00--  https://m.example.org/big",
        "HTTP request sent, awaiting response... 200 OK",
        "Length: 100000000 (95M) [application/octet-stream]",
        "2026-03-01 10:00:05 (9.54 MB/s) - Read error at byte 50000000/100000000 (Connection reset). Giving up.",
    ]
    outcome = run(lines, ENDS)[0][0].record.outcome
    assert (outcome.status, outcome.bytes_moved) == (Status.FAILED, 50_000_000)


def test_try_that_another_follows_makes_no_record():
    lines = [
        "--2026-03-01 10:00:00--  https://m.example.org/big",
        "HTTP request sent, awaiting response... 200 OK",
        "2026-03-01 10:00:05 (9.54 MB/s) - Read error at byte 50000000/100000000 (Connection reset). Retrying.",
    ]
    assert run(lines, ENDS)[0] == []


def test_task_within_one_endpoint_of_globus_is_left_out():
    assert len(run([json.dumps(_TASK)], ENDS)[0]) == 1
    imported, refused, report = run([json.dumps(_TASK | {"destination_endpoint_id": "u1"})], ENDS)
    assert (imported, refused) == ([], [])
    assert "tasks within one endpoint" in report.skipped


def test_file_whose_closing_was_missed_is_left_out():
    message = {
        "start_time": 1772359200000, "end_time": 1772359220000, "operation_time": 20, "read": 1_000_000_000,
        "readv": 0, "write": 0, "server_hostname": "cache.example.org", "host": "192.0.2.9", "protocol": "xroot",
    }  # fmt: skip
    assert len(run([json.dumps(message | {"HasFileCloseMsg": 1})], ENDS)[0]) == 1
    imported, refused, report = run([json.dumps(message | {"HasFileCloseMsg": 0})], ENDS)
    assert (imported, refused) == ([], [])
    assert any("closing" in why for why in report.skipped)


def test_stats_of_a_run_that_come_newest_first_are_refused_and_counted_once():
    lines = [
        _stats(25_000_000, 10.0, "2026-03-01T10:00:10Z", 100_000_000),
        _stats(100_000_000, 40.0, "2026-03-01T10:00:40Z", 100_000_000),
        _stats(25_000_000, 10.0, "2026-03-01T11:00:10Z", 100_000_000),
        _stats(100_000_000, 30.0, "2026-03-01T11:00:30Z", 100_000_000),
    ]
    imported, refused, _ = run(lines[::-1], ENDS)
    assert sorted(each.record.duration_s for each in imported) == [30, 40]
    assert len(refused) == 2
    assert all("sort the log by time" in each.reason for each in refused)


def test_last_stats_of_runs_that_come_newest_first_are_a_record_each():
    lines = [
        _stats(100_000_000, 40.0, "2026-03-01T10:00:40Z", 100_000_000),
        _stats(100_000_000, 30.0, "2026-03-01T11:00:30Z", 100_000_000),
    ]
    imported, refused, _ = run(lines[::-1], ENDS)
    assert refused == []
    assert sorted(each.record.duration_s for each in imported) == [30, 40]


def test_transfer_of_gridftp_within_an_unknown_format_is_no_message_of_the_server():
    line = (
        "DATE=20260301100020.000000 HOST=dtn.example.org PROG=globus-gridftp-server NL.EVNT=FTP_INFO "
        "START=20260301100000.000000 USER=ann FILE=/a BUFFER=0 BLOCK=262144 NBYTES=1000 VOLUME=/ STREAMS=4 STRIPES=1 "
        "DEST=[192.0.2.9] TYPE=RETR CODE=226"
    )
    imported, refused, _ = run([line, json.dumps({"wrapped-by": "other", "text": line})], ENDS)
    assert len(imported) == 1
    assert "take off what is around it" in refused[0].reason


def test_statistics_of_text_from_the_last_line_to_the_first_are_refused():
    def write(at: str, moved: str, elapsed: str) -> list[str]:
        head, files = f"2026/03/01 {at} INFO  : ", "Transferred:            1 / 1, 100%"
        return [
            head,
            f"Transferred:   \t   {moved} / {moved}, 100%, 1 MiB/s, ETA 0s",
            files,
            f"Elapsed time: {elapsed}",
        ]

    lines = [*write("10:00:20", "10 MiB", "20.0s"), *write("11:00:40", "20 MiB", "40.0s")]
    assert [each.record.duration_s for each in run(lines, ENDS)[0]] == [20, 40]
    imported, refused, _ = run(lines[::-1], ENDS)
    assert imported == []
    assert "sort the log by time" in refused[0].reason


def test_file_of_wget_behind_the_request_of_another_is_refused():
    lines = []
    for second, host in ((0, "north"), (10, "south")):
        lines += [
            f"--2026-03-01 10:00:{second:02d}--  https://{host}.example.org/big",
            "HTTP request sent, awaiting response... 200 OK",
            f"2026-03-01 10:00:{second + 10} (9.54 MB/s) - 'big' saved [100000000/100000000]",
        ]
    assert [each.record.source for each in run(lines, ENDS)[0]] == ["north.example.org", "south.example.org"]
    imported, refused, _ = run(lines[::-1], ENDS)
    assert len(imported) == 1
    assert "sort the log by time" in refused[0].reason
