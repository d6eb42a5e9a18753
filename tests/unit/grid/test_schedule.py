"""The start and the pace of a transfer: least expected cost among starts that meet the deadline."""

import math
import random
from datetime import UTC, datetime, timedelta

import pytest

from tradewind.errors import InvalidValue
from tradewind.grid.hours import Hour, HourlySeries, Signal
from tradewind.grid.schedule import GridEnd, Pace, When, choose_start, list_quantiles
from tradewind.prediction import Interval
from tradewind.sla.kinds import Sla, SlaKind
from tradewind.units import JOULES_PER_KWH

NOW = datetime(2026, 11, 28, 12, 5, tzinfo=UTC)
FULL_HOUR = NOW.replace(minute=0)
GB = 10**9
FASTEST = Sla(kind=SlaKind.MAX_THROUGHPUT)
FRUGAL = Sla(kind=SlaKind.MIN_ENERGY)


def rate(middle_bps: float, log_sd: float = 0.2) -> Interval:
    spread = math.exp(1.6448536 * log_sd)
    return Interval(middle_bps * math.exp(log_sd**2 / 2), middle_bps / spread, middle_bps * spread)


def pace(middle_bps: float = 8e6, energy_j: float | None = JOULES_PER_KWH, name: str = "fastest") -> Pace:
    sla = FASTEST if name == "fastest" else FRUGAL
    return Pace(name=name, sla=sla, throughput_bps=rate(middle_bps), energy_j=energy_j)


def end(*values: float | None, signal: Signal = Signal.CARBON, currency: str | None = None) -> GridEnd:
    hours = (
        Hour(
            FULL_HOUR + timedelta(hours=i),
            value if signal is Signal.PRICE else None,
            value if signal is Signal.CARBON else None,
        )
        for i, value in enumerate(values)
    )
    return GridEnd(endpoint="a", region="DE", currency=currency, series=HourlySeries.of(hours))


UNKNOWN = GridEnd(endpoint="b")


def choose(*paces: Pace, ends: list[GridEnd], hours: float = 8, when: When = When.GREENEST, total: int = GB):  # type: ignore[no-untyped-def]
    return choose_start(when, total, paces, ends, now=NOW, deadline=NOW + timedelta(hours=hours), confidence=0.9)


def test_greenest_start_is_in_the_hours_of_least_carbon() -> None:
    schedule = choose(pace(), ends=[end(400, 400, 400, 100, 100, 400, 400, 400, 400, 400), UNKNOWN])
    assert schedule.is_feasible
    assert FULL_HOUR + timedelta(hours=3) <= schedule.start.at <= FULL_HOUR + timedelta(hours=4)
    assert schedule.start.expected == pytest.approx(100)  # 1 kWh
    assert schedule.now.expected == pytest.approx(400)
    assert "75% less carbon" in schedule.reason


def test_deadline_wins_over_carbon() -> None:
    series = end(400, 400, 400, 100, 100, 100)
    schedule = choose(pace(), ends=[series], hours=1.0)
    assert schedule.is_feasible
    assert schedule.start.probability >= 0.9
    assert schedule.start.at < NOW + timedelta(hours=1)
    late = choose(pace(), ends=[series], hours=0.25)
    assert not late.is_feasible
    assert late.start.at == NOW
    assert late.start.probability < 0.9
    assert "no start meets the deadline" in late.reason


def test_probability_is_that_of_the_predicted_rate() -> None:
    schedule = choose(pace(), ends=[end(*[100] * 10)], hours=0.25)
    draw = random.Random(7)
    met = sum(8e9 / (8e6 * math.exp(draw.gauss(0, 0.2))) <= 900 for _ in range(20_000)) / 20_000
    assert schedule.start.probability == pytest.approx(met, abs=0.01)


def test_hours_that_are_unknown_are_never_chosen_as_green() -> None:
    schedule = choose(pace(), ends=[end(400, None, None, 300, 300, 300, 300, 300, 300, 300)])
    assert schedule.start.at >= FULL_HOUR + timedelta(hours=3)
    nothing_ahead = choose(pace(), ends=[end(400)])
    assert nothing_ahead.start.at == NOW
    assert nothing_ahead.start.expected == pytest.approx(400)  # this hour is known to its end


