"""A transfer that a log holds twice is recorded once, and did not run at the same time as itself."""

import json

import pytest

from tests.unit.importers.logs import ENDS, run
from tests.unit.importers.test_copies_in_stores import BOX, job_of_azcopy
from tests.unit.importers.test_fts import message
from tests.unit.importers.test_gridftp import line as gridftp_line
from tests.unit.importers.test_rclone import stats
from tradewind_agent.history.importers.repeats import SKIPPED

TRACE = {
    "eventType": "download", "eventVersion": "35.1.0", "localSite": "B", "remoteSite": "A", "filesize": 60_000_000,
    "clientState": "DONE", "protocol": "davs", "transferStart": 1772359200.0, "transferEnd": 1772359212.0,
    "traceId": "t7",
}  # fmt: skip
XFER = "Sun Mar  1 10:{minute}:20 2026 20 192.0.2.61 64000000 /srv/a b _ o r ann ftp 0 * c"


def concurrencies(lines, **options):
    imported, refused, report = run(lines, ENDS, **options)
    assert refused == []
    return [item.record.parameters.concurrency for item in imported], report.skipped[SKIPPED]


@pytest.mark.parametrize("line", [gridftp_line(), json.dumps(message()), json.dumps(TRACE)])
def test_line_that_comes_again_is_skipped_and_counted(line):
    assert concurrencies([line, line]) == ([1], 1)


def test_message_that_a_broker_delivers_again_is_one_whatever_the_head_around_it():
    heads = [{"data": message(), "metadata": {"_id": str(n), "kafka_timestamp": n}} for n in range(3)]
    assert concurrencies([json.dumps(head) for head in heads]) == ([1], 2)


def test_log_that_is_appended_to_itself_is_read_once():
    lines = [XFER.format(minute=minute) for minute in (10, 20, 30)]
    assert concurrencies(lines * 2) == ([1, 1, 1], 3)


def test_equal_lines_of_one_time_in_full_seconds_may_be_of_several_connections():
    assert concurrencies([XFER.format(minute=10)] * 4) == ([4, 4, 4, 4], 0)


def test_run_of_rclone_whose_lines_are_in_the_log_twice_is_one_record():
    lines = [stats(50, "2026-03-01T10:00:50.25+00:00", bytes=2000), stats(80, "2026-03-01T10:01:20.25+00:00")]
    imported, refused, report = run(lines * 2, ENDS)
    assert (len(imported), refused, report.skipped[SKIPPED]) == (1, [], 1)


def test_summary_of_azcopy_that_comes_again_is_skipped_and_one_with_other_figures_is_of_a_resumed_job():
    job = job_of_azcopy(f"copy /data {BOX}")
    imported, refused, report = run(job * 2, ENDS)
    assert (len(imported), refused, report.skipped[SKIPPED]) == (1, [], 1)
    imported, refused, _ = run(job + job_of_azcopy(f"copy /data {BOX}", moved=900), ENDS)
    assert (len(imported), [item.field for item in refused]) == (1, ["outcome.bytes_moved"])


def test_rows_of_a_table_are_one_where_they_name_the_transfer_and_may_be_several_where_not():
    rows = ["2026-03-01T10:00:00Z,2026-03-01T10:00:20Z,40000000"] * 2
    imported, _, _ = run(["start,end,bytes", *rows], ENDS)
    assert [item.record.parameters.concurrency for item in imported] == [2, 2]
    imported, refused, report = run(["transfer_id,start,end,bytes", *(f"7,{row}" for row in rows)], ENDS)
    assert ([item.record.parameters.concurrency for item in imported], refused) == ([1], [])
    assert any("in the file twice" in each for each in report.assumptions)


def test_events_of_overlapping_pages_of_globus_count_once():
    events = [
        ("SUCCEEDED", "10:01:40", {}),
        ("PROGRESS", "10:01:30", {"bytes_transferred": 700, "duration": 60.0}),
        ("STARTED", "10:00:00", {"concurrency": 2}),
    ]
    page = [
        {"DATA_TYPE": "event", "code": code, "details": json.dumps(details), "time": f"2026-03-01T{at}+00:00"}
        for code, at, details in events
    ]
    (row,), _, _ = run([json.dumps({"DATA": page}), json.dumps({"DATA": page[1:]})], ENDS)
    assert row.record.outcome.bytes_moved == 700
