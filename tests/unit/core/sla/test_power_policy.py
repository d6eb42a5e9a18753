"""Power policies decide which energy counts where nobody names a basis."""

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradewind.sla.kinds import EnergyBasis, Sla, SlaKind
from tradewind.sla.power_policy import PowerPolicy, choose_energy_basis
from tradewind.wire.recommendations import WireSla

ON, BOOTED, BATTERY = PowerPolicy.ALWAYS_ON, PowerPolicy.ON_FOR_TRANSFERS, PowerPolicy.BATTERY
DYNAMIC, TOTAL = EnergyBasis.DYNAMIC, EnergyBasis.TOTAL


@pytest.mark.parametrize(
    ("policies", "basis"),
    [
        ((), TOTAL),
        ((None, None), TOTAL),
        ((ON, ON), DYNAMIC),
        ((ON, None), DYNAMIC),
        ((BATTERY, None), TOTAL),
        ((ON, BATTERY), TOTAL),
        ((ON, BOOTED), TOTAL),
    ],
)
def test_total_counts_as_soon_as_it_counts_at_one_end(policies, basis):
    assert {choose_energy_basis(each) for each in permutations(policies)} == {basis}


@given(st.lists(st.sampled_from(PowerPolicy) | st.none(), max_size=6))
def test_dynamic_energy_counts_only_where_no_end_spends_its_idle_power_on_the_transfer(policies):
    is_dynamic = choose_energy_basis(policies) is DYNAMIC
    assert is_dynamic == (ON in policies and not {BOOTED, BATTERY} & set(policies))


@given(st.sampled_from(EnergyBasis), st.sampled_from(EnergyBasis))
def test_named_basis_withstands_every_policy(named, default):
    assert Sla(kind=SlaKind.MIN_ENERGY, energy_basis=named).with_basis(default).energy_basis is named


@given(st.sampled_from(EnergyBasis))
def test_basis_that_nobody_named_is_the_default_from_then_on(default):
    settled = Sla(kind=SlaKind.MIN_ENERGY, has_default_basis=True).with_basis(default)
    assert settled == Sla(kind=SlaKind.MIN_ENERGY, energy_basis=default)


@pytest.mark.parametrize("sla", [
    Sla(kind=SlaKind.MIN_ENERGY, has_default_basis=True),
    Sla(kind=SlaKind.ENERGY_AT_MOST, target=4.0, energy_basis=DYNAMIC),
    Sla(kind=SlaKind.THROUGHPUT_AT_LEAST, fraction=0.9, confidence=0.99),
])  # fmt: skip
def test_wire_says_whether_the_basis_was_named(sla):
    wire = WireSla.from_sla(sla)
    assert (wire.energy_basis is None) == sla.has_default_basis
    assert WireSla.model_validate_json(wire.model_dump_json(exclude_none=True)).to_sla() == sla


def test_other_target_leaves_the_basis_as_it_was_named():
    sla = Sla(kind=SlaKind.ENERGY_AT_MOST, target=4.0, has_default_basis=True)
    assert sla.with_target(2.0).has_default_basis
