from datetime import UTC, datetime

import pytest

from tests.unit.importers.logs import (
    ENDS,
    ENERGY_HEADER,
    GRID_HEADER,
    clock,
    energy_row,
    grid_row,
    run,
    unit_of,
)
from tradewind.errors import InvalidValue
from tradewind.transfer import Direction
from tradewind_agent.importers import ImportContext

NO_CONTEXT = ImportContext()


def test_a_grid_row_becomes_a_record_with_all_that_it_says():
    imported, refused, _ = run([GRID_HEADER, *[grid_row()] * 3], NO_CONTEXT)
    record = imported[0].record
    assert refused == []
    assert (record.source, record.destination, record.direction) == ("North", "South", Direction.THIRD_PARTY)
    assert (record.dataset.file_count, record.dataset.total_bytes) == (50, 200_000_000)
    assert record.parameters.list_known() == {"concurrency": 4, "parallelism": 2, "pipelining": 8}
    assert record.outcome.throughput_bps == pytest.approx(800e6)
    assert record.path.bandwidth_bps == 1e10
    assert record.path.rtt_s == 0.05
    assert record.path.buffer_bytes == 16_777_216
    assert record.started_at == datetime(2016, 3, 14, 10, 0, 0, 500_000, tzinfo=UTC)
    assert record.duration_s == pytest.approx(2.0, abs=1e-6)


@pytest.mark.parametrize(
    ("bandwidth", "unit"), [("10000000000", "bit/s"), ("10000000", "kbit/s"), ("10000", "Mbit/s"), ("10", "Gbit/s")]
)
def test_the_unit_of_the_bandwidth_is_found(bandwidth, unit):
    imported, _, report = run([GRID_HEADER, *[grid_row(bandwidth=bandwidth)] * 5], NO_CONTEXT)
    assert unit_of(report, "Bandwidth") == unit
    assert imported[0].record.path.bandwidth_bps == pytest.approx(1e10)


@pytest.mark.parametrize(
    ("throughput", "bits", "unit"),
    [
        (800.0, 1e6, "Mbit/s"),
        (800.0, 2**20, "Mibit/s"),
        (0.8, 1e9, "Gbit/s"),
        (8e8, 1.0, "bit/s"),
        (100.0, 8e6, "MB/s"),
    ],
)
def test_the_unit_of_the_throughput_is_the_one_that_with_the_duration_gives_the_size(throughput, bits, unit):
    imported, refused, report = run(
        [GRID_HEADER, *[grid_row(throughput=throughput, bits_per_unit=bits)] * 5], NO_CONTEXT
    )
    assert refused == []
    assert unit_of(report, "Throughput") == unit
    assert imported[0].record.outcome.throughput_bps == pytest.approx(throughput * bits)


@pytest.mark.parametrize(("rtt", "unit"), [("0.05", "s"), ("50", "ms")])
def test_the_unit_of_the_round_trip_is_found(rtt, unit):
    imported, _, report = run([GRID_HEADER, grid_row(rtt=rtt)], NO_CONTEXT)
    assert unit_of(report, "RTT") == unit
    assert imported[0].record.path.rtt_s == pytest.approx(0.05)


@pytest.mark.parametrize(
    ("buffer", "unit", "size"), [("16777216", "B", 16_777_216), ("16777", "kB", 16_777_000), ("40", "MB", 4e7)]
)
def test_the_unit_of_the_buffer_is_the_one_nearest_to_the_bandwidth_delay_product(buffer, unit, size):
    imported, _, report = run([GRID_HEADER, grid_row(buffer=buffer)], NO_CONTEXT)
    assert unit_of(report, "BufferSize") == unit
    assert imported[0].record.path.buffer_bytes == pytest.approx(size)


def test_units_that_the_header_declares_are_believed():
    header = "File Size (MB),Files,Streams,Channels,Rate MB/s,Duration (ms),RTT_ms,Link Capacity (Gbps)"
    imported, _, report = run([header, "4,10,2,3,20,2000,15,1"])
    record = imported[0].record
    assert record.dataset.total_bytes == 40_000_000
    assert record.outcome.throughput_bps == 160e6
    assert record.duration_s == 2
    assert record.path.rtt_s == 0.015
    assert record.path.bandwidth_bps == 1e9
    assert all(found.evidence == "declared by the header" for found in report.units)


def test_a_size_column_that_is_of_the_entire_data_set_is_recognised():
    row = grid_row(size=200_000_000, count=50, throughput=800.0, duration="2.0")
    imported, _, report = run([GRID_HEADER, *[row] * 5], NO_CONTEXT)
    assert unit_of(report, "FileSize") == "B of the whole data set"
    assert imported[0].record.dataset.total_bytes == 200_000_000


def test_rows_above_the_rate_of_the_link_are_refused_and_do_not_disturb_the_units():
    rows = [grid_row() for _ in range(50)]
    rows[7] = grid_row(throughput=1_200_000.0)
    imported, refused, report = run([GRID_HEADER, *rows], NO_CONTEXT)
    assert len(imported) == 49
    assert [(item.row, item.field) for item in refused] == [(9, "outcome.throughput_bps")]
    assert refused[0].reason == "is above the link's rate: 1.2 Tbit/s on a link of 10 Gbit/s"
    assert report.refused == {("outcome.throughput_bps", "is above the link's rate"): 1}


