"""The effect of external load: looked up between tabulated loads, never beyond what was seen."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradewind.errors import InvalidValue
from tradewind.load_effect import LoadEffect, LoadShift

EFFECT = LoadEffect(loads=(0.1, 0.3, 0.7), log_throughput=(0.2, 0.0, -0.8), log_power=(0.05, 0.0, -0.1))


def test_between_two_loads_the_effect_is_linear():
    assert EFFECT.interpolate_shift(0.2) == pytest.approx((0.1, 0.025))
    assert EFFECT.interpolate_shift(0.5) == pytest.approx((-0.4, -0.05))
    assert EFFECT.interpolate_shift(0.3) == pytest.approx((0.0, 0.0))


@pytest.mark.parametrize(("load", "nearest"), [(0.0, 0.1), (0.95, 0.7), (1.0, 0.7)])
def test_beyond_the_loads_that_were_seen_nothing_is_extrapolated(load, nearest):
    assert EFFECT.interpolate_shift(load) == EFFECT.interpolate_shift(nearest)


def test_without_meters_load_does_nothing_to_power():
    unmetered = LoadEffect(loads=EFFECT.loads, log_throughput=EFFECT.log_throughput)
    assert unmetered.interpolate_shift(0.7) == LoadShift(pytest.approx(-0.8), 0.0)


@given(st.floats(0, 1))
def test_the_effect_stays_within_the_tabulated_values(load):
    shift = EFFECT.interpolate_shift(load)
    assert -0.8 <= shift.log_throughput <= 0.2
    assert -0.1 <= shift.log_power <= 0.05


@pytest.mark.parametrize(
    ("loads", "log_throughput"),
    [((0.1,), (0.0,)), ((0.3, 0.1), (0.0, 0.0)), ((0.1, 0.1), (0.0, 0.0)), ((0.1, 0.3), (0.0,))],
)
def test_loads_that_do_not_rise_or_lack_values_are_refused(loads, log_throughput):
    with pytest.raises(InvalidValue):
        LoadEffect(loads=loads, log_throughput=log_throughput)
