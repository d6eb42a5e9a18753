from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

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
from tradewind.energy import EnergyMethod, EnergyQuality, Host
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
    assert record.parameters.known() == {"concurrency": 4, "parallelism": 2, "pipelining": 8}
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


def test_a_size_column_that_is_of_the_whole_data_set_is_recognised():
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
def test_any_line_end_and_a_byte_order_mark_are_read_alike(end, mark):
    content = mark + end.join([GRID_HEADER, grid_row(), grid_row(cc="2")]).encode()
    imported, refused, _ = run(content, NO_CONTEXT)
    assert refused == []
    assert [item.record.parameters.concurrency for item in imported] == [4, 2]
    assert [item.record.id for item in imported] == [
        item.record.id for item in run([GRID_HEADER, grid_row(), grid_row(cc="2")], NO_CONTEXT)[0]
    ]


def test_na_means_unknown():
    imported, _, _ = run([GRID_HEADER, grid_row(cc="na", pp="NA", p="4")], NO_CONTEXT)
    assert imported[0].record.parameters.known() == {"parallelism": 4}


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
        InvalidValue, match=r"columns are city, inhabitants, area; missing: throughput, or duration; file"
    ):
        run(["city,inhabitants,area", "Ulm,126000,118"])


@pytest.mark.parametrize(
    ("context", "option"), [(ImportContext(destination="b"), "--source"), (ImportContext(source="a"), "--destination")]
)
def test_ends_that_a_log_lacks_are_asked_for_by_the_name_of_the_option(context, option):
    with pytest.raises(InvalidValue, match="is needed") as missing:
        run([ENERGY_HEADER, energy_row(start=clock(0))], context)
    assert missing.value.field == option


def test_an_energy_row_keeps_total_and_dynamic_energy_cores_and_frequency():
    context = ImportContext(source="a", destination="b", energy_host=Host.SOURCE, mover="harp", network="lab")
    imported, _, report = run([ENERGY_HEADER, energy_row(start=clock(0), dynamic="-3.5")], context)
    record = imported[0].record
    (reading,) = record.energy
    assert reading.total_j == pytest.approx(100 * record.duration_s, rel=1e-4)
    assert reading.dynamic_j == -3.5
    assert (reading.host, reading.method, reading.quality) == (Host.SOURCE, EnergyMethod.METER, EnergyQuality.ASSUMED)
    assert record.parameters.cores == 8
    assert record.parameters.frequency_hz == 1.8e9
    assert (record.mover.name, record.network, record.dataset.content_type) == ("harp", "lab", "video")
    assert any("how it was measured is not in the file" in assumption for assumption in report.assumptions)


@pytest.mark.parametrize(("frequency", "unit"), [("1.8", "GHz"), ("1800", "MHz"), ("1800000", "kHz")])
def test_the_unit_of_the_frequency_is_found(frequency, unit):
    imported, _, report = run([ENERGY_HEADER, energy_row(start=clock(0), frequency=frequency)])
    assert unit_of(report, "frequency") == unit
    assert imported[0].record.parameters.frequency_hz == pytest.approx(1.8e9)


def test_energy_of_nought_is_refused_and_a_missing_one_is_not_measured():
    rows = [energy_row(start=clock(row)) for row in range(5)]
    rows += [energy_row(start=clock(6), energy="0"), energy_row(start=clock(7), energy="na")]
    imported, refused, _ = run([ENERGY_HEADER, *rows])
    assert [(item.row, item.field, item.reason) for item in refused] == [(7, "energy.total_j", "is zero")]
    assert imported[-1].record.energy == ()


def test_energy_that_no_such_host_draws_is_refused():
    rows = [energy_row(start=clock(row)) for row in range(20)]
    rows[4] = energy_row(start=clock(4), energy="60000")
    _, refused, _ = run([ENERGY_HEADER, *rows])
    assert [(item.row, item.field) for item in refused] == [(6, "energy.total_j")]


def sets_with(written, size_bytes, label):
    usual = [energy_row(start=clock(row)) for row in range(30)]
    usual += [energy_row(start=clock(40 + row), size="3.5", count=200, file_type="2") for row in range(30)]
    return usual + [
        energy_row(start=clock(80 + row), size=written, size_bytes=size_bytes, label=label, file_type="1")
        for row in range(10)
    ]


def test_a_set_in_another_size_unit_is_found_by_the_power_that_the_host_would_draw():
    imported, refused, report = run([ENERGY_HEADER, *sets_with("120500", 120.5e6, "2")])
    assert refused == []
    assert imported[-1].record.dataset.mean_file_bytes == pytest.approx(120.5e6)
    assert any("(type 1, set 2)" in found.column and found.unit == "kB" for found in report.units)


