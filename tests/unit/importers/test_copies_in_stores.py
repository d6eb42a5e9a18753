"""What programs of object stores did within a store, or moved in earlier runs, is no transfer of the log."""

import json

import pytest

from tests.unit.importers.logs import ENDS, run
from tradewind.errors import InvalidValue
from tradewind.transfer import Status
from tradewind_agent.history.importers.detect import detect

JOB = "801be96e-b819-d74d-4dfa-d4eddf94b65f"
BOX = "https://acct.blob.core.windows.net/box"
LAKE = "https://acct.dfs.core.windows.net/box"


def job_of_azcopy(command: str, *, moved: int = 300, failed: int = 0) -> list[str]:
    return [
        "2026/03/01 10:00:00 AzcopyVersion  10.27.1",
        f"2026/03/01 10:00:00 Job-Command {command} ",
        f"2026/03/01 10:00:30 Job {JOB} summary",
        "Elapsed Time (Minutes): 0.5",
        "Number of File Transfers Completed: 3",
        f"Number of File Transfers Failed: {failed}",
        f"Total Number of Bytes Transferred: {moved}",
        "Final Job Status: Completed",
    ]


@pytest.mark.parametrize(
    "command",
    [
        f"remove {BOX}?s --recursive",
        f"rm {BOX}",
        f"set-properties {BOX}",
        f"copy {BOX}/a {BOX}/b",
        f"copy {BOX}/a {LAKE}/b",
    ],
)
def test_jobs_of_azcopy_within_a_service_are_skipped(command):
    imported, refused, report = run(job_of_azcopy(command))
    assert (imported, refused, sum(report.skipped.values())) == ([], [], 1)


@pytest.mark.parametrize("command", [f"copy /data {BOX}", f"copy {BOX} https://other.blob.core.windows.net/b"])
def test_jobs_of_azcopy_over_a_network_are_records(command):
    assert len(run(job_of_azcopy(command))[0]) == 1


def test_a_resumed_job_of_azcopy_is_refused_as_its_bytes_are_those_of_earlier_runs_too():
    imported, refused, _ = run(job_of_azcopy(f"copy /data {BOX}") + job_of_azcopy(f"jobs resume {JOB}"))
    assert (len(imported), [item.field for item in refused]) == (1, ["outcome.bytes_moved"])


def test_a_job_of_azcopy_all_of_which_failed_is_a_failure():
    (row,), _, _ = run(job_of_azcopy(f"copy /data {BOX}", moved=0, failed=3))
    assert (row.record.outcome.status, row.record.outcome.bytes_moved) == (Status.FAILED, 0)


def test_a_job_of_azcopy_that_says_that_it_failed_is_a_failure():
    lines = [line.replace("Status: Completed", "Status: Failed") for line in job_of_azcopy(f"copy /data {BOX}")]
    (row,), _, _ = run(lines)
    assert row.record.outcome.status is Status.FAILED


def messages_of_azcopy(**more: object) -> list[str]:
    end = {"JobStatus": "Completed", "TransfersCompleted": "3", "TotalBytesTransferred": "300", **more}
    contents = [("09:50:00", "Info", "Scanning"), ("10:00:00", "Init", "{}"), ("10:00:30", "EndOfJob", json.dumps(end))]
    return [
        json.dumps({"TimeStamp": f"2026-03-01T{at}Z", "MessageType": kind, "MessageContent": content})
        for at, kind, content in contents
    ]


def test_a_job_of_azcopy_begins_behind_its_search_for_files():
    assert run(messages_of_azcopy())[0][0].record.duration_s == 30


@pytest.mark.parametrize("more", [{"BytesOverWire": "0"}, {"IsCleanupJob": True}])
def test_a_job_of_azcopy_that_sent_nothing_is_skipped(more):
    imported, refused, report = run(messages_of_azcopy(**more))
    assert (imported, refused, sum(report.skipped.values())) == ([], [], 1)


@pytest.mark.parametrize("verb", ["copy", "move", "copy failed"])
def test_runs_of_aws_between_buckets_are_skipped(verb):
    lines = [
        "2026-03-01 10:00:00,000 - MainThread - awscli.clidriver - DEBUG - CLI version: aws-cli/2.15.1",
        "2026-03-01 10:00:00,000 - T - s3transfer.tasks - DEBUG - Executing task CopySubmissionTask(transfer_id=0)",
        f"Completed 9.0 MiB/9.0 MiB (4 MiB/s) with 1 file(s) remaining\r{verb}: s3://a/f to s3://b/f",
        "2026-03-01 10:00:20,000 - T - awscli.results - DEBUG - Shutdown request received in result processing thread",
    ]
    imported, refused, report = run(lines)
    assert (imported, refused, sum(report.skipped.values())) == ([], [], 1)
    kept = [line.replace(f"{verb}: s3://a/f", "upload: f") for line in lines]
    assert len(run(kept)[0]) == 1


@pytest.mark.parametrize(
    ("source", "destination", "rows"),
    [
        ("gs://a/f", "gs://b/f", 0),
        ("file:///f", "file:///g", 0),
        ("s3://a/f", "gs://b/f", 1),
        ("file:///f", "gs://b/f", 1),
    ],
)
def test_rows_of_gsutil_that_crossed_no_network_are_left_out(source, destination, rows):
    header = "Source,Destination,Start,End,Md5,UploadId,Source Size,Bytes Transferred,Result,Description"
    row = f"{source},{destination},2026-03-01T10:00:00.0Z,2026-03-01T10:00:16.0Z,x,,8000000,8000000,OK,"
    imported, refused, _ = run([header, row], ENDS)
    assert (len(imported), refused) == (rows, [])


@pytest.mark.parametrize(
    ("line", "advice"),
    [
        ("[9MB/95MB][  9%][=>        ][9MB/s]  ", "tradewind wrap"),
        ("rm s3://b/a", "no transfer"),
        ('{"job_id": "j", "job_state": "FINISHED"}', "/jobs/ID/files"),
        ("Request ID: j", "/jobs/ID/files"),
        ('{"ClusterId": 1, "ProcId": 0, "BytesRecvd": 5}', "condor_history -transfer-history"),
        ("03/01/26 10:00:00 (1.0) (123): File transfer completed successfully.", "FILE_TRANSFER_STATS_LOG"),
        ("040 (001.000.000) 2026-03-01 10:00:00 Started transferring input files", "FILE_TRANSFER_STATS_LOG"),
    ],
)
def test_logs_without_transfers_are_refused_with_what_to_keep_instead(line, advice):
    with pytest.raises(InvalidValue, match=advice):
        detect(line)
