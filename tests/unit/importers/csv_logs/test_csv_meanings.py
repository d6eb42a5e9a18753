"""Names of columns, units that contradict each other, ends and commands of a CSV log."""

import pytest

from tests.unit.importers.logs import ENDS, run
from tradewind.errors import InvalidValue
from tradewind.transfer import Direction, Status
from tradewind_agent.importers import ImportContext


@pytest.mark.parametrize(
    ("header", "row"),
    [
        ("number of bytes,files,cc,duration_s", "600000000,3,2,40"),
        ("Bytes Copied,files,cc,duration_s", "600000000,3,2,40"),
        ("avg_bytes_per_sec,size (B),files,cc", "15000000,200000000,3,2"),
        ("Average Speed (MB/sec),size (B),files,cc", "15,200000000,3,2"),
        ("mbps,size (B),files,cc", "120,200000000,3,2"),
        ("bits_per_second,size (B),files,cc", "120000000,200000000,3,2"),
        ("goodput [Mbits/s],size (B),files,cc", "120,200000000,3,2"),
        ("transferSeconds,size (B),files,cc", "40,200000000,3,2"),
        ("elapsed (hh:mm:ss),size (B),files,cc", "0:00:40,200000000,3,2"),
        ("Elapsed (hours),size (B),files,cc", "0.0111111111111,200000000,3,2"),
        ("elapsed milliseconds,size (megabytes),files,cc", "40000,200,3,2"),
        ("wall_time_min,dataset size (GB),files,cc", "0.66666666667,0.6,3,2"),
    ],
)
def test_columns_are_known_by_many_names_and_units(header, row):
    imported, refused, report = run([header, row, row])
    assert (refused, report.format) == ([], "csv")
    for item in imported:
        assert item.record.dataset.total_bytes == pytest.approx(600_000_000)
        assert item.record.duration_s == pytest.approx(40)


@pytest.mark.parametrize(
    ("header", "row", "option"),
    [
        ("size (MB),duration (s),throughput (Mbps),cc", "900,30,30,2", "throughput (Mbps)=MB/s"),
        ("size (GB),duration (s),throughput (Mbps),cc", "900,30,240,2", "size (GB)=MB"),
        ("size (MB),duration (ms),throughput (Mbps),cc", "900,30,240,2", "duration (ms)=s"),
        ("size (KiB),duration (s),throughput (Mbps),cc", "858.306884765625,30,240,2", "size (KiB)=MiB"),
        ("size (MB),duration (s),throughput (MB/s),cc", "900,30,240,2", "throughput (MB/s)=Mbit/s"),
        ("size (MiB),duration (s),throughput (Mbps),cc", "900,30,240,2", "size (MiB)=MB"),
    ],
)
def test_units_that_differ_by_a_factor_are_refused_with_the_option_that_settles_it(header, row, option):
    with pytest.raises(InvalidValue, match="by a factor of") as refused:
        run([header, row, row])
    assert f"--unit '{option}'" in refused.value.reason
    name, _, unit = option.rpartition("=")
    settled = ImportContext(source="a", destination="b", units={name: unit})
    record = run([header, row, row], settled)[0][0].record
    assert (record.dataset.total_bytes, record.duration_s) == (900_000_000, 30)
    assert record.outcome.throughput_bps == pytest.approx(240e6)


def test_spans_that_merely_differ_are_no_contradiction_of_units():
    row = "900,30,200,2"
    assert len(run(["size (MB),duration (s),throughput (Mbps),cc", row, row])[0]) == 2


def test_sizes_in_no_unit_that_only_habit_decides_are_refused():
    with pytest.raises(InvalidValue, match=r"^size: may be in MB or in GB.*--unit 'size="):
        run(["size,duration_s,cc", "40,20,2", "50,25,2"])
    given = ImportContext(source="a", destination="b", units={"size": "MB"})
    assert run(["size,duration_s,cc", "40,20,2"], given)[0][0].record.dataset.total_bytes == 40_000_000


@pytest.mark.parametrize("units", [{"size": "furlong"}, {"weight": "MB"}, {"files": "MB"}])
def test_a_unit_that_no_column_has_is_wrong_usage(units):
    with pytest.raises(InvalidValue, match=r"^--unit: "):
        run(["size (B),duration_s,files,cc", "40000,20,1,2"], ImportContext(source="a", destination="b", units=units))


