"""Columns and rows of CSV files that are read where they have one meaning for sure, and otherwise refused."""

import pytest

from tests.unit.importers.logs import ENDS, run
from tradewind.errors import InvalidValue
from tradewind.transfer import Status

START, END = "2026-03-01T10:00:00Z", "2026-03-01T10:00:20Z"
LATER = "2026-03-01T11:00:00Z,2026-03-01T11:00:40Z"


def read(titles: str, *rows: str):
    imported, refused, report = run([titles, *rows], ENDS)
    return [item.record for item in imported], [row.reason for row in refused], report


def compute_spans_s(records):
    return [(record.ended_at - record.started_at).total_seconds() for record in records]


@pytest.mark.parametrize(
    ("titles", "rows"),
    [
        ("run,duration (s),size (MB),cc", ("1,20,5,4000,2", "2,21,5,4000,4")),
        ("run,duration (s),size (MB),cc", ("1,20,4,100,2", "2,20,4,100,2")),
        ("cc,size (MB),duration (s)", ("1,4000,20,5", "2,4000,20,5")),
        ("start,end,size (MB)", (f"1,{START},{END},4000", f"2,{LATER},4000")),
        ("run,duration (s),size (MB),cc", ('"1",20,5,4000,2', '"2",21,5,4000,4')),
        ("start,end,size (MB)", (f'"1",{START},{END},"4000"', f'"2",{LATER},"4000"')),
    ],
)
def test_longer_rows_that_may_have_a_decimal_comma_are_refused(titles, rows):
    records, refused, _ = read(titles, *rows)
    assert (records, len(refused)) == ([], 2)


@pytest.mark.parametrize("between", [(), ('"start","end","size (MB)"',), ("", "# continued")])
def test_names_of_rows_in_quotes_are_left_out(between):
    rows = (f'"1","{START}","{END}",4000', *between, '"2","2026-03-01T11:00:00Z","2026-03-01T11:00:40Z",8000')
    records, refused, report = read('"start","end","size (MB)"', *rows)
    assert ([record.outcome.bytes_moved for record in records], refused) == ([4_000_000_000, 8_000_000_000], [])
    assert any("rows have a name" in noted for noted in report.assumptions)


def test_header_is_skipped_that_is_repeated_behind_names_of_rows():
    rows = [f'"{row}","2026-03-01T1{row}:00:00Z","2026-03-01T1{row}:00:20Z",4000' for row in range(1, 9)]
    records, refused, _ = read('"start","end","size (MB)"', *rows[:6], '"start","end","size (MB)"', *rows[6:])
    assert (len(records), refused) == (8, [])


@pytest.mark.parametrize(
    "title", ["No. of files", "total files", "total items", "Anzahl Dateien", "Nb fichiers", "files number"]
)
def test_size_that_may_be_of_a_file_or_of_all_is_refused(title):
    with pytest.raises(InvalidValue, match="call it file_size or total_size"):
        read(f"start,end,size (MB),{title}", f"{START},{END},4000,100")
    for size, moved in (("file size (MB)", 400_000_000_000), ("total size (MB)", 4_000_000_000)):
        assert read(f"start,end,{size},{title}", f"{START},{END},4000,100")[0][0].outcome.bytes_moved == moved


@pytest.mark.parametrize(("rate", "moved"), [("20000", 400_000_000_000), ("200", 4_000_000_000)])
def test_rate_shows_of_what_a_size_is(rate, moved):
    titles = "start,duration (s),size (MB),# files,rate (MB/s)"
    assert read(titles, f"{START},20,4000,100,{rate}")[0][0].dataset.total_bytes == moved


def test_size_of_one_file_needs_no_scope():
    assert read("start,end,size (MB),# files", f"{START},{END},4000,1")[0][0].outcome.bytes_moved == 4_000_000_000


@pytest.mark.parametrize("title", ["file # of #", "files/of", "file (of)"])
def test_title_that_says_which_file_counts_none(title):
    records, _, _ = read(f"start,end,size (MB),{title}", f"{START},{END},4000,1", f"{LATER},4000,2")
    assert [record.dataset.file_count for record in records] == [1, 1]


def test_number_that_may_be_none_or_a_count_is_refused():
    with pytest.raises(InvalidValue, match="call it file_count or file_id"):
        read("start,end,size (MB),no files", f"{START},{END},4000,100")


