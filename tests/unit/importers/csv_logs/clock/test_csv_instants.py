"""Times and durations of CSV rows as programs of many languages write them."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from tests.unit.importers.logs import ENDS, run
from tradewind_agent.importers import ImportContext

BERLIN = ImportContext(source="a", destination="b", timezone=ZoneInfo("Europe/Berlin"))
UTC_CONTEXT = ImportContext(source="a", destination="b")


def read(start, end, context=UTC_CONTEXT, more=("", "")):
    """Import a row twice, so that nothing depends on it being the last one."""
    row = f'"{start}","{end}",60000000{more[1]}'
    return run([f"start,end,bytes{more[0]}", row, row], context)


@pytest.mark.parametrize(
    ("start", "end"),
    [
        ("5/26/2025, 7:00:00 AM", "5/26/2025, 7:00:40 AM"),
        ("May 26, 2025, 7:00:00\u202fAM", "May 26, 2025, 7:00:40\u202fAM"),
        ("May 26, 2025 @ 07:00:00.000", "May 26, 2025 @ 07:00:40.000"),
        ("2025-05-26 07:00:00.25 +0000 UTC", "2025-05-26 07:00:40.25 +0000 UTC m=+40.5"),
        ("2025-05-26 09:00:00 +0200 CEST", "2025-05-26 09:00:40 +0200 CEST"),
        ("2025-05-26T09:00:00+02:00[Europe/Berlin]", "2025-05-26T07:00:40Z[UTC]"),
        ("2025-05-26t07:00:00z", "2025-05-26t07:00:40z"),
        ("2025-05-26 07:00:00 a. m.", "2025-05-26 07:00:40 a.m."),
        ("2025-05-26T03:00:00\u221204:00", "2025-05-26T03:00:40\u221204:00"),
        ("Monday, 26-May-25 07:00:00 GMT", "Monday, 26-May-25 07:00:40 GMT"),
        ("1.7482428E9", "1.74824284E9"),
    ],
)
def test_a_time_is_read_as_its_program_writes_it(start, end):
    imported, refused, _ = read(start, end)
    assert refused == []
    assert imported[0].record.duration_s == 40
    assert imported[0].record.started_at.replace(microsecond=0) == datetime(2025, 5, 26, 7, tzinfo=UTC)


@pytest.mark.parametrize("power", ["1.748243e+09", "1.748243e+12"])
def test_an_epoch_that_was_rounded_to_a_thousand_seconds_is_refused(power):
    imported, refused, _ = read(power, power.replace("43e", "44e"))
    assert (imported, len(refused)) == ([], 2)


def test_a_leap_second_belongs_to_the_next_minute():
    record = read("2016-12-31T23:59:60Z", "2017-01-01T00:00:40Z")[0][0].record
    assert (record.started_at, record.duration_s) == (datetime(2017, 1, 1, tzinfo=UTC), 40)


@pytest.mark.parametrize(
    ("zone", "hour"), [("Asia/Kolkata", 12), ("+05:30", 12), ("5:30", 12), ("Europe/Berlin", 9), ("2", 9), ("0", 7)]
)
def test_a_column_of_zones_is_that_of_times_without_one(zone, hour):
    minute = 30 if hour == 12 else 0
    start, end = (f"2025-05-26 {hour:02}:{minute:02}:{second:02}" for second in (0, 40))
    record = read(start, end, more=(",timezone", f",{zone}"))[0][0].record
    assert (record.started_at, record.duration_s) == (datetime(2025, 5, 26, 7, tzinfo=UTC), 40)


def test_a_zone_that_is_unknown_is_refused_with_the_option():
    _, refused, _ = read("2025-05-26 07:00:00", "2025-05-26 07:00:40", more=(",timezone", ",IST"))
    assert "--timezone" in refused[0].reason


@pytest.mark.parametrize("zone", ["-300", "120", "Local"])
def test_a_zone_that_is_not_clear_is_refused_unless_the_user_names_one(zone):
    start, end = "2025-05-26 09:00:00", "2025-05-26 09:00:40"
    imported, refused, _ = read(start, end, more=(",tzoffset", f",{zone}"))
    assert (imported, len(refused)) == ([], 2)
    record = read(start, end, BERLIN, more=(",tzoffset", f",{zone}"))[0][0].record
    assert record.started_at == datetime(2025, 5, 26, 7, tzinfo=UTC)


def test_times_whose_title_says_utc_are_utc_whatever_the_zone_of_their_host_is():
    row = "2025-05-26 07:00:00,2025-05-26 07:00:40,60000000,Europe/Berlin"
    imported, _, _ = run(["start_utc,end_utc,bytes,timezone", row, row], UTC_CONTEXT)
    assert imported[0].record.started_at == datetime(2025, 5, 26, 7, tzinfo=UTC)


def test_an_end_before_the_start_in_the_hour_that_the_clock_showed_twice_is_of_the_second_time():
    record = read("2025-10-26 02:55:00", "2025-10-26 02:05:00", BERLIN)[0][0].record
    assert (record.started_at, record.duration_s) == (datetime(2025, 10, 26, 0, 55, tzinfo=UTC), 600)


@pytest.mark.parametrize(("start", "end"), [("02:55:00", "03:05:00"), ("01:55:00", "02:05:00")])
def test_one_end_in_the_hour_that_the_clock_showed_twice_is_refused(start, end):
    imported, refused, _ = read(f"2025-10-26 {start}", f"2025-10-26 {end}", BERLIN)
    assert imported == []
    assert "twice" in refused[0].reason
    assert read(f"2025-10-26 {start} +0100", f"2025-10-26 {end} +0100", BERLIN)[0][0].record.duration_s == 600


@pytest.mark.parametrize(("text", "seconds"), [("2-01:00:30", 176_430), ("40 sec.", 40), ("1 min. 10 sec.", 70)])
def test_durations_of_slurm_and_abbreviations_are_read(text, seconds):
    imported, refused, _ = run(["start,bytes,duration", *[f"2025-05-26 07:00:00,60000000,{text}"] * 2])
    assert ([item.record.duration_s for item in imported], refused) == ([seconds, seconds], [])


def test_timestamps_as_oracle_writes_them_are_read():
    rows = ["01-MAR-26 10.00.00.000000 PM,01-MAR-26 10.00.20.500000 PM,4000"]
    rows += ["01-MAR-26 10.00.00 PM +01:00,01-MAR-26 10.00.20.500000 PM +01:00,4000"]
    imported, refused, _ = run(["start,end,bytes", *rows], ENDS)
    assert refused == []
    assert [item.record.started_at for item in imported] == [
        datetime(2026, 3, 1, hour, tzinfo=UTC) for hour in (22, 21)
    ]
    assert [item.record.duration_s for item in imported] == [20.5, 20.5]
