"""Numbers, durations and times of the world in a CSV log, and the lines before and between its rows."""

import re
from datetime import UTC, datetime

import pytest

from tests.unit.importers.logs import ENDS, run
from tradewind.errors import InvalidValue
from tradewind_agent.history.importers.ports import DecimalMark
from tradewind_agent.importers import ImportContext

COMMAS = ImportContext(source="alpha", destination="beta", decimal=DecimalMark.COMMA)
POINTS = ImportContext(source="alpha", destination="beta", decimal=DecimalMark.POINT)


def records(lines, context=ENDS):
    imported, refused, _ = run(lines, context)
    assert refused == []
    return [item.record for item in imported]


HEADER = "started;seconds;size (MB);files;cc"


def sizes(*cells, context=ENDS, delimiter=";"):
    header = HEADER.replace("started", "start_time").replace(";", delimiter)
    rows = [delimiter.join(["2025-06-07 08:00:00", "30", cell, "1", "3"]) for cell in cells]
    return [record.dataset.total_bytes for record in records([header, *rows], context)]


@pytest.mark.parametrize(
    ("cells", "total_bytes"),
    [
        (["7,25", "1.250,5"], [7_250_000, 1_250_500_000]),
        (["7,25", "1.250"], [7_250_000, 1_250_000_000]),
        (["1.250.000", "8"], [1_250_000_000_000, 8_000_000]),
        (["7.25", "1,250"], [7_250_000, 1_250_000_000]),
        (["1,250.5", "3"], [1_250_500_000, 3_000_000]),
        (["12'500.5", "3"], [12_500_500_000, 3_000_000]),
        (["12 500,5", "3"], [12_500_500_000, 3_000_000]),
        (["12\u202f500", "3"], [12_500_000_000, 3_000_000]),
        (["2,5E+02", "1"], [250_000_000, 1_000_000]),
    ],
)
def test_decimal_commas_and_marks_of_thousands_are_read_as_the_file_writes_them(cells, total_bytes):
    assert sizes(*cells) == total_bytes


@pytest.mark.parametrize("cell", ["1,250", "1.250"])
def test_a_number_that_may_be_read_in_two_ways_is_refused_with_the_option_that_settles_it(cell):
    with pytest.raises(InvalidValue, match=r"may be 1250 or 1\.250; --decimal says which"):
        sizes(cell)
    thousands, fraction = (COMMAS, POINTS) if "." in cell else (POINTS, COMMAS)
    assert sizes(cell, context=thousands) == [1_250_000_000]
    assert sizes(cell, context=fraction) == [1_250_000]


def test_two_decimal_marks_in_one_file_are_refused():
    with pytest.raises(InvalidValue, match=r"--decimal: is needed: .*\(7,25\) and a point \(8\.5\)"):
        sizes("7,25", "8.5")


def test_a_quoted_count_of_bytes_with_commas_is_an_integer():
    rows = [
        "start_time,size (B),duration_s,cc",
        '2025-06-07 08:00:00,"7,500",3,1',
        '2025-06-07 08:01:00,"12,345,678",3,1',
    ]
    assert [record.dataset.total_bytes for record in records(rows)] == [7500, 12_345_678]


@pytest.mark.parametrize(
    ("cell", "duration_s"),
    [
        ("00:01:15", 75), ("2:00:05.5", 7205.5), ("1 day, 0:00:10", 86410), ("0 days 00:00:42.250000", 42.25),
        ("1.00:00:01", 86401), ("2m30s", 150), ("1h 2min", 3720), ("45 seconds", 45), ("PT1M5.5S", 65.5), ("90s", 90),
        ("P1W", 604_800),
        ("P1DT2H", 93_600), ("1 week 2 days", 777_600),
        ("250 ms", 0.25), ("01:30.5", 90.5),
    ],
)  # fmt: skip
def test_durations_are_read_as_clock_times_and_as_words(cell, duration_s):
    rows = ["start_time;duration;size (B);cc", f"2025-06-07 08:00:00;{cell};7000000;2"]
    assert records(rows)[0].duration_s == pytest.approx(duration_s)


def test_a_duration_of_two_parts_needs_a_unit_and_a_wrong_one_is_refused_by_its_column():
    row = "2025-06-07 08:00:00;20:05;7000000;2"
    _, refused, _ = run(["start_time;duration;size (B);cc", row, row.replace("20:05", "0:20:75")])
    assert [item.field for item in refused] == ["duration", "duration"]
    assert re.search(r"minutes and seconds or hours and minutes.*duration_min", refused[0].reason)
    assert records(["start_time;duration_min;size (B);cc", row])[0].duration_s == 1205


