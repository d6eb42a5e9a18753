"""Columns that say how a transfer ended under titles that no table of names has."""

import pytest

from tradewind.transfer import Status
from tradewind_agent.history.importers.csv_titles import find_verdict_quantity
from tradewind_agent.importers import ImportContext, ImportedRow, RefusedRow, import_file

_HEAD = "start,end,bytes,files,cc,p"
_ROWS = (
    "2026-03-01 10:00:00,2026-03-01 10:00:20,40000000,10,2,1",
    "2026-03-01 11:00:00,2026-03-01 11:00:20,40000000,10,2,1",
)


def _read(tmp_path, titles: str, *cells: str) -> list[ImportedRow | RefusedRow]:
    path = tmp_path / "transfers.csv"
    rows = [f"{row},{cell}" for row, cell in zip(_ROWS, cells, strict=True)]
    path.write_text("\n".join([f"{_HEAD},{titles}", *rows]) + "\n")
    return list(import_file(path, context=ImportContext(source="alpha", destination="beta")))


def _list_statuses(items: list[ImportedRow | RefusedRow]) -> list[Status]:
    return [item.record.outcome.status for item in items if isinstance(item, ImportedRow)]


@pytest.mark.parametrize(
    ("title", "bad", "good"),
    [
        ("checksum_valid", "False", "True"),
        ("transfer_ok", "false", "true"),
        ("completedSuccessfully", "no", "yes"),
        ("is_complete", "0", "1"),
        ("rsync exit code", "23", "0"),
        ("exit_signal", "9", "0"),
        ("server reply", "426", "226"),
        ("file_state", "FAILED", "FINISHED"),
        ("md5_status", "mismatch failed", "ok"),
        ("n_failed", "3", "0"),
        ("fail_reason", "timeout", ""),
        ("last_error", "connection reset", ""),
        ("errno", "ETIMEDOUT", ""),
        ("truncated", "yes", "no"),
        ("is_corrupt", "true", "false"),
        ("incomplete", "1", "0"),
        ("incomplete_files", "2", "0"),
        ("signal", "SIGKILL", ""),
        ("exit_code", "23.0", "0.0"),
        ("http_status", "503.0", "200.0"),
        ("http_code", "000", "200"),
        ("success", "0.0", "1.0"),
        ("status", "Échec", "Terminé"),
        ("status", "Fehlgeschlagen", "Erfolgreich"),
    ],
)
def test_failure_under_any_title_is_a_failure(tmp_path, title, bad, good):
    assert _list_statuses(_read(tmp_path, title, bad, good)) == [Status.FAILED, Status.SUCCEEDED]


@pytest.mark.parametrize(
    ("title", "unmoved", "moved"),
    [
        ("was_skipped", "true", "false"),
        ("no_op", "true", "false"),
        ("is_server_side", "yes", "no"),
        ("transfer_type", "server-side copy", "upload"),
        ("type", "DELETE", "TRANSFER"),
        ("method", "HEAD", "GET"),
        ("command", "rclone sync /a r:b --dry-run", "rclone sync /a r:b"),
    ],
)
def test_rows_that_moved_nothing_are_left_out_under_any_title(tmp_path, title, unmoved, moved):
    assert _list_statuses(_read(tmp_path, title, unmoved, moved)) == [Status.SUCCEEDED]


def test_each_of_several_columns_of_one_kind_counts(tmp_path):
    items = _read(tmp_path, "ok,checksum_match", "true,false", "true,true")
    assert _list_statuses(items) == [Status.FAILED, Status.SUCCEEDED]


def test_last_error_gives_way_to_a_state(tmp_path):
    items = _read(tmp_path, "status,last_error", "completed,connection reset", "completed,")
    assert _list_statuses(items) == [Status.SUCCEEDED, Status.SUCCEEDED]


def test_row_that_was_not_verified_is_refused_with_advice(tmp_path):
    refused, taken = _read(tmp_path, "verified", "false", "true")
    assert isinstance(refused, RefusedRow)
    assert "call the column checksum_ok if it is a failure" in refused.reason
    assert isinstance(taken, ImportedRow)


@pytest.mark.parametrize(("titles", "cells"), [("verified", "false"), ("status,verified", "completed,false")])
def test_check_that_was_never_made_or_a_state_next_to_it_fails_nothing(tmp_path, titles, cells):
    assert _list_statuses(_read(tmp_path, titles, cells, cells)) == [Status.SUCCEEDED, Status.SUCCEEDED]


def test_failure_is_found_where_no_sampled_row_has_one(tmp_path):
    lines = [f"2026-03-01 {at // 60:02d}:{at % 60:02d}:00,20,40000000,2,1," for at in range(1400)]
    lines[1301] = lines[1301] + "disk full"
    path = tmp_path / "transfers.csv"
    path.write_text("\n".join(["start,duration (s),bytes,cc,p,error_message", *lines]) + "\n")
    items = import_file(path, context=ImportContext(source="alpha", destination="beta"))
    statuses = [item.record.outcome.status for item in items if isinstance(item, ImportedRow)]
    assert statuses.count(Status.FAILED) == 1
    assert statuses.count(Status.SUCCEEDED) == 1399


