"""Only what a run moved counts: programs that go on with a file name its entire size."""

import json
from datetime import UTC, datetime

import pytest

from tests.unit.importers.logs import ENDS, run
from tests.unit.importers.test_aria2 import RESULTS, summary
from tests.unit.importers.test_gridftp import line as gridftp_line
from tests.unit.importers.test_iperf3_tests import END, SETTINGS, START
from tests.unit.importers.test_rclone import stats
from tradewind.transfer import Status

SAVED = "2026-03-01 10:00:04 (2.86 MB/s) - 'a.bin' saved [{moved}]"
REQUEST = "--2026-03-01 10:00:00--  {scheme}://h.example.org/a.bin"
LENGTH = "Length: 30000000 (29M), 10000000 (9.5M) remaining"


@pytest.mark.parametrize("dots", ["...", "…"])
@pytest.mark.parametrize(
    "progress", [" 29000K .......... .......... 100% 2.9M=3.5s", " 29000K ,,,,,,,,,, ..........  99% 2.9M"]
)
def test_rest_of_a_file_over_http_is_what_wget_moved_whatever_its_progress_ends_with(dots, progress):
    answer = f"HTTP request sent, awaiting response{dots} 206 Partial Content"
    lines = [
        REQUEST.format(scheme="http"),
        answer,
        f"{LENGTH} [x/y]",
        progress,
        SAVED.format(moved="30000000/30000000"),
    ]
    (row,), refused, _ = run(lines, ENDS)
    assert (row.record.outcome.bytes_moved, refused) == (10_000_000, [])


@pytest.mark.parametrize(
    "command", ["==> PASV ... done.    ==> REST 20000000 ... done.", "==> REST 20000000 … fertig."]
)
def test_rest_of_a_file_over_ftp_is_what_wget_moved(command):
    lines = [REQUEST.format(scheme="ftp"), command, f"{LENGTH} (unauthoritative)", SAVED.format(moved="30000000")]
    (row,), refused, _ = run(lines, ENDS)
    assert (row.record.outcome.bytes_moved, refused) == (10_000_000, [])


def test_download_that_aria2_went_on_with_is_refused_as_its_log_does_not_say_what_it_moved():
    progress = summary("[#aaaaaa 800MiB/1.0GiB(78%) CN:5 DL:10MiB ETA:9s]", at="Sun Mar  1 10:01:20 2026")
    end = [
        "03/01 10:01:42 [NOTICE] Download complete: /d/a",
        *RESULTS,
        "aaaaaa|OK  |    10MiB/s|/d/a",
        "Status Legend:",
    ]
    resumed, refused, _ = run(["03/01 10:01:00 [NOTICE] Downloading 1 item(s)", *progress, *end])
    assert (resumed, [row.field for row in refused]) == ([], ["outcome.bytes_moved"])
    imported, refused, _ = run(["03/01 10:00:00 [NOTICE] Downloading 1 item(s)", *progress, *end])
    assert (len(imported), refused) == (1, [])


def test_test_of_iperf3_begins_behind_the_seconds_that_it_omits():
    start = START | {"test_start": SETTINGS["test_start"] | {"omit": 5}}
    (row,), _, _ = run([json.dumps({"start": start, "end": END})], ENDS)
    assert row.record.started_at == datetime.fromtimestamp(1_700_000_005, UTC)
    assert row.record.duration_s == 300


def test_transfer_that_a_server_answers_with_250_has_succeeded():
    statuses = [run([gridftp_line(code=code)], ENDS)[0][0].record.outcome.status for code in ("226", "250", "426")]
    assert statuses == [Status.SUCCEEDED, Status.SUCCEEDED, Status.FAILED]


@pytest.mark.parametrize("peer", ["[2001:db8::5]", "[2001:db8::5]:50000", "2001:db8:0::5"])
def test_port_behind_an_address_makes_no_other_endpoint(peer):
    (row,), refused, _ = run([gridftp_line(dest=f"[{peer}]")], ENDS)
    assert (row.record.destination, refused) == ("2001:db8::5", [])
    ends = f"source,destination,start,end,bytes\n{peer},192.0.2.7:22,2026-03-01T10:00:00Z,2026-03-01T10:00:20Z,4000\n"
    (row,), _, _ = run(ends.encode())
    assert (row.record.source, row.record.destination) == ("2001:db8::5", "192.0.2.7")


def test_run_of_rclone_of_the_same_length_at_another_time_is_another_run():
    times = ["2026-03-01T11:00:20Z", "2026-03-01T10:00:20Z", "2026-03-01T11:00:20Z"]
    imported, refused, _ = run([stats(20, at, bytes=4000) for at in times])
    assert refused == []
    assert [item.record.ended_at.hour for item in imported] == [11, 10]