@pytest.mark.parametrize(
    ("start", "end"),
    [
        ("1749283200", "1749283230"),
        ("1749283200.0", "1749283230.0"),
        ("1749283200000.5", "1749283230000.5"),
        ("1749283200000000", "1749283230000000"),
        ("1749283200000000000", "1749283230000000000"),
        ("1.7492832E+12", "1.7492832300E+12"),
        ("07.06.2025 08:00:00", "07.06.2025 08:00:30"),
        ("7 Jun 2025 08:00:00", "7 Jun 2025 08:00:30"),
        ("Sat Jun  7 08:00:00 2025", "Sat Jun  7 08:00:30 2025"),
        ("Sat, 07 Jun 2025 08:00:00 GMT", "Sat, 07 Jun 2025 08:00:30 GMT"),
        ("07/Jun/2025:10:00:00 +0200", "07/Jun/2025:10:00:30 +0200"),
        ("20250607T080000Z", "20250607T080030Z"),
        ("20250607080000", "20250607080030"),
        ("2025-06-07 10:00:00 CEST", "2025-06-07 10:00:30 CEST"),
        ("2025-06-07 04:00:00 EDT", "2025-06-07 04:00:30 EDT"),
        ("2025-06-07 10:00:00 Europe/Berlin", "2025-06-07 10:00:30 Europe/Berlin"),
        ("2025-06-07 10:00:00 UTC+2", "2025-06-07 10:00:30 UTC+02:00"),
        ("2025-06-07_08:00:00", "2025-06-07_08:00:30"),
        ("2025/06/07-08:00:00", "2025/06/07-08:00:30"),
        ("2025-06-07 10:00:00 (CEST)", "2025-06-07 10:00:30 (CEST)"),
        ("[07/Jun/2025:08:00:00 +0000]", "[07/Jun/2025:08:00:30 +0000]"),
        ("2025-06-07 08:00:00 AM", "2025-06-07 08:00:30 AM"),
        ("2025-06-07 8:00 AM", "2025-06-07 08:00:30"),
        ("2025-06-07T08:00Z", "2025-06-07T08:00:30Z"),
        ("2025-06-07T10:00+02:00", "2025-06-07T08:00:30Z"),
    ],
)
def test_times_are_read_in_many_notations(start, end):
    (record,) = records(["start_time;end_time;size (B);cc", f"{start};{end};7000000;2"])
    assert record.started_at.replace(microsecond=0) == datetime(2025, 6, 7, 8, tzinfo=UTC)
    assert record.duration_s == pytest.approx(30)


def test_a_zone_that_means_several_is_refused_with_the_option():
    row = "2025-06-07 08:00:00 IST;30;7000000;2"
    _, refused, _ = run(["start_time;duration_s;size (B);cc", row])
    assert "IST is unknown, or one of several; give it with --timezone" in refused[0].reason


def test_a_completion_time_may_be_an_instant():
    (record,) = records(["request_time,completion_time,size (B)", "2025-06-07T08:00:00Z,2025-06-07T08:01:00Z,9000000"])
    assert record.duration_s == 60


TABLE = ["start_time,end_time,size (B),cc", "2025-06-07 08:00:00,2025-06-07 08:00:30,7000000,2"]


@pytest.mark.parametrize(
    "before",
    [
        ["sep=,"],
        ["Night copies of June", ""],
        ["# made by copylog", "# host: dtn7, zone: UTC"],
        ["# start_time,end_time,size,cc are described in the manual", "# start_time,duration,size (B),cc"],
        ["Report,June", "Owner,ann", "", "% more"],
    ],
)
def test_lines_before_the_header_do_not_matter(before):
    imported, refused, report = run([*before, *TABLE, "# end"])
    assert (refused, report.format) == ([], "csv")
    assert [item.row for item in imported] == [len(before) + 2]


def test_a_header_may_be_a_comment_and_have_a_line_of_units():
    assert len(records(["# " + TABLE[0], TABLE[1]])) == 1
    (record,) = records(["start_time,duration,size,cc", ",s,MB,", "2025-06-07 08:00:00,30,7,2"])
    assert (record.dataset.total_bytes, record.duration_s) == (7_000_000, 30)


def test_a_line_of_units_may_have_brackets_and_dashes():
    (record,) = records(["start_time,duration,size,cc", "-,[s],[MB],-", "2025-06-07 08:00:00,30,7,2"])
    assert (record.dataset.total_bytes, record.duration_s) == (7_000_000, 30)


def test_excels_line_says_the_delimiter():
    (record,) = records(["sep=|", *(line.replace(",", "|") for line in TABLE)])
    assert record.dataset.total_bytes == 7_000_000


