"""Hours of a region: gaps stay unknown, duplicates and overlaps are refused, integrals follow the hours."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.grid.gaps import find_gaps
from tradewind.errors import InvalidValue
from tradewind.grid.hours import Gap, Hour, HourlySeries, Signal, check_hours

NOON = datetime(2026, 11, 28, 12, tzinfo=UTC)


def hour(offset_h: float, price: float | None = 0.1, carbon: float | None = None) -> Hour:
    return Hour(NOON + timedelta(hours=offset_h), price, carbon)


def test_hours_are_sorted_and_may_have_negative_prices() -> None:
    checked = check_hours([hour(1, -0.05), hour(0)])
    assert [each.starts_at.hour for each in checked] == [12, 13]
    assert checked[1].price_per_kwh == -0.05


@pytest.mark.parametrize(
    ("hours", "field", "reason"),
    [
        ([], "hours", "at least"),
        ([hour(0), hour(1), hour(0)], "hours.2", "same hour as hours.0"),
        ([hour(0), hour(0.25)], "hours.1", "average it by hours"),
        ([hour(1 / 6)], "hours.0.starts_at", "quarter"),
        ([hour(0, None)], "hours.0", "neither"),
        ([hour(0, float("inf"))], "hours.0.price_per_kwh", "within"),
        ([hour(0, float("nan"))], "hours.0.price_per_kwh", "within"),
        ([hour(0, 1e308)], "hours.0.price_per_kwh", "within"),
        ([hour(0, None, -1.0)], "hours.0.carbon_g_per_kwh", "within 0 and 2000"),
        ([hour(0, None, 400_000.0)], "hours.0.carbon_g_per_kwh", "within 0 and 2000"),
        ([Hour(datetime(2026, 1, 1), 0.1)], "hours.0.starts_at", "no time zone"),  # noqa: DTZ001 -- the point of it
    ],
)
def test_series_that_is_none_is_refused_with_its_row(hours: list[Hour], field: str, reason: str) -> None:
    with pytest.raises(InvalidValue, match=reason) as refused:
        check_hours(hours)
    assert refused.value.field == field


def test_same_instant_in_two_offsets_is_a_duplicate() -> None:
    elsewhere = Hour(NOON.astimezone(timezone(timedelta(hours=5, minutes=30))), 0.2)
    with pytest.raises(InvalidValue, match="same hour"):
        check_hours([hour(0), elsewhere])


def test_gaps_are_found_and_never_filled() -> None:
    hours = check_hours([hour(0), hour(1), hour(4)])
    assert find_gaps(hours) == (Gap(NOON + timedelta(hours=2), NOON + timedelta(hours=4)),)
    series = HourlySeries(hours)
    assert series.compute_integral(Signal.PRICE, NOON, 7200) == pytest.approx(720)
    assert series.compute_integral(Signal.PRICE, NOON, 7201) is None
    assert series.compute_integral(Signal.PRICE, NOON + timedelta(hours=3), 60) is None
    assert series.compute_integral(Signal.CARBON, NOON, 60) is None
    assert series.find(NOON + timedelta(hours=2)) is None
    assert series.find(NOON - timedelta(seconds=1)) is None


def test_mean_is_weighted_by_time() -> None:
    series = HourlySeries.of([hour(0, 0.1), hour(1, -0.3)])
    start = NOON + timedelta(minutes=45)
    assert series.compute_mean(Signal.PRICE, start, start + timedelta(hours=1)) == pytest.approx(-0.2)
    assert series.compute_mean(Signal.PRICE, start, start) == 0.1


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=30), st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_integrals_of_parts_add_up(prices: list[float], begin: float, first: float, second: float) -> None:
    series = HourlySeries.of(hour(i, price) for i, price in enumerate(prices))
    room_s = 3600.0 * len(prices)
    start = NOON + timedelta(seconds=int(begin * room_s / 3))
    first_s, second_s = float(int(first * room_s / 3)), float(int(second * room_s / 3))
    both = series.compute_integral(Signal.PRICE, start, first_s + second_s)
    if both is None:
        return
    parts = [
        series.compute_integral(Signal.PRICE, start, first_s),
        series.compute_integral(Signal.PRICE, start + timedelta(seconds=first_s), second_s),
    ]
    assert None not in parts or not (first_s and second_s)
    assert sum(part or 0.0 for part in parts) == pytest.approx(both, abs=1e-6)
