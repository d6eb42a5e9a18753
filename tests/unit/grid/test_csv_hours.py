"""Hours from CSV: units by name, days on which clocks change, and errors that name the line."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.unit.grid.gaps import find_gaps
from tradewind.errors import InvalidValue
from tradewind.grid.csv_hours import find_zone, read_hours
from tradewind.grid.hours import check_hours

BERLIN = find_zone("Europe/Berlin")


def lines_of_day(day: str, local_hours: list[int]) -> list[str]:
    return ["starts_at,price_per_kwh", *(f"{day}T{hour:02}:00,0.{i:02}" for i, hour in enumerate(local_hours))]


def test_autumn_day_has_25_hours_without_gap_or_duplicate() -> None:
    hours = read_hours(lines_of_day("2026-10-25", [0, 1, 2, 2, *range(3, 24)]), BERLIN)
    assert len(hours) == 25
    assert find_gaps(check_hours(hours)) == ()
    assert hours[2].starts_at == datetime(2026, 10, 25, 0, tzinfo=UTC)  # 02:00 in summer time
    assert hours[3].starts_at == datetime(2026, 10, 25, 1, tzinfo=UTC)  # 02:00 again, in winter time
    assert hours[-1].starts_at == datetime(2026, 10, 25, 22, tzinfo=UTC)


def test_autumn_day_with_the_repeated_hour_once_has_a_gap() -> None:
    hours = read_hours(lines_of_day("2026-10-25", list(range(24))), BERLIN)
    assert [gap.starts_at.hour for gap in find_gaps(check_hours(hours))] == [1]


def test_third_line_of_a_repeated_hour_is_refused() -> None:
    with pytest.raises(InvalidValue, match="same hour") as refused:
        read_hours(lines_of_day("2026-10-25", [1, 2, 2, 2]), BERLIN)
    assert refused.value.field == "line 5"


def test_spring_day_has_23_hours_and_the_skipped_one_is_refused() -> None:
    hours = read_hours(lines_of_day("2026-03-29", [0, 1, *range(3, 24)]), BERLIN)
    assert len(hours) == 23
    assert find_gaps(check_hours(hours)) == ()
    with pytest.raises(InvalidValue, match="skipped in Europe/Berlin") as refused:
        read_hours(lines_of_day("2026-03-29", [0, 1, 2, 3]), BERLIN)
    assert refused.value.field == "line 4"


def test_offsets_make_the_zone_needless_and_units_are_converted() -> None:
    hours = read_hours(
        [
            "starts_at,price_per_mwh,carbon_g_per_kwh",
            "2026-10-25T02:00+02:00,-12.5,310",
            "",
            "2026-10-25T02:00+01:00,,295.5",
            "2026-10-25T03:00+01:00,,",
        ]
    )
    assert [each.price_per_kwh for each in hours] == [-0.0125, None]
    assert [each.carbon_g_per_kwh for each in hours] == [310, 295.5]
    assert hours[1].starts_at - hours[0].starts_at == timedelta(hours=1)


@pytest.mark.parametrize(
    ("lines", "field", "reason"),
    [
        (["starts_at,price"], "line 1", "must name"),
        (["starts_at,price_per_kwh,price_per_mwh"], "line 1", "both"),
        (["starts_at,price_per_kwh,load"], "line 1", "'load' is no column"),
        (["starts_at,price_per_kwh,starts_at"], "line 1", "once"),
        ([], "line 1", "must name"),
        (["starts_at,price_per_kwh", "2026-01-01T00:00,1"], "line 2", "no offset"),
        (["starts_at,price_per_kwh", "tomorrow,1"], "line 2", "no time such as"),
        (["starts_at,price_per_kwh", "9999-12-31T23:00-05:00,1"], "line 2", "no year from"),
        (["starts_at,price_per_kwh", "0001-01-01T00:00+05:00,1"], "line 2", "no year from"),
        (["starts_at,price_per_kwh", "2026-01-01T00:00Z,12 ct"], "line 2", "no number"),
        (["starts_at,price_per_kwh", "2026-01-01T00:00Z,0,1"], "line 2", "more cells"),
        (["starts_at,price_per_kwh", "2026-01-01T01:00Z,1", "2026-01-01T00:00Z,1"], "line 3", "order of time"),
    ],
)
def test_error_names_the_line(lines: list[str], field: str, reason: str) -> None:
    with pytest.raises(InvalidValue, match=reason) as refused:
        read_hours(lines)
    assert refused.value.field == field


def test_unknown_time_zone_is_refused() -> None:
    for name in ("Europe/Atlantis", "../etc/passwd", ""):
        with pytest.raises(InvalidValue, match="no time zone"):
            find_zone(name)
