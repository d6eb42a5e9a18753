"""Rows of a table that are no transfers, and columns that only together say what a row means."""

import pytest

from tests.unit.importers.logs import ENDS, run
from tradewind.errors import InvalidValue
from tradewind.transfer import Status

FIRST, SECOND = "2025-05-06 07:00:00,2025-05-06 07:00:40,50000000", "2025-05-06 07:10:00,2025-05-06 07:10:25,75000000"
BOTH = [(50_000_000, 40), (75_000_000, 25)]


def moved(lines):
    imported, refused, report = run(lines, ENDS, format="csv")
    assert refused == []
    return [(item.record.outcome.bytes_moved, item.record.duration_s) for item in imported], report


@pytest.mark.parametrize(
    "lines",
    [
        ["start,end,bytes", FIRST, '"start","end","bytes"', SECOND],
        ["start,end,bytes", FIRST, "START, End ,Bytes", SECOND],
        ["start,end,bytes", FIRST, "\ufeffstart,end,bytes", SECOND],
        ["start|end|bytes", "-----+-----+------", *(row.replace(",", "|") for row in (FIRST, SECOND)), "(2 rows)"],
        ["+---+---+---+", "|start|end|bytes|", *(f"|{row}|".replace(",", "|") for row in (FIRST, SECOND)), "+---+---+"],
        ["|start|end|bytes|", "|:---|---|---:|", *(f"|{row}|".replace(",", "|") for row in (FIRST, SECOND))],
        ["start,end,bytes", FIRST, SECOND, "Total,,125000000"],
        ["file,start,end,bytes", f"total.nc,{FIRST}", f"x,{SECOND}", "Grand total:,,,125000000"],
    ],
)
def test_lines_around_the_rows_of_a_table_are_no_rows(lines):
    assert moved(lines)[0] == BOTH


def test_rows_of_totals_and_averages_are_counted_and_make_no_record():
    lines = ["run;size (MB);duration (s);cc", "r1;50;40;4", "r2;75;25;4", "Mittelwert;62,5;32,5;4", "Summe;125;65;4"]
    found, report = moved([line.replace(",", ".") for line in lines])
    assert (found, report.skipped) == (BOTH, {"rows of totals and of averages": 2})


@pytest.mark.parametrize(
    ("header", "sizes"),
    [
        ("size,bytes", ("48M,50000000", "72M,75000000")),
        ("bytes,size", ("50000000,50M", "75000000,75M")),
        ("size,bytes_transferred", ("50,50000000", "75,75000000")),
        ("size (MiB),bytes", ("47.7,50000000", "71.5,75000000")),
    ],
)
def test_a_rounded_size_gives_way_to_the_exact_one_next_to_it(header, sizes):
    starts = (FIRST.rpartition(",")[0], SECOND.rpartition(",")[0])
    lines = [f"start,end,{header}", *(f"{start},{size}" for start, size in zip(starts, sizes, strict=True))]
    assert moved(lines)[0] == BOTH


def test_a_rounded_size_that_no_other_column_has_is_still_left_to_the_user():
    with pytest.raises(InvalidValue, match="--unit"):
        moved(["start,end,size,bytes", *(f"{row[:39]},48M,7" for row in (FIRST, SECOND))])


def test_the_unit_of_a_rate_may_stand_in_a_column_of_its_own():
    lines = ["start,bytes,speed,speed_unit,cc", "2025-05-06 07:00:00,50000000,1.25,MB/s,2"]
    lines += ["2025-05-06 07:10:00,75000000,3,MB/s,4"]
    assert moved(lines)[0] == BOTH


def test_several_units_in_a_column_are_refused():
    lines = ["start,bytes,speed,speed_unit,cc", "2025-05-06 07:00:00,50000000,1.25,MB/s,2"]
    with pytest.raises(InvalidValue, match="write each behind its number"):
        moved([*lines, "2025-05-06 07:10:00,75000000,3000,KB/s,4"])