def test_a_quoted_line_break_is_part_of_its_row_and_a_stray_quote_of_none():
    lines = [
        "note,start_time,end_time,size (B),cc",
        '"a',
        "",
        'b","2025-06-07 08:00:00",2025-06-07 08:00:30,7000000,2',
        "x,2025-06-07 09:00:00,2025-06-07 09:00:30,8000000,2",
        '"stray,2025-06-07 10:00:00,2025-06-07 10:00:30,9000000,2',
        "y,2025-06-07 11:00:00,2025-06-07 11:00:30,6000000,2",
        '"z,2025-06-07 12:00:00,2025-06-07 12:00:30,5000000,2',
    ]
    imported, refused, _ = run(lines)
    assert [(item.row, item.record.dataset.total_bytes) for item in imported] == [(2, 7e6), (5, 8e6), (7, 6e6)]
    assert [item.row for item in refused] == [6, 8]


def test_units_in_the_cells_are_read_row_by_row():
    lines = [
        "start_time;size;rate;rtt;cc",
        "2025-06-07 08:00:00;30 MB;8 Mbit/s;40 ms;2",
        "2025-06-07 08:01:00;0,5GiB;1,5 MB/s;0,04s;2",
        "2025-06-07 08:02:00;70;8 Mbit/s;40 ms;2",
        "2025-06-07 08:03:00;30 Mb;8 Mbit/s;40 ms;2",
    ]
    imported, refused, _ = run(lines)
    first, second = (item.record for item in imported)
    assert (first.dataset.total_bytes, first.outcome.throughput_bps, first.path.rtt_s) == (30_000_000, 8e6, 0.04)
    assert (second.dataset.total_bytes, second.outcome.throughput_bps) == (2**29, 12e6)
    assert [(item.row, item.field, item.reason) for item in refused] == [
        (4, "size", "has no unit, as other rows have: '70'"),
        (5, "size", "is 30 Mb, which may be bits or bytes; give --unit 'size=MB' if bytes are meant"),
    ]


def read_cells(title, cells, units=None):
    lines = [f"start,duration_s,{title},cc", *(f"2026-03-01T10:0{n}:00Z,10,{each},2" for n, each in enumerate(cells))]
    return run(lines, ImportContext(source="a", destination="b", units=units or {}))


@pytest.mark.parametrize(
    ("title", "cells", "option"),
    [
        ("size", ["38M", "1.2G"], "--unit 'size=MB' or --unit 'size=MiB'"),
        ("size", ["38 K"], "--unit 'size=kB' or --unit 'size=KiB'"),
        ("size", ["38Mb", "40Mb"], "--unit 'size=MB' if bytes are meant"),
        ("Bytes Sent", ["38m"], "--unit 'Bytes Sent=MB'"),
        ("size (M)", ["38"], "--unit 'size \\(M\\)=MB' or --unit 'size \\(M\\)=MiB'"),
        ("FileSizeMb", ["38"], "--unit 'FileSizeMb=MB' if bytes are meant"),
        ("file_size_Mb", ["38"], "--unit 'file_size_Mb=MB' if bytes are meant"),
    ],
)
def test_sizes_in_units_of_several_meanings_are_refused_with_the_option(title, cells, option):
    with pytest.raises(InvalidValue, match=option):
        read_cells(title, cells)


@pytest.mark.parametrize("rate", ["12M", "12M/s", "12 mb/s"])
def test_rates_in_units_of_several_meanings_are_refused_with_the_option(rate):
    lines = ["start,rate,size (B),cc", f"2026-03-01T10:00:00Z,{rate},40000000,2"]
    with pytest.raises(InvalidValue, match="--unit 'rate=Mbit/s' or another"):
        run(lines)
    (item,), _, _ = run(lines, ImportContext(source="a", destination="b", units={"rate": "MB/s"}))
    assert item.record.outcome.throughput_bps == 96e6


def test_titles_of_rates_in_lower_case_are_refused_unless_the_rows_show_their_unit():
    header, row = "start,rate (mb/s),size (B),cc", "2026-03-01T10:00:00Z,12,40000000,2"
    with pytest.raises(InvalidValue, match="may be in bits or in bytes"):
        run([header, row])


@pytest.mark.parametrize(
    ("unit", "expected"), [("MB", [38_000_000, 1_200_000_000]), ("MiB", [38 * 2**20, round(1.2 * 2**30)])]
)
def test_option_says_what_prefixes_count(unit, expected):
    imported, refused, _ = read_cells("size", ["38M", "1.2G"], {"size": unit})
    assert [item.record.dataset.total_bytes for item in imported] == expected
    assert refused == []


def test_cells_that_say_their_unit_are_read():
    imported, refused, _ = read_cells("size", ["38MiB", "1.2 GiB", "40 MB", "12kB"])
    assert [item.record.dataset.total_bytes for item in imported] == [
        38 * 2**20,
        round(1.2 * 2**30),
        40_000_000,
        12_000,
    ]
    assert refused == []