MANIFEST = "Source,Destination,Start,End,UploadId,Source Size,Bytes Transferred,Result,Description"
TIMES = "2025-06-07T08:00:00.000Z,2025-06-07T08:00:30.000Z"


def test_without_settings_the_overlap_of_rows_is_the_concurrency():
    lines = [
        MANIFEST,
        *(f"file:///srv/{n}.bin,gs://store/{n}.bin,{TIMES},,9000000,9000000,OK," for n in range(3)),
        f"file:///srv/9.bin,gs://store/9.bin,{TIMES},,9000000,3000000,error,reset",
        f"file:///srv/8.bin,gs://store/8.bin,{TIMES},,9000000,0,skip,exists",
        f"file:///srv/7.bin,gs://store/7.bin,{TIMES},,9000000,0,OK,",
    ]
    imported, refused, report = run(lines, ImportContext(source="lab"))
    assert (refused, report.format) == ([], "csv")
    assert [item.record.parameters.concurrency for item in imported] == [4, 4, 4, 4]
    assert {(item.record.source, item.record.destination) for item in imported} == {("lab", "gs://store")}
    assert {item.record.mover.name for item in imported} == {"gsutil"}
    failed = imported[3].record
    assert (failed.outcome.status, failed.outcome.bytes_moved, failed.direction) == (
        Status.FAILED,
        3_000_000,
        Direction.UPLOAD,
    )


@pytest.mark.parametrize(
    ("cell", "name"),
    [
        ("gsiftp://dtn3.example.org:2811/a", "dtn3.example.org"),
        ("s3://raw/x/y", "s3://raw"),
        ("ann@dtn4.example.org:/data/x", "dtn4.example.org"),
        ("::ffff:192.0.2.44", "192.0.2.44"),
        ("dtn5", "dtn5"),
    ],
)
def test_ends_are_hosts_however_they_are_written(cell, name):
    record = run(["from,size (B),duration_s,cc", f"{cell},9000000,30,2"], ImportContext(destination="d"))[0][0].record
    assert record.source == name


@pytest.mark.parametrize("cell", ["/srv/a", r"C:\data\a", "./a", "file:///a", ""])
def test_a_local_path_is_the_end_that_the_user_names(cell):
    rows = ["from,size (B),duration_s,cc", f"{cell},9000000,30,2"]
    assert run(rows, ENDS)[0][0].record.source == "alpha"
    _, refused, _ = run(rows, ImportContext(destination="d"))
    assert "name the end with --source" in refused[0].reason


def test_rows_of_other_commands_are_no_transfers():
    lines = [
        "appname,start_time,end_time,num_bytes,num_streams,block_size,buffer_size,ftp_return_code,trans_type",
        "fts_url_copy,1749283200.5,1749283230.5,6000000000,8,1048576,0,226,STOR",
        "fts_url_copy,1749283200.5,1749283230.5,6000000,8,1048576,0,451,RETR",
        "fts_url_copy,1749283200.5,1749283200.6,77,1,1048576,0,226,NLST",
        "fts_url_copy,1749283200.5,1749283200.6,0,1,1048576,0,226,RETR",
    ]
    imported, refused, report = run(lines)
    stored, failed = (item.record for item in imported)
    assert refused == []
    assert (stored.direction, stored.mover.name, stored.path.buffer_bytes) == (Direction.UPLOAD, "fts_url_copy", None)
    assert stored.parameters.list_known() == {"parallelism": 8, "io_block_bytes": 1_048_576}
    assert (failed.direction, failed.outcome.status) == (Direction.DOWNLOAD, Status.FAILED)
    assert failed.outcome.bytes_moved == 6_000_000
    assert any("listings and other commands" in each for each in report.assumptions)
    assert any("empty files" in each for each in report.assumptions)


def test_empty_files_are_left_out_whatever_their_size_is_called():
    imported, refused, report = run(["file size (B),duration_s,cc", "9000,3,1", "0,1,1"])
    assert (len(imported), refused) == (1, [])
    assert any("empty files" in each for each in report.assumptions)