def test_series_that_ends_before_the_transfer_would_gives_no_cost() -> None:
    schedule = choose(pace(1e6), ends=[end(400)])  # 2 h 13 min of one known hour
    assert schedule.start.at == NOW
    assert schedule.start.expected is None
    assert "known carbon" in schedule.reason


def test_negative_prices_are_sought() -> None:
    prices = end(0.2, 0.2, -0.1, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2, signal=Signal.PRICE, currency="EUR")
    schedule = choose(pace(), ends=[prices], when=When.CHEAPEST)
    assert schedule.start.expected == pytest.approx(-0.1)
    assert schedule.start.at >= FULL_HOUR + timedelta(hours=2)


def test_small_saving_is_not_worth_waiting() -> None:
    schedule = choose(pace(), ends=[end(400, 399, 398, 397, 400, 400, 400, 400, 400)])
    assert schedule.start.at == NOW


def test_frugal_pace_is_chosen_where_the_deadline_leaves_time() -> None:
    paces = (pace(), pace(4e6, 0.5 * JOULES_PER_KWH, "frugal"))
    series = end(*[400] * 12)
    assert choose(*paces, ends=[series]).start.pace.name == "frugal"
    hurried = choose(*paces, ends=[series], hours=0.5)
    assert hurried.start.pace.name == "fastest"
    assert hurried.is_feasible


def test_paces_are_not_compared_where_energy_is_unknown() -> None:
    schedule = choose(pace(energy_j=None), pace(4e6, 1.0, "frugal"), ends=[end(*[400] * 12)])
    assert schedule.start.pace.name == "fastest"
    assert schedule.start.expected == pytest.approx(400)  # the mean of the signal


def test_both_ends_count_equally() -> None:
    schedule = choose(pace(), ends=[end(*[100] * 12), end(*[300] * 12)])
    assert schedule.now.expected == pytest.approx(200)


def test_deadline_across_a_change_of_clocks_counts_hours_that_pass() -> None:
    before = datetime(2026, 10, 24, 22, 0, tzinfo=UTC)  # midnight in Berlin; 25 hours to the next
    hours = HourlySeries.of(Hour(before + timedelta(hours=i), None, 500.0 - 10 * i) for i in range(25))
    schedule = choose_start(
        When.GREENEST,
        GB,
        [pace()],
        [GridEnd(endpoint="a", region="DE", series=hours)],
        now=before,
        deadline=before + timedelta(hours=25),
        confidence=0.9,
    )
    assert schedule.start.at >= before + timedelta(hours=24)


def test_planning_is_refused_in_one_phrase_where_it_cannot_be_done() -> None:
    with pytest.raises(InvalidValue, match="no end's region"):
        choose(pace(), ends=[UNKNOWN, UNKNOWN])
    ends = [end(*[0.1] * 9, signal=Signal.PRICE, currency=name) for name in ("EUR", "USD")]
    with pytest.raises(InvalidValue, match="different currencies"):
        choose(pace(), ends=ends, when=When.CHEAPEST)
    with pytest.raises(InvalidValue, match="has passed"):
        choose(pace(), ends=[end(1)], hours=-1)
    with pytest.raises(InvalidValue, match="within 7 days"):
        choose(pace(), ends=[end(1)], hours=24 * 8)


def test_quantiles_average_to_the_mean_of_the_distribution() -> None:
    quantiles = list_quantiles(rate(1e8))
    assert sum(quantiles) / len(quantiles) == pytest.approx(rate(1e8).mean, rel=0.005)
    assert list_quantiles(Interval(5.0, 5.0, 5.0)) == [5.0]


def test_nothing_to_move_starts_at_once() -> None:
    assert choose(pace(), ends=[end(400, 100, 100, 100, 100, 100, 100, 100, 100)], total=0).start.at == NOW
