"""Runs that the server did within itself, that a log holds twice, or of which it has the end alone."""

import json
import re

import pytest

from tests.unit.importers.logs import ENDS, run
from tests.unit.importers.test_aria2 import RESULTS
from tests.unit.importers.test_copies_in_stores import messages_of_azcopy
from tests.unit.importers.test_rclone import copied, stats
from tradewind_agent.history.importers.repeats import SKIPPED

INSIDE = ["Copied (server-side copy)", "Copied (server side copy)", "Moved (server-side)", "Moved (server-side) to: b"]
COUNTED_APART = {"serverSideCopies": 1, "serverSideCopyBytes": 4_000_000, "serverSideMoves": 0}


@pytest.mark.parametrize("words", INSIDE)
def test_run_of_rclone_that_the_server_did_alone_makes_no_record_before_it_counted_that_apart(words):
    imported, refused, report = run([copied(msg=words), stats(10)])
    assert (imported, refused) == ([], [])
    assert any("within the server" in assumption for assumption in report.assumptions)


def test_run_of_rclone_with_copies_of_both_kinds_in_one_sum_is_refused():
    imported, refused, _ = run([copied(msg=INSIDE[0]), copied(), stats(10)])
    assert (imported, [row.field for row in refused]) == ([], ["outcome.bytes_moved"])
    assert "1.64" in refused[0].reason


def test_run_of_rclone_with_copies_of_both_kinds_is_read_where_they_are_counted_apart():
    (row,), refused, _ = run([copied(msg=INSIDE[0]), copied(), stats(10, **COUNTED_APART)])
    assert (row.record.outcome.bytes_moved, refused) == (1_000_000, [])


TEXT_RUN = [
    '2026/03/01 10:00:00 DEBUG : rclone: Version "v1.65.2" starting with parameters ["rclone" "copy" "/a" "b:"]',
    "2026/03/01 10:00:10 INFO  : a.bin: Copied (new)",
    "2026/03/01 10:00:20 INFO  : ",
    "Transferred:   \t   10.000 MiB / 10.000 MiB, 100%, 1 MiB/s, ETA 0s",
    "Transferred:            1 / 1, 100%",
    "Elapsed time:        20.0s",
    "",
]
WGET_RUN = [
    "--2026-03-01 10:00:00--  https://h.example.org/a.bin",
    "HTTP request sent, awaiting response... 200 OK",
    "2026-03-01 10:00:04 (2.86 MB/s) - 'a.bin' saved [12000000/12000000]",
]
AWS_RUN = [
    "2026-03-01 10:00:00,100 - MainThread - awscli.clidriver - DEBUG - CLI version: aws-cli/2.15.0",
    "2026-03-01 10:00:01,000 - Thread-1 - s3transfer.tasks - DEBUG - UploadSubmissionTask(transfer_id=0)",
    "Completed 100.0 MiB/100.0 MiB (10.0 MiB/s) with 1 file(s) remaining",
    "upload: ../data/a to s3://b/a",
    "2026-03-01 10:00:11,000 - Thread-1 - awscli.results - DEBUG - Shutdown request received in result thread",
]


@pytest.mark.parametrize("lines", [TEXT_RUN, WGET_RUN, AWS_RUN], ids=["rclone", "wget", "aws"])
def test_run_with_times_in_full_seconds_that_is_appended_to_itself_is_read_once(lines):
    imported, refused, report = run(lines * 2)
    assert (len(imported), refused, report.skipped[SKIPPED]) == (1, [], 1)


def test_equal_runs_of_rclone_in_two_containers_are_two():
    lines = [f"copier-{number}  | {line}" for number in (1, 2) for line in TEXT_RUN]
    assert len(run(lines)[0]) == 2


def test_equal_answers_of_two_addresses_that_wget_saved_in_one_second_are_two():
    assert len(run([*WGET_RUN, *(line.replace("h.example", "i.example") for line in WGET_RUN)])[0]) == 2


@pytest.mark.parametrize("more", [{}, {"BytesOverWire": "0"}, {"BytesOverWire": "300"}])
def test_end_of_a_job_of_azcopy_without_its_start_is_refused_with_what_to_keep(more):
    imported, (refused,), _ = run(messages_of_azcopy(**more)[-1:])
    assert (imported, refused.field) == ([], "started_at")
    assert "log file of the job" in refused.reason


def test_summary_of_azcopy_jobs_show_is_refused_with_what_to_keep():
    summary = ["Job 801be96e-b819-d74d-4dfa-d4eddf94b65f summary", "Number of File Transfers: 3"]
    _, (refused,), _ = run([*summary, "Final Job Status: Completed"])
    assert "log file of the job" in refused.reason


def event_of_globus(code: str, at: str, **details: object) -> dict[str, str]:
    return {"DATA_TYPE": "event", "code": code, "details": json.dumps(details), "time": f"2026-03-01T{at}+00:00"}


EVENTS = [
    event_of_globus("SUCCEEDED", "10:00:40", files_succeeded=2),
    event_of_globus("PROGRESS", "10:00:40", bytes_transferred=3_000_000),
    event_of_globus("PROGRESS", "10:00:20", bytes_transferred=1_000_000),
    event_of_globus("STARTED", "10:00:00", concurrency=2),
]


@pytest.mark.parametrize("events", [EVENTS, EVENTS[::-1]], ids=["latest first", "earliest first"])
def test_progress_of_globus_in_the_second_of_the_end_counts(events):
    (row,), refused, report = run([json.dumps(event) for event in events], ENDS)
    assert (row.record.outcome.bytes_moved, row.record.duration_s, refused) == (4_000_000, 40, [])
    assert report.skipped.total() == 0


def test_download_of_several_files_by_aria2_ends_when_its_first_path_is_complete():
    lines = [
        "03/01 10:00:00 [NOTICE] Downloading 1 item(s)",
        "[#aaaaaa 90MiB/90MiB(100%) CN:4 SD:3 SEED(0.1)]",
        "03/01 10:01:30 [NOTICE] Download complete: /d/a",
        "03/01 10:31:30 [NOTICE] Seeding is over.",
        *RESULTS,
        "aaaaaa|OK  |   1.0MiB/s|/d/a (5more)",
    ]
    (row,), refused, _ = run(["2026-03-01" + line[5:] if re.match(r"03/01", line) else line for line in lines])
    assert (row.record.ended_at.isoformat(), refused) == ("2026-03-01T10:01:30+00:00", [])


def test_file_that_aria2_found_complete_is_skipped():
    imported, refused, report = run([*RESULTS, "aaaaaa|OK  |       0B/s|/d/a"])
    assert (imported, refused, report.skipped.total()) == ([], [], 1)


@pytest.mark.parametrize("command", ["mount", "serve", "rcd"])
def test_server_of_rclone_is_refused_as_it_waits_for_most_of_its_time(command):
    started = f'Version "v1.65.2" starting with parameters ["rclone" "{command}" "r:b" "-vv"]'
    lines = [copied(msg=started, objectType="string"), copied(), stats(90_000)]
    imported, (refused,), _ = run(lines)
    assert (imported, refused.field) == ([], "started_at")
    assert run([*lines[:2], stats(90_000, transferTime=50.0)])[0][0].record.duration_s == 50
