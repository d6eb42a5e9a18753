"""The chart of what faster costs: on the basis of energy that the page is asked for."""

from dataclasses import replace

import pytest

from services.admin.charts.pareto import build_pareto_chart
from tests.unit.application.recommend.models import leaf_model
from tradewind.sla.kinds import DEFAULT_CONFIDENCE, EnergyBasis, SlaKind
from tradewind.units import MIB

IDLE_W = 2.0


@pytest.mark.parametrize("basis", EnergyBasis)
def test_tiers_and_settings_are_drawn_on_the_requested_energy_basis(basis):
    leaf = leaf_model(100, 10 * MIB)
    tier = replace(leaf.partitions[0], kind=SlaKind.THROUGHPUT_AT_LEAST, energy_basis=basis)
    leaf = replace(leaf, table=replace(leaf.table, base_power_w=IDLE_W), partitions=(tier,))
    drawn = {each: build_pareto_chart(leaf, DEFAULT_CONFIDENCE, each)["series"] for each in EnergyBasis}
    assert {each: len(series[2]["data"]) for each, series in drawn.items()} == {
        each: int(each is basis) for each in EnergyBasis
    }
    total, dynamic = (min(y for _, y in drawn[each][0]["data"]) for each in (EnergyBasis.TOTAL, EnergyBasis.DYNAMIC))
    assert dynamic < total
