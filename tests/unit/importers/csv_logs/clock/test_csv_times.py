"""When the rows of a CSV sweep began: orders of dates, zones, notations, times that lost their hour."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from tests.unit.importers.logs import (
    ENERGY_HEADER,
    GRID_HEADER,
    energy_row,
    grid_row,
    run,
)
from tradewind_agent.importers import ImportContext

NO_CONTEXT = ImportContext()


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
        ("14/03/2016", "15/03/2016", "2016-03-14"),
        ("3/14/2016", "3/1/2016", "2016-03-14"),
        ("2016-03-14", "2016-03-15", "2016-03-14"),
    ],
)
def test_the_order_of_dates_is_found(date, other, expected):
    imported, _, _ = run([GRID_HEADER, grid_row(date=date), grid_row(date=other)], NO_CONTEXT)
    assert imported[0].record.started_at.date().isoformat() == expected


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
