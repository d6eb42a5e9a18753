from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradewind.errors import InvalidTrace, InvalidValue
from tradewind.mobile.catalogue import load_shipped_catalogue
from tradewind.mobile.energy_split import (
    PAPER_UNIT_BYTES,
    EnergySplit,
    TransferWork,
    model_energy_split,
    saves_energy,
    split_power_trace,
)

S5 = load_shipped_catalogue().find_device("galaxy-s5")
LTE = S5.find_radio("lte")


def test_the_model_splits_by_hand():
    work = TransferWork(duration_s=10, received_bytes=12_500_000, utilisation={"cpu": 0.5})
    split = model_energy_split(S5, LTE, work, screen_on=True)
    assert split.base_j == pytest.approx(10 * (0.3 + 0.6 + 0.02))
    # 10 s at 10 Mbit/s: 51.97 mW a Mbit/s are 0.5197 W, saturated at 40 Mbit/s; half the CPU is 1.6 W
    assert split.dynamic_j == pytest.approx(10 * (1.28804 - 0.02 + 0.5197 / (1 + 10 / 40) + 1.6))
    assert split.tail_j == pytest.approx(1.04 * 11.576)
    assert split.total_j == pytest.approx(split.base_j + split.dynamic_j, rel=1e-9)


def test_energy_is_reported_per_100_mb_as_in_the_paper_and_per_gb():
    split = EnergySplit(base_j=5, dynamic_j=10, tail_j=1)
    assert split.compute_per_unit(PAPER_UNIT_BYTES, 50 * 10**6) == EnergySplit(base_j=10, dynamic_j=20, tail_j=2)
    assert split.compute_per_unit(10**9, 50 * 10**6).dynamic_j == pytest.approx(200)
    with pytest.raises(InvalidValue, match="above 0"):
        split.compute_per_unit(PAPER_UNIT_BYTES, 0)


def test_the_tail_is_cut_where_the_next_transfer_begins():
    work = TransferWork(duration_s=1)
    tails_j = [model_energy_split(S5, LTE, work, gap_s=gap_s).tail_j for gap_s in (0, 2, inf)]
    assert tails_j == pytest.approx([0, 2.08, 1.04 * 11.576])


def test_a_trace_is_split_exactly_where_power_is_piecewise_linear():
    # base 1 W for 4 s, then 3 W for 6 s with steep edges, then 2 W for 5 s, then 1 W again
    time_s = [0, 2, 4, 4.001, 7, 10, 10.001, 15, 15.001, 20]
    power_w = [1, 1, 1, 3, 3, 3, 2, 2, 1, 1]
    split = split_power_trace(time_s, power_w, started_s=4, ended_s=10)
    assert split.base_j == pytest.approx(6)
    assert split.dynamic_j == pytest.approx(12, abs=2e-3)
    assert split.tail_j == pytest.approx(5, abs=3e-3)
    assert split_power_trace(time_s, power_w, started_s=4, ended_s=10, tail_s=1).tail_j == pytest.approx(1, abs=2e-3)
    assert split_power_trace(time_s, power_w, started_s=4, ended_s=10, base_power_w=0.5).base_j == pytest.approx(3)


def test_tail_is_unknown_if_the_trace_ends_with_the_transfer_and_partial_if_it_ends_within_it():
    time_s, power_w = [0, 4, 4.001, 10, 10.001, 12], [1, 1, 3, 3, 2, 2]
    split = split_power_trace(time_s[:4], power_w[:4], started_s=4, ended_s=10, tail_s=5)
    assert (split.tail_j, split.compute_per_unit(PAPER_UNIT_BYTES, 10**6).tail_j) == (None, None)
    assert split_power_trace(time_s, power_w, started_s=4, ended_s=10, tail_s=5).tail_j == pytest.approx(2, abs=2e-3)


def test_the_base_power_is_of_samples_before_the_transfer_alone():
    split = split_power_trace([0, 1, 2, 3], [1, 1, 5, 1], started_s=1.5, ended_s=2.5)
    assert split.base_j == pytest.approx(1.0)


@given(st.lists(st.floats(0.01, 0.3), min_size=20, max_size=60))
def test_irregular_samples_of_a_straight_line_cost_nothing(steps_s):
    time_s = [0.0]
    for step_s in steps_s:
        time_s.append(time_s[-1] + step_s)
    middle_s, end_s = time_s[5], time_s[15]
    split = split_power_trace(
        time_s, [2 + at_s for at_s in time_s], started_s=middle_s, ended_s=end_s, base_power_w=2.0
    )
    assert split.dynamic_j == pytest.approx((end_s**2 - middle_s**2) / 2)


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"started_s": 4.0, "ended_s": 30.0}, "time_s"),
        ({"started_s": 5.0, "ended_s": 5.0}, "ended_s"),
        ({"started_s": 0.0, "ended_s": 5.0}, "base_power_w"),
        ({"started_s": 2.5, "ended_s": 5.0}, "base_power_w"),  # what lies between its samples is half the transfer's
    ],
)
def test_trace_that_does_not_cover_the_requested_interval_is_refused(options, field):
    with pytest.raises(InvalidTrace) as refused:
        split_power_trace([0.0, 5.0, 10.0], [1.0, 2.0, 1.0], **options)
    assert refused.value.field == field


@given(st.floats(0.1, 10), st.floats(0.1, 10))
def test_going_faster_saves_exactly_where_power_rises_less_than_throughput(power_ratio, throughput_ratio):
    energy_before, energy_after = 1.0, power_ratio / throughput_ratio
    assert saves_energy(power_ratio, throughput_ratio) == (energy_after < energy_before)
