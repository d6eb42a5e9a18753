"""Columns and rows of CSV files with shares, parts, sums and directions rather than what their titles seem to say."""

from zoneinfo import ZoneInfo

import pytest

from tests.unit.importers.logs import ENDS, run
from tradewind.errors import InvalidValue
from tradewind_agent.importers import ImportContext

A, B, C = (f"2026-03-01T10:0{minute}:00Z,20,400000000" for minute in range(3))


def read(title: str, *cells: str):
    """Return how many rows with a further column are read, and the reasons of those that are refused."""
    rows = (f"{row},{cell}" for row, cell in zip((A, B, C), cells, strict=False))
    imported, refused, report = run([f"start,duration_s,bytes,{title}", *rows], ENDS)
    return len(imported), [row.reason for row in refused], report


@pytest.mark.parametrize(
    "header",
    ["start,bytes,throughput (%)", "start,bytes,duration (%)", "start,duration_s,size %", "start,bytes,rate [%]"],
)
def test_share_is_not_the_quantity_that_its_title_names(header):
    row = {"start": A.split(",")[0], "bytes": "400000000", "duration_s": "20"}
    with pytest.raises(InvalidValue, match="missing: "):
        run([header, ",".join(row.get(title, "16") for title in header.split(","))], ENDS)


@pytest.mark.parametrize("title", ["bandwidth (%)", "errors (%)", "% of all", "failed %"])
def test_share_of_something_else_changes_no_row(title):
    (row, _), refused, _ = run([f"start,duration_s,bytes,{title}", f"{A},3", f"{B},4"], ENDS)
    assert (row.record.path.bandwidth_bps, row.record.outcome.throughput_bps, refused) == (None, 160_000_000, [])


@pytest.mark.parametrize(
    ("title", "cells", "read_rows"),
    [
        ("% complete", ("100", "50"), 1),
        ("completion", ("100%", "50%"), 1),
        ("percent", ("40", "60"), 2),
        ("completion", ("5", "6"), 2),
    ],
)
def test_rows_that_are_not_complete_are_left_out(title, cells, read_rows):
    assert read(title, *cells)[:2] == (read_rows, [])


@pytest.mark.parametrize(
    ("title", "cells"), [("percent", ("100", "50")), ("%", ("100%", "50%")), ("pct", ("85", "100"))]
)
def test_row_below_a_share_of_100_that_may_be_of_anything_is_refused(title, cells):
    count, (reason,), _ = read(title, *cells)
    assert (count, "add a column status, or call this one by what it is a share of" in reason) == (1, True)
    assert read(f"{title},status", *(f"{cell},ok" for cell in cells))[:2] == (2, [])


def test_share_of_100_in_few_rows_is_of_a_sum():
    rows = ["start,duration_s,bytes,percent", f"{A},44.4", f"{B},55.6", ",40,800000000,100"]
    imported, (refused,), _ = run(rows, ENDS)
    assert (len(imported), "is the sum of the rows before it" in refused.reason) == (2, True)
    assert read("percent", "85", "100", "92")[:2] == (3, [])


def test_rows_of_further_statistics_are_left_out():
    names = ("p95", "stdev", "std dev", "95th percentile", "variance")
    imported, refused, report = run(
        ["file,duration_s,bytes,cc", "f1,20,400,1", *(f"{name},30,400,1" for name in names)]
    )
    assert (len(imported), refused, report.skipped.total()) == (1, [], len(names))
    names = ("count", "mean", "std", "min", "25%", "50%", "75%", "max")
    imported, refused, report = run([",duration_s,bytes,cc", *(f"{name},30,400,1" for name in names)])
    assert (imported, refused, report.skipped.total()) == ([], [], len(names))


def test_shares_under_a_title_are_no_statistics():
    assert len(run(["loss,duration_s,bytes,cc", "25%,20,400,1", "50%,40,400,1"])[0]) == 2


def test_header_with_other_units_between_rows_is_refused():
    with pytest.raises(InvalidValue, match="has other columns from line 3 on"):
        run(["start,duration_s,size_mb", A, "start,duration_ms,size_kb", B], ENDS)
    wider = ["date,time,size_mb,throughput_mbps", "2026-03-01,10:01:00,400,80"]
    imported, refused, _ = run(["start,duration_s,bytes", A, *wider], ENDS)
    assert (len(imported), len(refused)) == (1, 2)


@pytest.mark.parametrize("title", ["files (thousands)", "files (x1000)", "streams [in hundreds]", "file count ('000s)"])
def test_counts_in_multiples_are_refused(title):
    with pytest.raises(InvalidValue, match="counts in multiples"):
        read(title, "10", "20")


