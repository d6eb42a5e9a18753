"""Columns of CSV logs that say how a transfer ended."""

import pytest

from tests.unit.importers.logs import ENDS, run
from tradewind.errors import InvalidValue
from tradewind.transfer import Status
from tradewind_agent.importers import ImportContext

HEAD = "start_time,duration,size_mb,files,cc,throughput_mbps"


def rows(title: str, *values: str) -> list[str]:
    """A log of one transfer for each value of one more column."""
    data = (f"2026-03-01 10:{minute:02}:00,20,40,10,2,160,{value}" for minute, value in enumerate(values))
    return [f"{HEAD},{title}", *data]


def statuses(title: str, *values: str) -> list[Status]:
    imported, refused, _ = run(rows(title, *values))
    assert refused == []
    return [each.record.outcome.status for each in imported]


S, F, C = Status.SUCCEEDED, Status.FAILED, Status.CANCELLED


@pytest.mark.parametrize(
    ("title", "values", "expected"),
    [
        ("Status", ("SUCCEEDED", "FAILED", "Canceled"), [S, F, C]),
        ("state", ("done", "error", "aborted"), [S, F, C]),
        ("Result", ("OK", "error", "timed out"), [S, F, F]),
        ("success", ("true", "False", "1", "0"), [S, F, S, F]),
        ("exit_code", ("0", "1", "23"), [S, F, F]),
        ("status", ("0", "0", "28"), [S, S, F]),
        ("status", ("226", "250", "426", "550"), [S, S, F, F]),
        ("HTTP status", ("200", "206", "404", "503"), [S, S, F, F]),
        ("code", ("226", "426"), [S, F]),
        ("error", ("", "connection reset", "none", "0", "2"), [S, F, S, S, F]),
        ("errors", ("0", "3"), [S, F]),
    ],
)
def test_a_row_says_how_its_transfer_ended(title: str, values: tuple[str, ...], expected: list[Status]):
    assert statuses(title, *values) == expected


def test_a_failed_transfer_moved_what_its_rate_says_and_finished_no_file():
    lines = [f"{HEAD},status", "2026-03-01 10:00:00,10,40,10,2,160,failed", "2026-03-01 10:05:00,20,40,10,2,160,ok"]
    imported, _, _ = run(lines)
    failed, done = (each.record for each in imported)
    assert (failed.outcome.bytes_moved, failed.outcome.files_done, failed.outcome.files_failed) == (200_000_000, 0, 10)
    assert (failed.dataset.total_bytes, failed.duration_s) == (400_000_000, 10)
    assert (done.outcome.bytes_moved, done.outcome.files_done) == (400_000_000, 10)


def test_a_failed_transfer_without_a_rate_moved_nothing_that_is_known():
    lines = [f"{HEAD},status", "2026-03-01 10:00:00,10,40,10,2,,failed", "2026-03-01 10:05:00,20,40,10,2,160,ok"]
    imported, refused, report = run(lines)
    assert refused == []
    assert imported[0].record.outcome.bytes_moved == 0
    assert any("recorded as nothing" in assumption for assumption in report.assumptions)


def test_rows_of_no_transfer_are_left_out_and_counted():
    imported, refused, report = run(rows("status", "done", "skipped", "dry-run", "running", "done"))
    assert (len(imported), refused) == (2, [])
    assert "rows that moved nothing over the network are no transfers to record: 2 rows left out" in report.assumptions
    assert "rows of transfers that had not ended are no transfers to record: 1 row left out" in report.assumptions


def test_the_worst_of_several_columns_counts():
    lines = [f"{HEAD},status,error", "2026-03-01 10:00:00,20,40,10,2,160,done,checksum mismatch"]
    assert run(lines)[0][0].record.outcome.status is F


def test_a_status_that_is_neither_success_nor_failure_is_refused():
    _, refused, _ = run(rows("status", "done", "done", "perhaps"))
    assert [(each.field, each.reason) for each in refused] == [
        ("outcome.status", "is neither a success nor a failure: 'perhaps'")
    ]


def test_zero_and_one_under_status_are_not_guessed():
    with pytest.raises(InvalidValue, match="may mean either"):
        run(rows("status", "0", "1", "1"))


@pytest.mark.parametrize(("title", "value"), [("state", "CA"), ("code", "17a"), ("rc", "north")])
def test_a_column_of_other_things_reports_nothing_and_is_named(title: str, value: str):
    imported, _, report = run(rows(title, value, value))
    assert [each.record.outcome.status for each in imported] == [S, S]
    assert any(f"{title} does not say how a transfer ended" in assumption for assumption in report.assumptions)


