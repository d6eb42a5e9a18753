import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.tuning.simulated_path import BASE_W, SimulatedPath, chunk_basis
from tradewind.dataset import DataSet
from tradewind.parameters import UNTUNED
from tradewind.sla.kinds import EnergyBasis, Sla, SlaKind
from tradewind.tiers.setting_table import Objective
from tradewind.tuning import Basis
from tradewind.tuning.bank import (
    KAPPA,
    Bank,
    compute_bank_balance,
    compute_bank_limit_bits,
    credit_bank,
    estimate_bank,
    set_goal,
)

GIGABYTE = DataSet(file_count=100, total_bytes=10**9)


def basis(kind: SlaKind, target: float | None = None, **values) -> Basis:
    sla = Sla(kind=kind, target=target, **values)
    return Basis(sla, (chunk_basis(GIGABYTE, UNTUNED, SimulatedPath().table(1e7)),), base_power_w=BASE_W)


AT_LEAST_50 = basis(SlaKind.THROUGHPUT_AT_LEAST, 50e6)


def aim(of: Basis, bank: Bank, *, remaining_bytes=10**9, elapsed_s=0.0, knows_power=True):
    return set_goal(bank, of, remaining_bytes=remaining_bytes, elapsed_s=elapsed_s, knows_power=knows_power)


@given(st.lists(st.floats(0, 1e9), max_size=30))
def test_the_bank_stays_within_its_limits(rates):
    bank, limit = Bank(), compute_bank_limit_bits(AT_LEAST_50, 50e6)
    for rate in rates:
        bank = credit_bank(bank, AT_LEAST_50, throughput_bps=rate, power_w=None, interval_s=5.0)
        assert -limit <= bank.bits <= limit


def test_an_empty_bank_aims_above_the_target_and_a_full_one_at_it():
    limit = compute_bank_limit_bits(AT_LEAST_50, 50e6)
    assert aim(AT_LEAST_50, Bank()).floor_bps == pytest.approx(50e6 * (1 + KAPPA))
    assert aim(AT_LEAST_50, Bank(limit)).floor_bps == pytest.approx(50e6)
    assert aim(AT_LEAST_50, Bank(-limit)).floor_bps == pytest.approx(50e6 * (1 + 2 * KAPPA))


@given(st.floats(-1.5e9, 1.5e9), st.floats(-1.5e9, 1.5e9))
def test_the_goal_falls_as_the_bank_fills(one, other):
    low, high = sorted((one, other))
    assert aim(AT_LEAST_50, Bank(low)).floor_bps >= aim(AT_LEAST_50, Bank(high)).floor_bps


def test_a_deficit_raises_the_goal_enough_to_make_up_for_it():
    bank = credit_bank(Bank(), AT_LEAST_50, throughput_bps=30e6, power_w=None, interval_s=20.0)
    assert bank.bits == pytest.approx(-4e8)
    for _ in range(100):
        floor = aim(AT_LEAST_50, bank).floor_bps
        bank = credit_bank(bank, AT_LEAST_50, throughput_bps=floor, power_w=None, interval_s=5.0)
    assert bank.bits > 0


def test_a_deadline_asks_for_the_rate_that_the_bytes_left_need_in_the_time_left():
    of = basis(SlaKind.DEADLINE, 200.0)
    assert aim(of, Bank()).floor_bps == pytest.approx(8e9 / (200 * 0.95))
    assert aim(of, Bank(), remaining_bytes=5 * 10**8, elapsed_s=150).floor_bps == pytest.approx(4e9 / (50 * 0.95))
    assert aim(of, Bank(), elapsed_s=300).floor_bps == pytest.approx(8e9)  # all of it within a second


def test_energy_left_bounds_what_each_byte_left_may_cost():
    of = basis(SlaKind.ENERGY_AT_MOST, 5000.0)
    assert aim(of, Bank()).ceiling_j_per_byte == pytest.approx(5e-6)
    assert aim(of, Bank(used_j=3000.0), remaining_bytes=5 * 10**8).ceiling_j_per_byte == pytest.approx(4e-6)
    assert aim(of, Bank(used_j=6000.0), remaining_bytes=10**8).ceiling_j_per_byte == 0