@pytest.mark.parametrize("title", ["p/cc/pp", "cc + p", "concurrency/parallelism", "cc x p", "cc×pp"])
def test_several_settings_in_one_column_are_refused(title):
    with pytest.raises(InvalidValue, match="holds several settings"):
        read(title, "2/4/8", "2/4/8")


@pytest.mark.parametrize("title", ["stream", "stream id", "chunk_no"])
def test_rows_that_are_parts_of_one_transfer_are_refused(title):
    titles = f"transfer_id,{title},start,duration_s,bytes"
    with pytest.raises(InvalidValue, match=r"numbers parts of one transfer_id; .* parallelism or chunk_size"):
        run([titles, f"7,0,{A}", f"7,1,{A}"], ENDS)
    assert len(run([titles, f"7,0,{A}", f"8,1,{B}"], ENDS)[0]) == 2


@pytest.mark.parametrize(
    ("title", "cells"),
    [
        ("direction", ("TX", "RX")),
        ("direction", ("in", "out")),
        ("operation", ("read", "write")),
        ("dir", ("inbound", "outbound")),
        ("reverse", ("0", "1")),
        ("direction", ("A->B", "B->A")),
        ("direction", ("client to server", "server to client")),
    ],
)
def test_both_directions_without_ends_are_refused(title, cells):
    with pytest.raises(InvalidValue, match="has both directions"):
        read(title, *cells)
    assert read(title, cells[0], cells[0])[0] == 2
    with_ends = [f"start,duration_s,bytes,{title},source,destination", f"{A},{cells[0]},a,b", f"{B},{cells[1]},b,a"]
    assert len(run(with_ends)[0]) == 2


@pytest.mark.parametrize(
    ("title", "cells"),
    [
        ("dir", ("/in", "/out")),
        ("output dir", ("in", "out")),
        ("direction", ("A->B", "C->D")),
        ("direction", ("in", "in")),
        ("reverse", ("no", "no")),
    ],
)
def test_one_direction_and_folders_are_read(title, cells):
    assert read(title, *cells)[:2] == (2, [])


@pytest.mark.parametrize("title", ["bytes_remaining", "files missing", "bytes left", "bytes_failed"])
def test_row_that_did_not_move_all_is_refused(title):
    count, (reason,), _ = read(title, "0", "3", "")
    assert (count, reason) == (2, "is 3, and no column says how transfers ended; add a column status")
    assert read(f"{title},status", "0,ok", "3,ok")[0] == 2


def test_files_that_follow_in_rows_of_their_own_are_not_missing():
    for title in ("files_remaining", "files left", "files_pending"):
        assert read(title, "2", "1", "0")[:2] == (3, [])
    assert read("file_count,files_remaining", "10,0", "10,3")[0] == 1


def test_deduplication_is_refused_in_some_rows_and_an_option_in_all():
    count, (reason,), _ = read("dedup", "no", "yes", "no")
    assert (count, "is yes; call it deduplicated" in reason) == (2, True)
    assert read("dedup", "yes", "yes", "yes")[:2] == (3, [])


def test_row_of_less_than_was_expected_is_refused():
    assert read("expected_size", "400000000", "800000000")[0] == 1
    assert read("expected size (MB)", "400", "800")[0] == 1
    assert len(run(["start,duration_s,size_mb,files,expected_bytes", f"{A[:-9]}40,10,400000000"], ENDS)[0]) == 1


@pytest.mark.parametrize("cells", [("+", "-"), ("x", "")])
def test_row_without_a_mark_is_refused_where_marks_are_not_known(cells):
    assert read("ok", *cells)[0] == 0
    assert read("ok", "", "")[:2] == (2, [])


@pytest.mark.parametrize(
    ("title", "good", "bad"),
    [("estado", "correcto", "fallido"), ("statut", "réussi", "échec"), ("verification", "match", "mismatch")],
)
def test_failure_under_a_title_that_is_not_known_is_refused(title, good, bad):
    count, (reason,), report = read(title, good, bad, good)
    assert (count, f"is {bad!r} in the column {title}" in reason) == (2, True)
    assert not any("columns that are not known" in noted for noted in report.assumptions)
    assert read(f"{title},status", f"{good},ok", f"{bad},ok")[0] == 2  # the transfer's own state decides
    assert read(title, "blue", bad)[0] == 2


