"""Targets of past requests, in the units of tiers."""

from tradewind.sla.kinds import EnergyBasis, Sla, SlaKind
from tradewind.tiers.demand import RequestedSla, collect_demand

TOTAL, DYNAMIC = EnergyBasis.TOTAL, EnergyBasis.DYNAMIC


def request(kind: SlaKind, target: float | None = None, **settings: object) -> RequestedSla:
    return RequestedSla(Sla(kind=kind, target=target, **settings), 1_000_000)  # type: ignore[arg-type]


def test_targets_are_those_of_tiers_whatever_the_size_of_the_data_set() -> None:
    demand = collect_demand(
        [
            request(SlaKind.THROUGHPUT_AT_LEAST, 5e6),
            request(SlaKind.DEADLINE, 4.0),
            request(SlaKind.ENERGY_AT_MOST, 20.0, energy_basis=DYNAMIC),
            request(SlaKind.POWER_AT_MOST, 30.0),
        ]
    )
    assert demand == {
        (SlaKind.THROUGHPUT_AT_LEAST, TOTAL): [5e6, 2e6],
        (SlaKind.ENERGY_AT_MOST, DYNAMIC): [2e-5],
        (SlaKind.POWER_AT_MOST, TOTAL): [30.0],
    }


def test_a_request_without_a_basis_counts_on_both() -> None:
    demand = collect_demand([request(SlaKind.THROUGHPUT_AT_LEAST, 5e6, has_default_basis=True)])
    assert demand == {(SlaKind.THROUGHPUT_AT_LEAST, basis): [5e6] for basis in EnergyBasis}


def test_request_without_a_fixed_target_is_left_out() -> None:
    fraction = request(SlaKind.THROUGHPUT_AT_LEAST, fraction=0.8)
    nothing = RequestedSla(Sla(kind=SlaKind.DEADLINE, target=4.0), 0)
    assert collect_demand([request(SlaKind.MAX_THROUGHPUT), fraction, nothing]) == {}