def test_saved_watts_may_be_spent_within_a_fifth_of_the_target_power():
    of = basis(SlaKind.POWER_AT_MOST, 60.0)
    assert aim(of, Bank(used_j=600.0), elapsed_s=10.0).ceiling_w == pytest.approx(60)
    assert aim(of, Bank(used_j=500.0), elapsed_s=10.0).ceiling_w == pytest.approx(60 + 100 / 60)
    assert aim(of, Bank(used_j=0.0), elapsed_s=1000.0).ceiling_w == pytest.approx(72)
    assert aim(of, Bank(used_j=1e6), elapsed_s=1000.0).ceiling_w == pytest.approx(48)


def test_the_dynamic_basis_counts_power_above_the_base():
    of = basis(SlaKind.ENERGY_AT_MOST, 5000.0, energy_basis=EnergyBasis.DYNAMIC)
    assert credit_bank(Bank(), of, throughput_bps=1e6, power_w=BASE_W + 10, interval_s=5.0).used_j == pytest.approx(50)
    assert credit_bank(Bank(), of, throughput_bps=1e6, power_w=None, interval_s=5.0).used_j == 0


@pytest.mark.parametrize(
    ("kind", "target", "knows_power", "objective"),
    [
        (SlaKind.MAX_THROUGHPUT, None, True, Objective.SLOWNESS),
        (SlaKind.MIN_ENERGY, None, True, Objective.ENERGY),
        (SlaKind.MIN_ENERGY, None, False, Objective.SLOWNESS),
        (SlaKind.ENERGY_EFFICIENCY, None, True, Objective.EFFICIENCY),
        (SlaKind.ENERGY_EFFICIENCY, None, False, Objective.SLOWNESS),
        (SlaKind.THROUGHPUT_AT_LEAST, 50e6, True, Objective.ENERGY),
        (SlaKind.THROUGHPUT_AT_LEAST, 50e6, False, Objective.STREAMS),
        (SlaKind.DEADLINE, 100.0, False, Objective.STREAMS),
        (SlaKind.POWER_AT_MOST, 60.0, True, Objective.SLOWNESS),
        (SlaKind.ENERGY_AT_MOST, 5e3, True, Objective.SLOWNESS),
    ],
)
def test_objective_once_the_sla_is_met(kind, target, knows_power, objective):
    assert aim(basis(kind, target), Bank(), knows_power=knows_power).objective is objective


def test_a_share_of_a_maximum_that_nobody_knows_asks_for_speed():
    sla = Sla(kind=SlaKind.THROUGHPUT_AT_LEAST, fraction=0.9)
    unknown = Basis(sla, (chunk_basis(GIGABYTE, UNTUNED),))
    assert aim(unknown, Bank()).objective is Objective.SLOWNESS
    known = Basis(sla, (chunk_basis(GIGABYTE, UNTUNED, SimulatedPath().table(1e7)),))
    assert aim(known, Bank()).floor_bps > 0.9 * 1e8 * 0.7


def test_balance_has_the_unit_of_the_sla():
    def balance_of(kind, target, bank, elapsed_s):
        return compute_bank_balance(bank, basis(kind, target), remaining_bytes=5 * 10**8, elapsed_s=elapsed_s)

    assert balance_of(SlaKind.MAX_THROUGHPUT, None, Bank(5.0, 5.0), 10) == 0
    assert balance_of(SlaKind.THROUGHPUT_AT_LEAST, 50e6, Bank(7e6), 10) == 7e6
    assert balance_of(SlaKind.DEADLINE, 100.0, Bank(), 40) == pytest.approx(4e9 - 40 * 8e7)
    assert balance_of(SlaKind.ENERGY_AT_MOST, 5000.0, Bank(used_j=2000), 40) == pytest.approx(500)
    assert balance_of(SlaKind.POWER_AT_MOST, 60.0, Bank(used_j=2000), 40) == pytest.approx(400)


def test_lost_books_are_estimated_from_what_the_transfer_has_come_to():
    bank = estimate_bank(AT_LEAST_50, remaining_bytes=5 * 10**8, elapsed_s=70.0, power_w=60.0)
    assert bank.bits == pytest.approx(4e9 - 70 * 50e6)
    assert bank.used_j == pytest.approx(70 * 60)
    assert estimate_bank(AT_LEAST_50, remaining_bytes=10**9, elapsed_s=0.0, power_w=60.0) == Bank()