@pytest.mark.parametrize(
    "title", ["response time", "retry", "error rate", "no_errors", "us_state", "encoding", "total", "file", "timeout_s"]
)
def test_titles_of_other_things_say_nothing_of_the_end(title):
    assert find_verdict_quantity(title) is None


@pytest.mark.parametrize(
    ("title", "cell"), [("type", "txt"), ("job_state", "TX"), ("md5_valid", "abc123"), ("hash_match", "-1")]
)
def test_cells_that_are_no_verdict_change_nothing(tmp_path, title, cell):
    assert _list_statuses(_read(tmp_path, title, cell, cell)) == [Status.SUCCEEDED, Status.SUCCEEDED]


@pytest.mark.parametrize(
    ("titles", "first", "second"),
    [
        ("status,err_count", "ok,3", "ok,0"),
        ("status,errors_all", "ok,3", "ok,0"),
        ("status,checksum_errors", "ok,1", "ok,0"),
        ("status,ret", "completed,3", "completed,0"),
        ("status,client_state", "ok,active", "ok,idle"),
        ("status,client_state", "ok,stopped", "ok,complete"),
        ("status,sync_state", "ok,pending", "ok,done"),
        ("status,file_status", "ok,new", "ok,complete"),
        ("err", "0.01", "0.02"),
        ("client_error", "0.1", "0.3"),
        ("terminated", "2026-03-01", "2026-03-02"),
        ("terminated", "normally", "normally"),
        ("error_user", "root", "root"),
        ("error_process", "rsync", "rsync"),
        ("err_file", "e1.txt", "e2.txt"),
        ("cancelled_by", "", "ann"),
        ("reply", "110", "120"),
        ("server_response", "230", "130"),
        ("server_response", "200", "131.5"),
        ("return", "40000000", "40000001"),
        ("ret", "1", "2"),
        ("type", "size", "size"),
        ("type", "stat", "size"),
    ],
)
def test_numbers_and_states_of_other_things_leave_a_success_as_it_is(tmp_path, titles, first, second):
    assert _list_statuses(_read(tmp_path, titles, first, second)) == [Status.SUCCEEDED, Status.SUCCEEDED]


@pytest.mark.parametrize(
    ("titles", "bad", "good"),
    [
        ("exit_signal", "SIGTERM", ""),
        ("http_response", "timeout", "200"),
        ("rsync_exit_code", "23 (partial)", "0"),
        ("rsync_exit_code", "error", "success"),
        ("copy_ok", "error", "True"),
        ("copy_ok", "f", "t"),
        ("md5_result", "mismatch", "match"),
        ("status,client_state", "ok,error", "ok,active"),
        ("n_failed", "3.0", "0.0"),
        ("err_files", "3", "0"),
        ("ret", "3", "0"),
    ],
)
def test_word_of_a_failure_among_codes_or_truth_values_is_a_failure(tmp_path, titles, bad, good):
    assert _list_statuses(_read(tmp_path, titles, bad, good)) == [Status.FAILED, Status.SUCCEEDED]


@pytest.mark.parametrize(
    ("title", "unknown", "good"), [("copy_ok", "perhaps", "True"), ("rsync_exit_code", "E17", "0")]
)
def test_unknown_word_among_codes_or_truth_values_is_refused_with_advice(tmp_path, title, unknown, good):
    refused, taken = _read(tmp_path, title, unknown, good)
    assert isinstance(refused, RefusedRow)
    assert "rename the column" in refused.reason
    assert isinstance(taken, ImportedRow)


@pytest.mark.parametrize(
    ("title", "cells"),
    [
        ("truncated", ("a.bin", "b.bin")),
        ("signal", ("-60", "-72")),
        ("signal", ("0", "3")),
        ("corrupt", ("0.1", "0.2")),
        ("code", ("0", "200")),
    ],
)
def test_other_cells_under_titles_of_bad_states_say_nothing(tmp_path, title, cells):
    assert _list_statuses(_read(tmp_path, title, *cells)) == [Status.SUCCEEDED] * 2


def test_other_code_decides_where_there_was_no_reply(tmp_path):
    assert _list_statuses(_read(tmp_path, "http_code,ftp_code", "200,0", "0,226")) == [Status.SUCCEEDED] * 2
    titles = "http_code,exit_code"
    assert _list_statuses(_read(tmp_path, titles, "200,0", "000,0")) == [Status.SUCCEEDED, Status.SUCCEEDED]
    assert _list_statuses(_read(tmp_path, titles, "200,0", "000,7")) == [Status.SUCCEEDED, Status.FAILED]


def test_0_among_replies_in_a_column_of_states_is_refused(tmp_path):
    assert all(isinstance(each, RefusedRow) for each in _read(tmp_path, "status", "0", "200"))


def test_part_of_a_transfer_is_refused_without_a_state(tmp_path):
    first, second = _read(tmp_path, "partial", "true", "false")
    assert (isinstance(first, RefusedRow), _list_statuses([second])) == (True, [Status.SUCCEEDED])
    assert _list_statuses(_read(tmp_path, "status,partial", "206,true", "206,true")) == [Status.SUCCEEDED] * 2
