"""Logs of aws and s5cmd, as these print them."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.unit.importers.logs import run
from tradewind.transfer import Direction, Status
from tradewind_agent.history.importers.detect import detect

UPLOAD = Path(__file__).parent.joinpath("corpus/samples/aws.log").read_bytes().decode().removesuffix("\n").split("\n")


def test_run_of_aws_with_debug_is_a_record():
    assert detect("\n".join(UPLOAD)) == "aws"
    (row,), refused, report = run(UPLOAD)
    record = row.record
    assert refused == []
    assert record.started_at == datetime(2026, 11, 28, 9, 35, 31, 211_000, tzinfo=UTC)
    assert record.duration_s == pytest.approx(0.5)
    assert (record.direction, record.store, record.protocol) == (Direction.UPLOAD, "s3", "s3")
    assert (record.mover.name, record.mover.version) == ("aws", "1.46.3")
    assert (record.outcome.files_done, record.outcome.bytes_moved) == (3, round(19.1 * 2**20))
    assert record.outcome.throughput_bps == pytest.approx(8 * record.outcome.bytes_moved / 0.5)
    assert record.parameters.list_known() == {"part_bytes": 8_388_608}
    assert any("rounded" in each for each in report.assumptions)


def test_two_runs_in_one_log_are_two_records():
    rows, _, _ = run([*UPLOAD, *(line.replace("09:35", "10:35") for line in UPLOAD)])
    assert len(rows) == 2
    assert rows[0].record.id != rows[1].record.id


@pytest.mark.parametrize(
    ("arguments", "direction"),
    [
        ("['s3', 'sync', 's3://bkt/dbg', 'to']", Direction.DOWNLOAD),
        ("['s3', 'cp', 's3://bkt/a', 's3://bkt/b']", Direction.THIRD_PARTY),
        ("['s3', '__import__(', ", Direction.DOWNLOAD),
    ],
)
def test_direction_follows_from_the_places_among_the_arguments(arguments, direction):
    own = UPLOAD[1].partition("[")[0] + arguments
    (row,), _, _ = run([UPLOAD[0], own, *UPLOAD[2:]])
    assert row.record.direction is direction


def test_file_that_failed_makes_the_run_fail():
    failed = "upload failed: src/x to s3://bkt/dbg/x An error occurred (AccessDenied) when calling"
    (row,), _, _ = run([*UPLOAD[:-1], failed, UPLOAD[-1]])
    assert (row.record.outcome.status, row.record.outcome.files_failed) == (Status.FAILED, 1)


@pytest.mark.parametrize(
    ("lines", "field"),
    [
        ([line for line in UPLOAD if not line.startswith("2026")], "started_at"),
        ([line for line in UPLOAD if not line.startswith("Completed")], "outcome.bytes_moved"),
        (UPLOAD[:-1], "started_at"),  # it was cut off
    ],
)
def test_run_without_times_or_bytes_is_refused_with_what_to_do(lines, field):
    rows, (refused,), _ = run(lines, format="aws")
    assert rows == []
    assert refused.field == field
    assert "is not in the log; " in refused.reason


def test_dry_run_makes_no_record():
    of_files = ("upload", "Completed")
    lines = [f"(dryrun) {line}" if line.startswith(of_files) else line for line in "\r".join(UPLOAD).split("\r")]
    rows, refused, report = run(lines)
    assert (rows, refused) == ([], [])
    assert "runs that moved no file make no record" in report.assumptions


def test_messages_of_s5cmd_are_refused_with_the_reason():
    lines = [
        json.dumps({"operation": "cp", "success": True, "source": "a", "destination": "s3://b/a"}),
        json.dumps({"operation": "cp", "success": 1, "error": 0}),
        json.dumps({"other": 1}),
        "no JSON",
    ]
    assert detect("\n".join(lines)) == "s5cmd"
    rows, refused, _ = run(lines)
    assert rows == []
    assert [each.field for each in refused] == ["started_at", "started_at", "row", "row"]
    assert "run it under `tradewind wrap`" in refused[0].reason
