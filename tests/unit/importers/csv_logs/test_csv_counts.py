"""Counts under titles of many words, and rows that count less at their end than at their beginning."""

import pytest

from tests.unit.importers.logs import ENDS, run
from tradewind.errors import InvalidValue
from tradewind.transfer import Status

TIMES = ("2026-03-01T10:00:00Z,2026-03-01T10:00:20Z", "2026-03-01T10:05:00Z,2026-03-01T10:05:40Z")


def read(title: str, *cells: str, size: str = "File Size (MB)"):
    rows = [f"{times},400,{cell}" for times, cell in zip(TIMES, cells, strict=True)]
    return run([f"start,end,{size},{title}", *rows], ENDS)


@pytest.mark.parametrize(
    "title",
    [
        "# files", "#files", "No. of files", "Nr. of Files", "total files", "num_of_files", "Files Count",
        "Number of Objects", "object count", "fileCnt", "nb_files", "files (n)", "Anzahl Dateien",
    ],
)  # fmt: skip
def test_count_of_files_is_known_by_its_words(title):
    imported, refused, _ = read(title, "10", "10")
    assert [item.record.dataset.file_count for item in imported] == [10, 10]
    assert [item.record.outcome.bytes_moved for item in imported] == [4_000_000_000] * 2
    assert refused == []


@pytest.mark.parametrize(
    "title", ["# streams", "No. of streams", "stream count", "num_of_streams", "Parallel TCP streams", "nb streams"]
)
def test_count_of_streams_is_known_by_its_words(title):
    assert [item.record.parameters.parallelism for item in read(title, "4", "8")[0]] == [4, 8]


def test_number_of_concurrent_transfers_is_the_concurrency():
    assert [item.record.parameters.concurrency for item in read("number of concurrent transfers", "4", "8")[0]] == [
        4,
        8,
    ]


def test_all_streams_together_are_no_setting_that_is_known():
    with pytest.raises(InvalidValue, match="may count files at once"):
        read("total streams", "4", "8")


def test_number_of_a_file_that_may_be_a_count_is_refused():
    with pytest.raises(InvalidValue, match="call it file_count or file_id"):
        read("file_num", "10", "10")
    assert [item.record.dataset.file_count for item in read("file_num", "1", "2")[0]] == [1, 1]


@pytest.mark.parametrize(
    ("titles", "cells"),
    [
        ("files_total,files_transferred", ("10,10", "10,2")),
        ("destination_size (MB)", ("400", "100")),
        ("md5_source,md5_dest", ("ab,AB", "ab,cd")),
    ],
)
def test_row_that_has_less_at_its_end_is_no_success(titles, cells):
    imported, refused, _ = read(titles, *cells)
    assert ([item.record.outcome.status for item in imported], len(refused)) == ([Status.SUCCEEDED], 1)
    assert "add a column status" in refused[0].reason


@pytest.mark.parametrize("cell", ["", "-", "N/A"])
def test_missing_state_among_states_is_refused(cell):
    imported, refused, _ = read("status", "OK", cell)
    assert (len(imported), refused[0].reason) == (1, "is missing, where other rows say that they succeeded")


def test_state_that_only_failures_have_may_be_missing():
    imported, refused, _ = read("status", "failed", "")
    assert [item.record.outcome.status for item in imported] == [Status.FAILED, Status.SUCCEEDED]
    assert refused == []


def test_failure_counts_though_the_state_is_missing():
    imported, refused, _ = read("status,error", "OK,", ",timeout")
    assert [item.record.outcome.status for item in imported] == [Status.SUCCEEDED, Status.FAILED]
    assert refused == []


@pytest.mark.parametrize("date", ["2026-03-13 ", "3/13/2026 "])
def test_times_without_seconds_are_refused_for_short_transfers(date):
    rows = ["start,end,size (MB),cc", f"{date}10:00,{date}10:01,4000,2", f"{date}11:00,{date}18:30,4000,2"]
    imported, refused, _ = run(rows, ENDS)
    assert (len(imported), refused[0].field) == (1, "ended_at")
    assert "is written to the minute" in refused[0].reason


def test_times_without_seconds_are_read_next_to_a_duration():
    rows = ["start,end,duration (s),size (MB),cc", "2026-03-13 10:00,2026-03-13 10:01,20,4000,2"]
    record = run(rows, ENDS)[0][0].record
    assert (record.ended_at - record.started_at).total_seconds() == 20


@pytest.mark.parametrize("titles", ["Total Time (s),Transfer Time (s)", "Transfer Time (s),Total Time (s)"])
def test_time_of_the_transfer_counts_rather_than_the_total(titles):
    cells = "30,20" if titles.startswith("Total") else "20,30"
    record = run([f"start,{titles},size (MB),cc", f"2026-03-13 10:00:00,{cells},4000,2"], ENDS)[0][0].record
    assert (record.ended_at - record.started_at).total_seconds() == 20