@pytest.mark.parametrize(
    ("title", "values", "left"),
    [
        ("dry_run", ("false", "true"), 1),
        ("server_side", ("0", "1"), 1),
        ("skipped", ("no", "YES"), 1),
        ("skipped", ("0", "1"), 2),
    ],
)
def test_rows_that_moved_nothing_by_a_column_of_their_own_are_left_out(title, values, left):
    rows = [f"{row},{value}" for row, value in zip((FIRST, SECOND), values, strict=True)]
    assert moved([f"start,end,bytes,{title}", *rows])[0] == BOTH[:left]


def test_a_row_of_a_user_who_is_called_like_a_total_is_a_transfer():
    assert moved(["user,start,end,bytes", f"Max,{FIRST}", f"Media,{SECOND}", "Max,,,75000000"])[0] == BOTH


def test_a_unit_may_be_missing_where_a_transfer_has_no_rate():
    lines = ["start,end,bytes,speed,speed_unit,status", f"{FIRST},1.25,MB/s,ok", f"{SECOND},-,N/A,failed"]
    assert [item.record.outcome.status for item in run(lines, ENDS)[0]] == [Status.SUCCEEDED, Status.FAILED]


def test_bytes_moved_of_a_failed_transfer_are_not_its_size():
    rows = [f"2025-05-06 07:{minute:02}:00,2025-05-06 07:{minute:02}:40,50.0,50000000,ok" for minute in range(20)]
    failed = "2025-05-06 08:10:00,2025-05-06 08:10:25,100.0,25000000,failed"
    imported, refused, _ = run(["start,end,size (MB),bytes_transferred,status", *rows, failed], ENDS)
    last = imported[-1].record
    assert (refused, last.dataset.total_bytes, last.outcome.bytes_moved) == ([], 100_000_000, 25_000_000)


def test_counters_of_the_host_next_to_a_size_are_no_reason_to_refuse():
    assert moved(["start,end,bytes,tx_bytes,rx_bytes", f"{FIRST},5,6", f"{SECOND},7,8"])[0] == BOTH


def test_a_start_counts_rather_than_when_a_row_was_written():
    rows = [f"2025-05-06 06:59:00,{FIRST}", f"2025-05-06 07:09:00,{SECOND}"]
    assert moved(["timestamp,start_time,end_time,bytes", *rows])[0] == BOTH


def test_bytes_each_way_are_refused_until_the_user_says_which_count():
    with pytest.raises(InvalidValue, match="rename the one that counts"):
        moved(["start,end,bytes_sent,bytes_received", f"{FIRST},900", f"{SECOND},900"])


def test_started_and_completed_are_the_times_of_a_row():
    assert moved(["started,completed,bytes", FIRST, SECOND])[0] == BOTH


@pytest.mark.parametrize("word", ["\\N", "#N/A", "(null)", "<nil>", "--", "n.a.", "?"])
def test_words_for_an_unknown_setting_are_no_fault(word):
    assert moved(["start,end,bytes,streams,cc", f"{FIRST},{word},4", f"{SECOND},{word},4"])[0] == BOTH


@pytest.mark.parametrize(
    ("title", "values", "expected"),
    [
        ("status", ("200 OK", "503 Service Unavailable"), [Status.SUCCEEDED, Status.FAILED]),
        ("status_code", ("206", "304"), [Status.SUCCEEDED]),
        ("errors", ("0 errors", "2 errors"), [Status.SUCCEEDED, Status.FAILED]),
        ("error", ("<nil>", "error"), [Status.SUCCEEDED, Status.FAILED]),
    ],
)
def test_replies_and_counts_with_words_say_how_a_row_ended(title, values, expected):
    rows = [f"{row},{value}" for row, value in zip((FIRST, SECOND), values, strict=True)]
    imported, _, _ = run([f"start,end,bytes,{title}", *rows])
    assert [item.record.outcome.status for item in imported] == expected


def test_a_table_whose_first_column_is_a_command_of_s5cmd_is_a_table():
    lines = ["command,start,end,bytes", f"cp s3://b/x /data,{FIRST}", f"cp s3://b/y /data,{SECOND}"]
    assert [item.record.outcome.bytes_moved for item in run(lines, ENDS)[0]] == [50_000_000, 75_000_000]
