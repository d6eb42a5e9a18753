"""Cost and carbon of a finished transfer by end, and the network path apart from them."""

from datetime import UTC, datetime, timedelta

import pytest

from tradewind.energy.measured import EnergyMethod, EnergyQuality, EnergyReading, Host
from tradewind.errors import InvalidValue
from tradewind.grid.footprint import compute_footprint
from tradewind.grid.hours import Hour, HourlySeries
from tradewind.grid.network_energy import NetworkEnergyRate, estimate_network_energy
from tradewind.grid.schedule import GridEnd
from tradewind.sla.kinds import EnergyBasis

NOON = datetime(2026, 11, 28, 12, tzinfo=UTC)
KNOWN = GridEnd(
    endpoint="a",
    region="DE",
    currency="EUR",
    series=HourlySeries.of([Hour(NOON, -0.1, 200.0), Hour(NOON + timedelta(hours=1), 0.3, 400.0)]),
)


def reading(host: Host, total_j: float = 3.6e6, dynamic_j: float | None = 1.8e6) -> EnergyReading:
    return EnergyReading(
        host=host, total_j=total_j, method=EnergyMethod.RAPL, quality=EnergyQuality.MEASURED, dynamic_j=dynamic_j
    )


def footprint(end: GridEnd, *energy: EnergyReading, basis: EnergyBasis = EnergyBasis.TOTAL, minutes: float = 120):  # type: ignore[no-untyped-def]
    return compute_footprint(
        Host.SOURCE, end, energy, basis=basis, started_at=NOON, ended_at=NOON + timedelta(minutes=minutes)
    )


def test_energy_is_counted_at_the_mean_of_its_hours_on_its_basis() -> None:
    total = footprint(KNOWN, reading(Host.SOURCE))
    assert total.carbon_g == pytest.approx(300)
    assert total.cost == pytest.approx(0.1)
    assert total.unknown is None
    dynamic = footprint(KNOWN, reading(Host.SOURCE), basis=EnergyBasis.DYNAMIC, minutes=60)
    assert dynamic.carbon_g == pytest.approx(100)
    assert dynamic.cost == pytest.approx(-0.05)


def test_unknown_is_stated_and_never_zero() -> None:
    assert footprint(KNOWN, reading(Host.DESTINATION)).unknown == "not metered"
    assert footprint(GridEnd(endpoint="b"), reading(Host.SOURCE)).unknown == "its region is unknown"
    late = footprint(KNOWN, reading(Host.SOURCE), minutes=121)
    assert (late.carbon_g, late.cost) == (None, None)
    assert late.unknown == "DE has no hours of this time"
    no_base = footprint(KNOWN, reading(Host.SOURCE, dynamic_j=None), basis=EnergyBasis.DYNAMIC)
    assert "without a transfer" in (no_base.unknown or "")


def test_network_is_a_range_from_both_end_systems_or_the_own_rate_of_the_path() -> None:
    both = (reading(Host.SOURCE, 60.0), reading(Host.DESTINATION, 30.0))
    estimated = estimate_network_energy(None, both, 10**9)
    assert estimated is not None
    assert estimated.low_j == pytest.approx(10)
    assert estimated.high_j == pytest.approx(270)
    assert "25 to 90 %" in estimated.source
    assert estimate_network_energy(None, both[:1], 10**9) is None
    own = estimate_network_energy(NetworkEnergyRate(100.0, 400.0, "operator"), (), 5 * 10**8)
    assert own == (50.0, 200.0, "operator")
    with pytest.raises(InvalidValue, match="low_j_per_gb"):
        NetworkEnergyRate(2.0, 1.0, "operator").check()