@pytest.mark.parametrize("title", ["speed", "rate", "transfer rate"])
def test_speed_in_bits_or_in_bytes_is_refused_where_nothing_decides(title):
    lines = [f"start,bytes,{title}", f"{A.split(',')[0]},400000000,20", f"{B.split(',')[0]},400000000,25"]
    with pytest.raises(InvalidValue, match=r"may be in .*MB/s.*nothing else in the file decides"):
        run(lines, ENDS)
    seldom = [lines[0], *(line.replace("T10:01", "T11:01").replace(",2", ",22") for line in lines[1:])]
    with pytest.raises(InvalidValue, match=r"nothing else in the file decides"):
        run(seldom, ENDS)
    lines[1:] = [f"{line},{8 * 400 / float(line.rpartition(',')[2])}" for line in lines[1:]]
    assert len(run([f"{lines[0]},duration_s", *lines[1:]], ENDS)[0]) == 2


def test_large_rate_in_bits_or_in_bytes_is_refused():
    rows = [f"{row.partition(',')[0]},400000000,160000000" for row in (A, B)]
    with pytest.raises(InvalidValue, match=r"may be in .*bit/s or in B/s"):
        run(["start,bytes,rate", *rows], ENDS)
    for title in ("throughput", "bitrate"):
        assert len(run([f"start,bytes,{title}", *rows], ENDS)[0]) == 2


def test_rate_far_below_size_over_duration_is_refused():
    with pytest.raises(InvalidValue, match=r"is 0\.1 of size over duration: one is in another unit"):
        read("throughput_mbps", "16", "16")
    with pytest.raises(InvalidValue, match=r"is 0\.1 of size over duration"):
        run(["duration_s,file_count,avg_file_size_mb,throughput_mbps,cc", "20,10,40,16,1", "40,10,40,8,1"], ENDS)
    assert read("throughput_mbps", "100", "100")[0] == 2


def test_rate_of_what_was_moved_and_rates_of_failed_rows_are_read():
    assert read("bytes_sent,throughput_mbps,status", "40000000,16,ok", "40000000,16,ok")[:2] == (2, [])
    assert read("throughput_mbps,status", "160,ok", "2,failed", "3,failed")[:2] == (3, [])
    assert read("throughput_mbps,status", "2,failed", "3,failed")[:2] == (2, [])


def test_durations_in_minutes_or_in_days_are_refused_where_nothing_decides():
    lines = [f"{row.partition(',')[0]},0.000231481,400000000" for row in (A, B)]
    with pytest.raises(InvalidValue, match="may be in min or in d"):
        run(["start,duration,bytes", *lines], ENDS)


MINUTES = [f"2026-03-01T10:{minute:02d}:00Z" for minute in range(1, 6)]


@pytest.mark.parametrize(
    ("titles", "cells"),
    [
        ("timestamp,bytes_transferred,throughput_mbps", [f"{600_000_000 * i},80" for i in range(1, 6)]),
        ("timestamp,elapsed_s,bytes", [f"{60 * i},{600_000_000 * i}" for i in range(1, 6)]),
        ("timestamp,bytes,throughput_mbps", [f"{600_000_000 * i},80" for i in (3, 4, 1, 2, 3)]),
    ],
)
def test_rows_that_are_samples_of_one_transfer_are_refused(titles, cells):
    rows = [f"{at},{each}" for at, each in zip(MINUTES, cells, strict=True)]
    with pytest.raises(InvalidValue, match="seem to be samples of one transfer"):
        run([titles, *rows], ENDS)
    assert len(run([titles, rows[0], *(row.replace("T10", "T11") for row in rows[1:3])], ENDS)[0]) == 3


def test_sweeps_right_behind_one_another_are_read():
    starts = ["10:00:00", "10:00:10", "10:00:30", "10:01:10", "10:02:30"]
    for titles, last in (("start,size_mb,duration_s,cc", "{}"), ("start,size_mb,throughput_mbps,cc", "80")):
        rows = [f"2026-03-01T{at}Z,{100 * 2**i},{last.format(10 * 2**i)},2" for i, at in enumerate(starts)]
        imported, refused, _ = run([titles, *rows], ENDS)
        assert ([row.record.duration_s for row in imported], refused) == ([10 * 2**i for i in range(5)], [])
    same = [f"{at},600,60,2" for at in MINUTES]
    assert len(run(["start,size_mb,duration_s,cc", *same], ENDS)[0]) == 5


def test_hour_that_the_clock_showed_twice_is_named():
    berlin = ImportContext(source="a", destination="b", timezone=ZoneInfo("Europe/Berlin"))
    _, _, report = run(["start,duration_s,bytes", "2026-10-25 02:30:00,20,400"], berlin)
    assert any("showed twice" in noted for noted in report.assumptions)
    _, _, report = run(["start,duration_s,bytes", "2026-10-25 04:30:00,20,400"], berlin)
    assert not any("showed twice" in noted for noted in report.assumptions)