@pytest.mark.parametrize("end", [",", ",,", ", ,"])
def test_delimiters_behind_each_row_change_no_unit(end: str):
    lines = [
        "start_time,duration,size,files,cc,p,throughput",
        f"2026-03-01 10:00:00,20,40,10,2,1,160{end}",
        f"2026-03-01 10:05:00,11,40,10,8,1,290.9{end}",
        f"2026-03-01 10:10:00,10,40,10,8,1,320{end}",
    ]
    imported, refused, _ = run(lines)
    assert refused == []
    assert [each.record.dataset.total_bytes for each in imported] == [400_000_000] * 3
    assert imported[0].record.outcome.throughput_bps == pytest.approx(160e6)


def test_a_header_that_ends_with_delimiters_has_no_column_for_them():
    imported, refused, _ = run(
        [f"{HEAD},,", "2026-03-01 10:00:00,20,40,10,2,160", "2026-03-01 10:05:00,20,40,10,2,160,,"]
    )
    assert (len(imported), refused) == (2, [])


def test_a_row_with_more_values_than_the_header_is_refused():
    _, refused, _ = run([HEAD, "2026-03-01 10:00:00,20,40,10,2,160", "2026-03-01 10:05:00,20,40,10,2,160,9"])
    assert [each.reason for each in refused] == ["has 7 fields where the header has 6"]


def test_a_failed_row_needs_ends_as_any_other():
    with pytest.raises(InvalidValue, match="--source"):
        run(rows("status", "failed"), ImportContext(destination=ENDS.destination))


@pytest.mark.parametrize(
    ("title", "good", "bad"),
    [
        ("status", "SUCCEEDED (2 retries)", "FAILED: timeout"),
        ("errno", "0", "104"),
        ("error_code", "0", "17"),
        ("result", "done", "aborted - by user"),
    ],
)
def test_failures_are_read_with_their_reasons_and_by_their_numbers(title, good, bad):
    imported, refused, _ = run(rows(title, good, bad, good))
    assert refused == []
    assert [item.record.outcome.status is Status.SUCCEEDED for item in imported] == [True, False, True]


@pytest.mark.parametrize("title", ["ret_code", "exit_code"])
def test_replies_of_a_server_under_the_title_of_an_exit_code_are_replies(title):
    lines = [
        f"start,duration_s,bytes,{title}",
        "2026-03-01 10:00:00,20,1000000,226",
        "2026-03-01 10:01:00,20,1000000,426",
    ]
    imported, _, _ = run(lines)
    assert [item.record.outcome.status for item in imported] == [Status.SUCCEEDED, Status.FAILED]


def test_exit_codes_of_windows_are_failures():
    lines = [
        "start,duration_s,bytes,exit_code",
        "2026-03-01 10:00:00,20,1000000,0",
        "2026-03-01 10:01:00,20,1000000,3221225786",
    ]
    imported, _, _ = run(lines)
    assert [item.record.outcome.status for item in imported] == [Status.SUCCEEDED, Status.FAILED]


def test_codes_that_cannot_be_read_are_not_taken_for_successes():
    with pytest.raises(InvalidValue, match="is no known word or code: 'E17'"):
        run(["start,duration_s,bytes,exit_code", "2026-03-01 10:00:00,20,1000000,E17"])


@pytest.mark.parametrize(
    ("title", "bad", "good"),
    [
        ("files_failed", "3", "0"),
        ("failed files", "1", "0"),
        ("is_error", "true", "false"),
        ("has_errors", "True", "False"),
        ("cancelled", "yes", "no"),
        ("aborted", "true", "false"),
        ("timed_out", "true", "false"),
        ("exception", "OSError: reset", ""),
        ("job_state", "FAILED", "COMPLETED"),
        ("exit", "1", "0"),
        ("checksum_ok", "false", "true"),
        ("result", "KO", "OK"),
    ],
)
def test_failure_in_other_words_of_the_title_is_a_failure(title, bad, good):
    rows = [f"2026-03-01 1{hour}:00:00,20,40000000,2,{cell}" for hour, cell in enumerate((bad, good))]
    imported, refused, _ = run([f"start,duration_s,bytes,cc,{title}", *rows])
    assert ([row.record.outcome.status for row in imported], refused) == ([Status.FAILED, Status.SUCCEEDED], [])


@pytest.mark.parametrize("title", ["std_error", "error_rate", "failed_attempts", "timeout", "error_bar"])
def test_title_that_only_mentions_failures_states_none(title):
    (row,), refused, _ = run([f"start,duration_s,bytes,cc,{title}", "2026-03-01 10:00:00,20,40000000,2,3"])
    assert (row.record.outcome.status, refused) == (Status.SUCCEEDED, [])


@pytest.mark.parametrize(
    ("title", "cells"), [("protocol", "file"), ("source,destination", "localhost,http://127.0.0.1/a")]
)
def test_row_within_a_host_is_left_out(title, cells):
    imported, refused, _ = run([f"start,duration_s,bytes,cc,{title}", f"2026-03-01 10:00:00,20,40000000,2,{cells}"])
    assert (imported, refused) == ([], [])