@pytest.mark.parametrize("titles", ["Total Time (s),Transfer Time (s)", "Transfer Time (s),Total Time (s)"])
@pytest.mark.parametrize("rate", ["rate (MB/s)", "rate"])
@pytest.mark.parametrize(("cell", "span_s"), [("133.333", 30), ("200", 20)])
def test_duration_counts_that_agrees_with_the_rate(titles, rate, cell, span_s):
    cells = "30,20" if titles.startswith("Total") else "20,30"
    records, refused, _ = read(f"start,{titles},size (MB),{rate}", f"{START},{cells},4000,{cell}")
    assert (compute_spans_s(records), refused) == ([span_s], [])


def test_total_time_counts_where_no_other_is_filled():
    records, refused, _ = read("start,Total Time (s),Transfer Time (s),size (MB)", f"{START},30,,4000")
    assert (compute_spans_s(records), refused) == ([30], [])


@pytest.mark.parametrize(
    ("rate", "spans_s"), [("133.333", [300]), ("121.2", [pytest.approx(330, abs=0.1)]), ("400", []), ("", [])]
)
def test_rate_decides_between_times_written_to_the_minute(rate, spans_s):
    records, refused, _ = read(
        "start,end,size (GB),rate (MB/s)",
        f"2026-03-01 10:00,2026-03-01 10:05,40,{rate}",
        "2026-03-01 20:00,2026-03-01 23:00,40,3.7",
    )
    assert compute_spans_s(records)[:-1] == spans_s
    assert len(refused) == 1 - len(spans_s)


def test_failure_between_times_written_to_the_minute_is_refused():
    records, refused, _ = read(
        "start,end,size (GB),rate (MB/s),status", "2026-03-01 10:00,2026-03-01 10:05,40,100,failed"
    )
    assert records == []
    assert "is written to the minute" in refused[0]


@pytest.mark.parametrize(
    ("title", "cells"),
    [
        ("exit code", ("0", "")), ("http status", ("200", "-")), ("rc", ("0", "")), ("status code", ("226", "")),
        ("copy_ok", ("yes", "")), ("status", ("200", "")), ("rsync_exit_code", ("0", "")),
    ],
)  # fmt: skip
def test_missing_code_among_successes_is_no_success(title, cells):
    records, refused, _ = read(f"start,end,size (MB),{title}", f"{START},{END},4000,{cells[0]}", f"{LATER},4000,")
    assert [record.outcome.status for record in records] == [Status.SUCCEEDED]
    assert refused == ["is missing, where other rows say that they succeeded"]


@pytest.mark.parametrize(("title", "cell"), [("exit code", "1"), ("checksum_valid", "yes"), ("last_error", "timeout")])
def test_code_may_be_missing_where_no_other_is_a_success(title, cell):
    _, refused, _ = read(f"start,end,size (MB),{title}", f"{START},{END},4000,{cell}", f"{LATER},4000,")
    assert refused == []


@pytest.mark.parametrize("titles", ["files transferred,total files", "total files,files transferred"])
def test_fewer_files_than_all_are_no_success(titles):
    cells = "8,10" if titles.startswith("files") else "10,8"
    records, refused, _ = read(f"start,end,file size (MB),{titles}", f"{START},{END},400,{cells}")
    assert records == []
    assert "no column says how transfers ended" in refused[0]


def test_files_that_were_done_are_counted_next_to_a_state():
    records, refused, _ = read(
        "start,end,file size (MB),files transferred,total files,status", f"{START},{END},400,8,10,OK"
    )
    assert ([record.dataset.file_count for record in records], refused) == ([8], [])


@pytest.mark.parametrize("word", ["Total", "sum:", "Gesamt"])
def test_sum_with_the_span_of_all_is_refused(word):
    rows = f"{START},{END},4000,a", f"{LATER},4000,b", f"{START},2026-03-01T11:00:40Z,8000,{word}"
    records, refused, _ = read("start,end,size (MB),note", *rows)
    assert (len(records), refused) == (2, ["is the sum of the rows before it; leave it out"])


def test_rows_with_the_size_of_those_before_are_no_sums_by_that_alone():
    rows = f"{START},{END},4000,a", f"{LATER},4000,b", f"{START},2026-03-01T11:00:40Z,8000,all"
    assert len(read("start,end,size (MB),note", *rows)[0]) == 3


@pytest.mark.parametrize(("last", "found"), [((), 2), (("4000,40,2,d",), 4)])
@pytest.mark.parametrize("note", ["", "all"])
def test_row_that_lacks_a_cell_is_a_sum_at_the_end_alone(last, found, note):
    rows = "1000,10,2,a", "1000,10,2,b", f"2000,20,2,{note}", *last
    assert len(read("size (MB),duration (s),cc,note", *rows)[0]) == found
