import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradewind.energy.measured import (
    compute_base_energy_j,
    compute_dynamic_energy_j,
    compute_energy_above_base_j,
    compute_total_energy_j,
)
from tradewind.errors import InvalidTrace, InvalidValue
from tradewind.sla.kinds import EnergyBasis, Sla, SlaKind, round_up_confidence

steps = st.lists(
    st.tuples(st.floats(min_value=1e-3, max_value=10), st.floats(min_value=0, max_value=500)), min_size=2, max_size=50
)


@given(steps, st.floats(min_value=0, max_value=100))
def test_total_is_base_plus_dynamic(trace, base_w):
    times, now = [], 0.0
    for step_s, _ in trace:
        now += step_s
        times.append(now)
    power = [p for _, p in trace]
    total = compute_total_energy_j(times, power)
    parts = compute_base_energy_j(times[-1] - times[0], base_w) + compute_dynamic_energy_j(times, power, base_w)
    assert total == pytest.approx(parts, rel=1e-9, abs=1e-9)


def test_the_trapezoid_is_exact_on_a_piecewise_linear_trace_with_uneven_steps():
    # P(t) = 10 + 2t on [0, 1], 12 constant on [1, 4]
    assert compute_total_energy_j([0, 0.25, 1, 4], [10, 10.5, 12, 12]) == pytest.approx(11 + 36)


def test_dynamic_energy_may_be_negative():
    assert compute_dynamic_energy_j([0, 1], [5, 5], 6) == pytest.approx(-1)


@pytest.mark.parametrize(("times", "power"), [([0], [1]), ([0, 0], [1, 1]), ([1, 0], [1, 1]), ([0, 1], [1])])
def test_a_trace_that_cannot_be_integrated_is_refused(times, power):
    with pytest.raises(InvalidTrace):
        compute_total_energy_j(times, power)


@pytest.mark.parametrize(("asked", "kept"), [(0.1, 0.5), (0.5, 0.5), (0.81, 0.9), (0.9, 0.9), (0.96, 0.99)])
def test_confidence_is_rounded_up_to_a_stored_one(asked, kept):
    assert round_up_confidence(asked) == kept


@pytest.mark.parametrize("asked", [0, -0.1, 0.991, 1.0, float("nan")])
def test_a_confidence_out_of_range_is_refused(asked):
    with pytest.raises(InvalidValue, match="confidence"):
        round_up_confidence(asked)


def test_sla_names_its_energy_basis_and_defaults_to_total():
    assert Sla(kind=SlaKind.MIN_ENERGY).energy_basis is EnergyBasis.TOTAL


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": SlaKind.THROUGHPUT_AT_LEAST},
        {"kind": SlaKind.DEADLINE, "target": 0},
        {"kind": SlaKind.DEADLINE, "target": float("inf")},
        {"kind": SlaKind.MAX_THROUGHPUT, "target": 1e9},
        {"kind": SlaKind.THROUGHPUT_AT_LEAST, "fraction": 1.1},
        {"kind": SlaKind.THROUGHPUT_AT_LEAST, "fraction": 0.5, "target": 1e6},
        {"kind": SlaKind.POWER_AT_MOST, "fraction": 0.5},
    ],
)
def test_sla_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(InvalidValue, match="sla"):
        Sla(**wrong)


def test_a_dynamic_energy_of_rounding_alone_is_nought():
    assert compute_energy_above_base_j(0.3, 0.1 + 0.2) == 0
    assert compute_energy_above_base_j(100.0, 101.0) == -1
