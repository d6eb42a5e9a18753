from uuid import UUID

import pytest

from tradewind.parameters import UNTUNED
from tradewind.prediction import Interval, Prediction
from tradewind_agent.copy.reporting.report import build_plan_document, format_efficiency
from tradewind_agent.session.planning import Plan, plan_set_by_hand


def predicted(energy_j: Interval | None, power_w: Interval | None) -> dict[str, object]:
    given = plan_set_by_hand(UUID(int=1), UNTUNED)
    prediction = Prediction(throughput_bps=Interval(1e8, 8e7, 1.2e8), energy_j=energy_j, power_w=power_w)
    plan = Plan(
        transfer_id=given.transfer_id, chunks=given.chunks, source="release", rationale="", predicted=prediction
    )
    return build_plan_document(plan)["predicted"]


def test_a_prediction_with_energy_reports_both_metrics_of_efficiency():
    told = predicted(Interval(200.0, 180.0, 220.0), Interval(20.0, 18.0, 22.0))
    assert told["bits_per_joule"] == pytest.approx(1e8 / 20.0)
    assert told["throughput_per_joule"] == pytest.approx(1e8 / 200.0)


@pytest.mark.parametrize("energy_j", [None, Interval(-1.0, -5.0, 3.0)])
def test_without_energy_above_nothing_no_efficiency_is_reported(energy_j):
    told = predicted(energy_j, None if energy_j is None else Interval(-0.1, -0.5, 0.3))
    assert told["bits_per_joule"] is None
    assert told["throughput_per_joule"] is None


def test_bits_a_joule_are_reported_to_users_where_energy_is_known():
    assert format_efficiency(1e8, 200.0, 10.0) == "; 5 Mbit/J"
    assert format_efficiency(1e8, None, 10.0) == ""