def test_a_set_whose_size_fits_in_no_unit_is_refused_with_the_reason():
    imported, refused, _ = run([ENERGY_HEADER, *sets_with("17.3", 120.5e6, "2")])
    assert len(imported) == 60
    assert {item.field for item in refused} == {"dataset.mean_file_bytes"}
    assert "contradicts throughput and energy" in refused[0].reason


def test_a_set_whose_size_fits_in_no_unit_can_take_the_size_of_sets_that_agree():
    context = ImportContext(source="a", destination="b", repair_sizes=True)
    imported, refused, report = run([ENERGY_HEADER, *sets_with("17.3", 120.5e6, "2")], context)
    assert refused == []
    assert imported[-1].record.dataset.mean_file_bytes == pytest.approx(120.5e6)
    assert any("as other sets of this type have it" in found.evidence for found in report.units)


def test_rows_carry_the_set_they_belong_to():
    rows = [energy_row(start=clock(0)), energy_row(start=clock(1), label="2", file_type="3")]
    imported, _, _ = run([ENERGY_HEADER, *rows])
    assert [item.group for item in imported] == ["video/1", "html/2"]
    assert run([GRID_HEADER, grid_row()], NO_CONTEXT)[0][0].group == ""


def test_rows_without_times_follow_each_other_from_a_start_that_is_reported():
    header = "Note,FileSize,FileNumbers,Source,Destination,Bandwidth,RTT,P,CC,PP,Throughput,Protocol,Version"
    row = "x,5000000,10,A,B,1000000000,0.01,2,na,na,400.0,GridFTP,gt-5"
    start = datetime(2020, 5, 1, tzinfo=UTC)
    imported, _, report = run([header, row, row], ImportContext(started_at=start))
    assert [item.record.started_at for item in imported] == [start, start + timedelta(seconds=1)]
    assert imported[0].record.mover.name == "gridftp"
    assert imported[0].record.mover.version == "gt-5"
    assert any("2020-05-01" in assumption for assumption in report.assumptions)


def test_times_that_have_lost_the_hour_follow_the_rows_before():
    times = ["58:10.0", "59:50.0", "01:30.0", "00:20.0", "10:00.0"]
    dates = ["3/14/16"] * 4 + ["3/15/16"]
    rows = [grid_row(throughput=16.0, time=time, date=date) for time, date in zip(times, dates, strict=True)]
    imported, _, report = run([GRID_HEADER, *rows], NO_CONTEXT)
    assert [item.record.started_at.strftime("%d %H:%M:%S") for item in imported] == [
        "14 00:58:10",
        "14 00:59:50",
        "14 01:01:30",
        "14 01:00:20",
        "15 00:10:00",
    ]
    assert any("lost the hour" in assumption for assumption in report.assumptions)


@pytest.mark.parametrize(
    ("date", "other", "expected"),
    [
        ("14/03/16", "15/03/16", "2016-03-14"),
        ("3/14/2016", "3/1/2016", "2016-03-14"),
        ("2016-03-14", "2016-03-15", "2016-03-14"),
    ],
)
def test_the_order_of_dates_is_found(date, other, expected):
    imported, _, _ = run([GRID_HEADER, grid_row(date=date), grid_row(date=other)], NO_CONTEXT)
    assert imported[0].record.started_at.date().isoformat() == expected


def test_dates_that_could_be_read_two_ways_are_reported():
    _, _, report = run([GRID_HEADER, grid_row(date="03/04/16")], NO_CONTEXT)
    assert "dates could be read two ways and are taken as month/day/year" in report.assumptions


def test_the_time_zone_is_the_contexts_and_utc_is_a_reported_assumption():
    berlin = ImportContext(timezone=ZoneInfo("Europe/Berlin"))
    imported, _, report = run([GRID_HEADER, grid_row(date="2016-07-01", time="10:00:00")], berlin)
    assert imported[0].record.started_at.astimezone(UTC).hour == 8
    assert not any("UTC" in assumption for assumption in report.assumptions)
    assert any("taken as UTC" in text for text in run([GRID_HEADER, grid_row()], NO_CONTEXT)[2].assumptions)


@pytest.mark.parametrize(
    "start", ["2022-03-15T08:00:00Z", "2022-03-15 09:00:00+01:00", "1647331200", "03/15/2022 8:00:00 AM"]
)
def test_starts_are_read_in_many_notations(start):
    imported, _, _ = run([ENERGY_HEADER, energy_row(start=start), energy_row(start="12/31/2022 08:00:00")])
    assert imported[0].record.started_at == datetime(2022, 3, 15, 8, tzinfo=UTC)


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


def test_without_a_throughput_column_the_duration_gives_it():
    imported, _, _ = run(["FileSize,FileCount,P,CC,PP,Duration", "4000000,10,1,2,4,2.0"])
    assert imported[0].record.outcome.throughput_bps == pytest.approx(160e6)


