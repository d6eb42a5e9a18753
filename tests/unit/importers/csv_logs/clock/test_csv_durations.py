"""Durations and round trips of a CSV sweep: which unit they are in, and when that cannot be told."""

from zoneinfo import ZoneInfo

import pytest

from tests.unit.importers.logs import (
    ENDS,
    GRID_HEADER,
    grid_row,
    run,
    unit_of,
)
from tradewind.errors import InvalidValue
from tradewind_agent.importers import ImportContext

NO_CONTEXT = ImportContext()


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


def test_known_bandwidth_decides_between_seconds_and_milliseconds():
    row = "100000000,10,2,2000"
    declared, _, _ = run([UNTOLD.replace("Duration", "Duration_ms"), row])
    assert declared[0].record.duration_s == 2
    slow, _, report = run([UNTOLD, row], ImportContext(source="a", destination="b", bandwidth_bps=1e9))
    assert slow[0].record.duration_s == 2000
    assert unit_of(report, "Duration") == "s"
    rows, _, _ = run([f"{UNTOLD},Throughput (Mbps)", f"{row},4000"])
    assert rows[0].record.duration_s == 2


def test_a_throughput_in_no_unit_either_does_not_decide_between_seconds_and_milliseconds():
    with pytest.raises(InvalidValue, match=r"may be in s \(4 Mbit/s\) or in ms \(4 Gbit/s\)"):
        run([f"{UNTOLD},Throughput", "100000000,10,2,2000,4000"])


@pytest.mark.parametrize("rtt", ["0.3", "0.5", "1", "1.5"])
def test_round_trips_that_may_be_seconds_or_milliseconds_are_refused_with_what_to_do(rtt):
    with pytest.raises(InvalidValue, match=rf"^RTT: is {rtt}, which may be s or ms; .* such as RTT_ms$"):
        run([GRID_HEADER, grid_row(rtt=rtt)], NO_CONTEXT)
    imported, _, _ = run([GRID_HEADER.replace("RTT", "RTT_ms"), grid_row(rtt=rtt)], NO_CONTEXT)
    assert imported[0].record.path.rtt_s == pytest.approx(float(rtt) / 1e3)


SPANS = "start_time,end_time,size (B),files,cc"


@pytest.mark.parametrize(
    ("start", "end"),
    [
        ("2026-03-01 10:00:00", "2026-03-01 10:00:20"),
        ("1772359200", "1772359220.0"),
        ("1772359200000", "1772359220000"),
        ("01/03/2026 23:59:50", "02/03/2026 00:00:10"),
    ],
)
def test_a_start_and_an_end_are_a_duration(start, end):
    others = (
        [f"2{day}/03/2026 10:00:00,2{day}/03/2026 10:00:20,4000000,10,2" for day in range(3)] if "/" in start else []
    )
    imported, refusals, _ = run([SPANS, f"{start},{end},4000000,10,2", *others])
    assert not refusals
    assert imported[0].record.duration_s == pytest.approx(20.0)
    assert imported[0].record.outcome.throughput_bps == pytest.approx(16e6)


def test_an_end_before_its_start_or_at_it_reports_no_throughput_and_harms_no_other_row():
    good = "2026-03-01 10:00:00,2026-03-01 10:00:20,4000000,10,2"
    imported, refusals, _ = run(
        [
            SPANS,
            good,
            "2026-03-01 10:00:20,2026-03-01 10:00:00,4000000,10,2",
            "2026-03-01 10:00:00,2026-03-01 10:00:00,4000000,10,2",
            "2026-03-01 10:00:00,yesterday,4000000,10,2",
        ]
    )
    assert len(imported) == 1
    assert [each.row for each in refusals] == [3, 4, 5]
    assert "before started_at" in refusals[0].reason


def test_with_a_throughput_the_end_only_has_to_agree():
    imported, _, _ = run([f"{SPANS},throughput (Mbps)", "2026-03-01 10:00:00,2026-03-01 10:00:20,4000000,10,2,16"])
    assert imported[0].record.duration_s == pytest.approx(20.0)


BERLIN = ImportContext(source="alpha", destination="beta", timezone=ZoneInfo("Europe/Berlin"))


@pytest.mark.parametrize(("day", "hours"), [("2024-03-30", 2), ("2024-03-31", 1), ("2024-10-27", 3)])
def test_a_night_in_which_the_clock_is_changed_is_as_long_as_it_was(day, hours):
    row = f"{day} 01:30:00,{day} 03:30:00,3600000000,1,2"
    imported, _, _ = run([SPANS, row], BERLIN)
    assert imported[0].record.duration_s == 3600 * hours
    assert imported[0].record.outcome.throughput_bps == pytest.approx(8e6 / hours)


def test_a_duration_goes_on_where_the_clock_is_changed():
    header, row = "start_time,size (B),files,cc,Throughput (Mbps)", "2024-03-31 01:30:00,3600000000,1,2,8"
    (imported,), _, _ = run([header, row], BERLIN)
    assert imported.record.duration_s == 3600
    assert imported.record.ended_at.astimezone(BERLIN.zone).hour == 3


@pytest.mark.parametrize(
    ("duration", "unit"), [("20000000", "ms .120 kbit/s. or in µs"), ("20000000000", "µs .120 kbit/s. or in ns")]
)
def test_durations_in_fractions_of_a_second_are_refused_where_transfers_would_be_slow(duration, unit):
    rows = [f"2026-03-01T10:00:00Z,{duration},300000000", f"2026-03-01T10:01:00Z,{duration},300000000"]
    with pytest.raises(InvalidValue, match=f"may be in {unit}"):
        run(["start,elapsed,bytes", *rows], ENDS)


@pytest.mark.parametrize(
    ("titles", "rate"), [("start,elapsed_ms,bytes,cc", "2"), ("start,elapsed,bytes,rate_mbps", "0.1")]
)
def test_slow_transfers_are_read_where_title_or_rate_shows_the_unit(titles, rate):
    rows = [f"2026-03-01T10:0{minute}:00Z,20000,250000,{rate}" for minute in range(2)]
    assert [item.record.duration_s for item in run([titles, *rows], ENDS)[0]] == [20, 20]


def test_durations_that_would_be_too_short_in_a_finer_fraction_are_read():
    rows = [f"2026-03-01T10:0{minute}:00Z,8000,50000" for minute in range(2)]
    assert [item.record.duration_s for item in run(["start,elapsed,bytes", *rows], ENDS)[0]] == [8, 8]


def test_durations_in_ms_of_usual_transfers_are_read():
    rows = [f"2026-03-01T10:0{minute}:00Z,20000,25000000" for minute in range(2)]
    assert [item.record.duration_s for item in run(["start,elapsed,bytes", *rows], ENDS)[0]] == [20, 20]