def test_a_unit_of_moved_bytes_is_that_of_the_size_too():
    row = "6,30,2,done"
    given = ImportContext(source="a", destination="b", units={"num_bytes": "MB"})
    imported, _, _ = run(["num_bytes,duration_s,cc,status", row, row.replace("done", "failed")], given)
    assert [item.record.outcome.bytes_moved for item in imported] == [6_000_000, 6_000_000]


SPANS = "start,end,{title},size (B),cc"


@pytest.mark.parametrize(("title", "written"), [("duration", 30_000), ("elapsed", 30), ("duration_ms", 30_000)])
def test_starts_and_ends_decide_the_unit_of_durations(title, written):
    row = f"2025-06-07 08:00:00,2025-06-07 08:00:30,{written},7000000,2"
    imported, refused, _ = run([SPANS.format(title=title), row, row])
    assert ([item.record.duration_s for item in imported], refused) == ([30, 30], [])


def test_durations_that_contradict_starts_and_ends_are_refused_with_the_option():
    row = "2025-06-07 08:00:00,2025-06-07 08:00:30,30000,7000000,2"
    header = SPANS.format(title="duration (s)")
    with pytest.raises(InvalidValue, match=r"agrees with start and end in ms; give --unit 'duration \(s\)=ms'"):
        run([header, row, row])
    given = ImportContext(source="a", destination="b", units={"duration": "ms"})
    assert run([header, row], given)[0][0].record.duration_s == 30


def test_two_columns_of_one_title_with_different_values_are_refused():
    rows = ["start,end,bytes,Bytes,cc", "2026-03-01T10:00:00Z,2026-03-01T10:00:20Z,40000000,{},1"]
    with pytest.raises(InvalidValue, match="two columns with different values"):
        run([rows[0], rows[1].format(80_000_000)], context=ENDS)
    (row,), _, _ = run([rows[0], rows[1].format(40_000_000)], context=ENDS)
    assert row.record.outcome.bytes_moved == 40_000_000


@pytest.mark.parametrize("title", ["bytes", "Total Bytes", "num_bytes"])
def test_bytes_are_bytes_however_slow_that_makes_the_rows(title):
    rows = [f"start,duration,{title},cc", "2026-03-01T10:00:00Z,26:00:00,40000000,1"]
    assert run(rows, context=ENDS)[0][0].record.outcome.bytes_moved == 40_000_000


@pytest.mark.parametrize("unit", ["Mb", "Gb", "Kb"])
def test_sizes_that_may_be_in_bits_are_refused_unless_the_rates_agree(unit):
    header, row = f"start,duration_s,size ({unit}),cc", "2026-03-01T10:00:00Z,20,400,2"
    with pytest.raises(InvalidValue, match="may be in bits or in bytes; give --unit"):
        run([header, row])
    given = ImportContext(source="a", destination="b", units={f"size ({unit})": "MB"})
    assert run([header, row], given)[0][0].record.dataset.total_bytes == 400_000_000
    rates = [f"{header},throughput (Mbps)", f"{row},160"]
    if unit == "Mb":
        assert run(rates)[0][0].record.dataset.total_bytes == 400_000_000
    with pytest.raises(InvalidValue, match="by a factor of"):
        run([f"{header},throughput (Mbps)", f"{row},{20 if unit == 'Mb' else 160}"])


HEADER, ROW = "size (MB),duration (s),files,cc", "900,30,3,2"


def test_header_that_is_repeated_is_no_row():
    again = "size (MB) , duration (s),files,cc"
    imported, refused, _ = run([HEADER, ROW, again, ROW])
    assert (len(imported), refused) == (2, [])


@pytest.mark.parametrize(
    "other",
    [
        "duration (s),size (MB),files,cc",
        "size (KB),duration (s),files,cc",
        "size (MB),duration (s),cc,files",
        "size (MB),duration (s),files,cc,loss",
    ],
)
def test_file_with_a_further_header_of_other_columns_is_refused_by_its_line(other):
    with pytest.raises(InvalidValue, match=r"other columns from line 4 on; split it there") as refused:
        run([HEADER, ROW, ROW, other, ROW])
    assert refused.value.field == "csv"


def test_name_that_is_also_a_title_is_a_value():
    header = "source,size (MB),duration (s),files,cc"
    imported, refused, _ = run([header, "source,900,30,3,2", "cc,900,30,3,2"])
    assert (len(imported), refused) == (2, [])