def test_without_a_throughput_column_the_report_says_how_the_duration_was_read():
    imported, _, report = run(["FileSize,FileCount,P,CC,PP,Bandwidth,Duration", "4000000,10,1,2,4,1e9,2.0"])
    assert imported[0].record.outcome.throughput_bps == pytest.approx(160e6)
    assert unit_of(report, "Duration") == "s"
    (evidence,) = (each.evidence for each in report.units if each.column == "Duration")
    assert evidence == "size over duration has a median 160 Mbit/s, which is 0.16 of the link"
    assert not any("there is no duration" in each for each in report.assumptions)
    assert any("there is no throughput" in each for each in report.assumptions)


UNTOLD = "FileSize (B),FileCount,CC,Duration"


@pytest.mark.parametrize(
    ("size", "duration", "bandwidth", "unit"),
    [
        (4_000_000, 2.0, "", "s"),
        (4_000_000, 250.0, "", "s"),
        (400_000_000_000, 4000.0, "", "s"),
        (100_000_000, 4000.0, "1e9", "s"),
        (100_000_000, 4000.0, "1e11", "ms"),
    ],
)
def test_durations_that_only_one_unit_makes_possible_are_read_in_it_and_the_report_says_why(
    size, duration, bandwidth, unit
):
    imported, _, report = run([f"{UNTOLD},Bandwidth", f"{size},10,2,{duration},{bandwidth}"])
    assert unit_of(report, "Duration") == unit
    assert imported[0].record.duration_s == pytest.approx(duration * {"s": 1, "ms": 1e-3}[unit])
    (evidence,) = (each.evidence for each in report.units if each.column == "Duration")
    assert evidence.startswith("size over duration has a median ")


def test_durations_that_may_be_seconds_or_milliseconds_are_refused_with_what_to_do():
    with pytest.raises(InvalidValue) as refused:
        run([UNTOLD, "100000000,10,2,2000"])
    assert str(refused.value) == (
        "Duration: may be in s (4 Mbit/s) or in ms (4 Gbit/s); "
        "write the unit into the header, such as Duration_ms, or give --bandwidth"
    )


def test_what_the_user_knows_decides_between_seconds_and_milliseconds():
    row = "100000000,10,2,2000"
    declared, _, _ = run([UNTOLD.replace("Duration", "Duration_ms"), row])
    assert declared[0].record.duration_s == 2
    slow, _, report = run([UNTOLD, row], ImportContext(source="a", destination="b", bandwidth_bps=1e9))
    assert slow[0].record.duration_s == 2000
    assert unit_of(report, "Duration") == "s"
    told, _, _ = run([f"{UNTOLD},Throughput (Mbps)", f"{row},4000"])
    assert told[0].record.duration_s == 2


def test_a_throughput_in_no_unit_either_does_not_decide_between_seconds_and_milliseconds():
    with pytest.raises(InvalidValue, match=r"may be in s \(4 Mbit/s\) or in ms \(4 Gbit/s\)"):
        run([f"{UNTOLD},Throughput", "100000000,10,2,2000,4000"])


@pytest.mark.parametrize("rtt", ["0.3", "0.5", "1", "1.5"])
def test_round_trips_that_may_be_seconds_or_milliseconds_are_refused_with_what_to_do(rtt):
    with pytest.raises(InvalidValue, match=rf"^RTT: is {rtt}, which may be s or ms; .* such as RTT_ms$"):
        run([GRID_HEADER, grid_row(rtt=rtt)], NO_CONTEXT)
    imported, _, _ = run([GRID_HEADER.replace("RTT", "RTT_ms"), grid_row(rtt=rtt)], NO_CONTEXT)
    assert imported[0].record.path.rtt_s == pytest.approx(float(rtt) / 1e3)


@pytest.mark.parametrize(
    ("time", "microsecond"),
    [("10:00:00:7", 7_000), ("10:00:00:070", 70_000), ("10:00:00.7", 700_000), ("10:00:00:000007", 7)],
)
def test_a_number_after_the_last_colon_of_a_time_counts_milliseconds(time, microsecond):
    imported, _, report = run([GRID_HEADER, grid_row(time=time)], NO_CONTEXT)
    assert imported[0].record.started_at.microsecond == microsecond
    assert any("counts milliseconds" in each for each in report.assumptions) == (time == "10:00:00:7")


@pytest.mark.parametrize(("start", "unit"), [("1647331200", "seconds"), ("1647331200123", "milliseconds")])
def test_times_since_1970_are_reported_with_their_unit(start, unit):
    imported, _, report = run([ENERGY_HEADER, energy_row(start=start)])
    assert imported[0].record.started_at.replace(microsecond=0) == datetime(2022, 3, 15, 8, tzinfo=UTC)
    assert f"starts are {unit} since 1970" in report.assumptions
