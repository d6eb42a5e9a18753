"""Zones that stand outside the cells of a CSV file, durations in days, and rates whose unit nothing shows."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from tests.unit.importers.logs import ENDS, run
from tradewind.errors import InvalidValue
from tradewind_agent.importers import ImportContext

TEN = datetime(2026, 3, 1, 10, tzinfo=UTC)


def read(start: str, end: str, cell: str, *, above: tuple[str, ...] = (), timezone: str | None = None, hour: int = 11):
    zone = None if timezone is None else ZoneInfo(timezone)
    context = ImportContext(source="alpha", destination="beta", timezone=zone)
    return run([*above, f"{start},{end},size (MB),cc", f"2026-03-01 {hour}:00:00,{cell},4000,2"], context)


@pytest.mark.parametrize(
    ("zone", "hour"),
    [("CET", 11), ("UTC+1", 11), ("GMT +01:00", 11), ("Europe/Berlin", 11), ("EST", 5), ("+05:00", 15)],
)
def test_zone_behind_the_titles_is_that_of_the_times(zone, hour):
    imported, refused, report = read(f"start ({zone})", f"End Time [{zone}]", f"2026-03-01 {hour}:00:20", hour=hour)
    assert ([item.record.started_at for item in imported], refused) == ([TEN], [])
    assert not any("taken as UTC" in noted for noted in report.assumptions)


def test_zone_behind_a_title_without_brackets_is_read():
    assert read("Start Time PST", "End Time PST", "2026-03-01 02:00:20", hour=2)[0][0].record.started_at == TEN


@pytest.mark.parametrize(
    ("zone", "given", "hour"),
    [
        ("local", "Europe/Berlin", 11),
        ("local time", "Europe/Berlin", 11),
        ("CST", "Asia/Shanghai", 18),
        ("CST", "America/Chicago", 4),
        ("IST", "Europe/Dublin", 10),
        ("BST", "Asia/Dhaka", 16),
        ("AST", "Asia/Riyadh", 13),
    ],
)
def test_zone_that_may_be_several_has_to_be_given(zone, given, hour):
    titles = f"start ({zone})", f"end ({zone})", f"2026-03-01 {hour}:00:20"
    with pytest.raises(InvalidValue, match="give it with --timezone"):
        read(*titles, hour=hour)
    assert read(*titles, timezone=given, hour=hour)[0][0].record.started_at == TEN


@pytest.mark.parametrize(
    ("zone", "given"),
    [
        ("CST", "Europe/Berlin"), ("CST", "America/New_York"), ("BST", "Asia/Tokyo"), ("CET", "America/New_York"),
        ("EST", "America/Chicago"), ("Europe/Berlin", "America/New_York"), ("CET", "UTC"),
    ],
)  # fmt: skip
def test_zone_that_is_not_the_given_one_is_refused(zone, given):
    with pytest.raises(InvalidValue, match=f"is in {zone} time, and --timezone names {given}"):
        read(f"start ({zone})", f"end ({zone})", "2026-03-01 11:00:20", timezone=given)


@pytest.mark.parametrize("zone", ["CET", "MEZ", "CEST", "Europe/Berlin", "UTC+1", "+01:00"])
def test_zone_that_is_the_given_one_is_read(zone):
    titles = f"start ({zone})", f"end ({zone})", "2026-03-01 11:00:20"
    assert read(*titles, timezone="Europe/Berlin")[0][0].record.started_at == TEN


def test_start_in_utc_next_to_an_end_without_a_zone_is_read_where_utc_is_given():
    record = read("start (UTC)", "end", "2026-03-01 10:00:20", timezone="UTC", hour=10)[0][0].record
    assert record.started_at == TEN
    with pytest.raises(InvalidValue, match="does not say its zone"):
        read("start (UTC)", "end", "2026-03-01 10:00:20", timezone="Europe/Berlin", hour=10)


@pytest.mark.parametrize(
    ("titles", "cells"),
    [
        ("start_local,start_utc,end_utc", "11:00:00,10:00:00,10:00:20"),
        ("start_local,start,end", "11:00:00,10:00:00,10:00:20"),
        ("start (local),end (local),start (UTC),end (UTC)", "11:00:00,11:00:20,10:00:00,10:00:20"),
        ("start (UTC),end (local),end (UTC)", "10:00:00,11:00:20,10:00:20"),
        ("start (CET),end (CET),start (UTC),end (UTC)", "11:00:00,11:00:20,10:00:00,10:00:20"),
        ("start (local),end (local),start (CET),end (CET)", "12:00:00,12:00:20,11:00:00,11:00:20"),
        ("start (UTC),end (UTC),start (local),end (local)", "10:00:00,10:00:20,11:00:00,11:00:20"),
        ("timestamp,start (CET),end (CET)", "10:00:30,11:00:00,11:00:20"),
    ],
)
def test_times_in_utc_count_rather_than_others(titles, cells):
    row = ",".join(f"2026-03-01 {cell}" for cell in cells.split(","))
    imported, refused, _ = run([f"{titles},size (MB),cc", f"{row},4000,2"], ENDS)
    assert ([item.record.started_at for item in imported], refused) == ([TEN], [])


@pytest.mark.parametrize(
    ("start", "end"), [("start (CET)", "end"), ("start", "end (CET)"), ("start (UTC)", "end (CET)")]
)
def test_times_in_two_zones_by_their_titles_are_refused(start, end):
    with pytest.raises(InvalidValue, match="zone"):
        read(start, end, "2026-03-01 11:00:20")


@pytest.mark.parametrize(
    "line", ["# all times are in Europe/Berlin", "Transfers, CET", "% clock: UTC+1", "in CET as of May"]
)
def test_zone_in_a_line_above_the_table_has_to_be_given(line):
    with pytest.raises(InvalidValue, match="a line above the table names"):
        read("start", "end", "2026-03-01 11:00:20", above=(line,))
    given = read("start", "end", "2026-03-01 11:00:20", above=(line,), timezone="Europe/Berlin")
    assert given[0][0].record.started_at == TEN


@pytest.mark.parametrize(
    "line",
    [
        "# all times in UTC", "# host DTN and NFS", "# made by the GET tool", "Report EST-2026", "host DTN-EST-01",
        "# the EST project", "# data of the IST group", "# all times in Etc/UTC", "# times in UTC+0",
    ],
)  # fmt: skip
def test_other_words_above_the_table_say_nothing_of_zones(line):
    assert len(read("start", "end", "2026-03-01 11:00:20", above=(line,))[0]) == 1


def test_times_with_offsets_ignore_a_zone_above():
    rows = ["# CET", "start,end,bytes,cc", "2026-03-01T10:00:00Z,2026-03-01T10:00:20Z,4000000000,2"]
    assert run(rows, ENDS)[0][0].record.started_at == TEN


def test_second_line_of_a_header_may_hold_the_zone_and_brackets():
    rows = ["start,end,size,duration,cc", "[UTC],[UTC],[MB],[s],[-]"]
    rows.append("2026-03-01 10:00:00,2026-03-01 10:00:20,4000,20,2")
    imported, refused, _ = run(rows, ENDS)
    assert ([item.record.outcome.bytes_moved for item in imported], refused) == ([4_000_000_000], [])


def test_duration_as_spreadsheets_hold_it_is_not_taken_for_minutes():
    rows = ["start,duration,size (MB),cc", "2026-03-01T10:00:00Z,0.000231481,4000,2"]
    with pytest.raises(InvalidValue, match="may be in days"):
        run(rows, ENDS)
    context = ImportContext(source="alpha", destination="beta", units={"duration": "d"})
    record = run(rows, context)[0][0].record
    assert (record.ended_at - record.started_at).total_seconds() == pytest.approx(20, rel=1e-4)


@pytest.mark.parametrize(
    ("title", "cell"),
    [("duration (days)", "0.000231481"), ("duration [min:sec]", "0:20"), ("duration (h:mm:ss)", "0:00:20")],
)
def test_further_units_of_durations_are_read(title, cell):
    record = run([f"start,{title},size (MB),cc", f"2026-03-01T10:00:00Z,{cell},4000,2"], ENDS)[0][0].record
    assert (record.ended_at - record.started_at).total_seconds() == pytest.approx(20, rel=1e-4)


def test_rate_that_fits_in_no_unit_is_refused():
    rows = ["start,end,bytes,throughput,cc", "2026-03-01T10:00:00Z,2026-03-01T10:00:40Z,4000000000,190.7,2"]
    with pytest.raises(InvalidValue, match="differs from size over duration in every unit"):
        run(rows, ENDS)
    assert len(run([rows[0].replace("throughput", "throughput (MB/s)"), rows[1]], ENDS)[0]) == 1