def test_a_row_whose_duration_contradicts_its_size_is_refused():
    rows = [grid_row() for _ in range(20)]
    rows[3] = grid_row(duration="3.0")
    _, refused, _ = run([GRID_HEADER, *rows], NO_CONTEXT)
    assert [(item.row, item.field) for item in refused] == [(5, "outcome.throughput_bps")]
    assert "contradicts duration and size" in refused[0].reason


@pytest.mark.parametrize("end", ["\r", "\n", "\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_any_line_end_and_a_byte_order_mark_are_read_the_same_way(end, mark):
    content = mark + end.join([GRID_HEADER, grid_row(), grid_row(cc="2")]).encode()
    imported, refused, _ = run(content, NO_CONTEXT)
    assert refused == []
    assert [item.record.parameters.concurrency for item in imported] == [4, 2]
    assert [item.record.id for item in imported] == [
        item.record.id for item in run([GRID_HEADER, grid_row(), grid_row(cc="2")], NO_CONTEXT)[0]
    ]


def test_na_means_unknown():
    imported, _, _ = run([GRID_HEADER, grid_row(cc="na", pp="NA", p="4")], NO_CONTEXT)
    assert imported[0].record.parameters.list_known() == {"parallelism": 4}


@pytest.mark.parametrize(
    ("row", "field"),
    [
        (grid_row(cc="-2"), "parameters.concurrency"),
        (grid_row(p="1.5"), "parameters.parallelism"),
        (grid_row(p="0"), "parameters.parallelism"),
        (grid_row(pp="99999999999999999999"), "parameters.pipelining"),
        (grid_row().replace("800.0", "nan"), "outcome.throughput_bps"),
        (grid_row().replace("800.0", "-800.0"), "outcome.throughput_bps"),
        (grid_row().replace("800.0", "inf"), "outcome.throughput_bps"),
        (grid_row().replace("800.0", "fast"), "outcome.throughput_bps"),
        (grid_row().replace("800.0", ""), "outcome.throughput_bps"),
        (grid_row(date="2016-02-30"), "started_at"),
        (grid_row(date="yesterday"), "started_at"),
        (grid_row(date="0004-03-14"), "started_at"),
        (grid_row(ends=",South"), "source"),
        (grid_row(ends="A\x07B,South"), "source"),
        (grid_row(rtt="-1"), "path.rtt_s"),
        (grid_row()[:40], "row"),
        (grid_row() + ",more", "row"),
        ('"' + grid_row(), "row"),
    ],
)
def test_a_bad_row_is_refused_with_its_field_and_the_rest_imported(row, field):
    imported, refused, report = run([GRID_HEADER, grid_row(), row, grid_row()], NO_CONTEXT)
    assert len(imported) == 2
    assert [(item.row, item.field) for item in refused] == [(3, field)]
    assert (report.rows_read, report.imported, report.refused_count) == (3, 2, 1)


def test_a_count_of_no_files_is_refused():
    _, refused, _ = run([GRID_HEADER, grid_row(), grid_row(count=0, duration="1")], NO_CONTEXT)
    assert refused[0].field == "dataset.file_count"


def test_a_csv_of_unknown_family_names_the_columns_seen_and_what_is_missing():
    with pytest.raises(
        InvalidValue,
        match=r"columns are city, inhabitants, area; missing: throughput, duration, or start and end; file",
    ):
        run(["city,inhabitants,area", "Ulm,126000,118"])


@pytest.mark.parametrize(
    ("context", "option"), [(ImportContext(destination="b"), "--source"), (ImportContext(source="a"), "--destination")]
)
def test_ends_that_a_log_lacks_are_requested_by_the_name_of_the_option(context, option):
    with pytest.raises(InvalidValue, match="is needed") as missing:
        run([ENERGY_HEADER, energy_row(start=clock(0))], context)
    assert missing.value.field == option


def test_the_same_row_gets_the_same_id_and_another_line_another():
    first, again = (run([GRID_HEADER, grid_row(), grid_row()], NO_CONTEXT)[0] for _ in range(2))
    assert [item.record.id for item in first] == [item.record.id for item in again]
    assert first[0].record.id != first[1].record.id
    assert first[0].record.id.version == 5


def test_other_delimiters_quotes_blank_lines_and_repeated_headers_are_taken_in_stride():
    lines = [GRID_HEADER, grid_row(), "", GRID_HEADER, grid_row(ends='"North, upper",South').replace(",", ",")]
    imported, refused, _ = run(lines, NO_CONTEXT)
    assert refused == []
    assert [item.record.source for item in imported] == ["North", "North, upper"]
    semicolons, _, _ = run([line.replace(",", ";") for line in (GRID_HEADER, grid_row())], ENDS)
    assert semicolons[0].record.parameters.concurrency == 4


def test_columns_that_are_not_read_are_named():
    header = "size_mb,files,cc,throughput_mbps,threads,Rack,Finish," + ",".join(f"extra{n}" for n in range(20))
    imported, _, report = run([header, "1,1,4,100,2,x,x," + ",".join("1" * 20)])
    assert len(imported) == 1
    (noted,) = (each for each in report.assumptions if "not known" in each)
    assert noted.startswith("columns that are not known tell nothing of a transfer: threads, Rack, extra0")
    assert noted.endswith("extra9 and 10 more")
    assert "Finish holds no dates and says nothing of a transfer" in report.assumptions


def test_a_file_whose_columns_are_all_read_says_nothing_of_others():
    _, _, report = run(["size_mb,files,cc,throughput_mbps", "1,1,4,100"])
    assert not any("not known" in each for each in report.assumptions)
