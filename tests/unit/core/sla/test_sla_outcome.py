import pytest

from tradewind.energy.measured import EnergyMethod, EnergyQuality, EnergyReading, Host
from tradewind.sla.kinds import EnergyBasis, Sla, SlaKind
from tradewind.sla.outcome import format_target, is_met

DURATION_S = 10.0


def reading(host: Host, total_j: float, dynamic_j: float | None) -> EnergyReading:
    return EnergyReading(
        host=host,
        total_j=total_j,
        dynamic_j=dynamic_j,
        method=EnergyMethod.CPU_MODEL,
        quality=EnergyQuality.ASSUMED,
    )


HERE = reading(Host.DESTINATION, 60.0, 20.0)
THERE = reading(Host.SOURCE, 40.0, 10.0)


def outcome(agreement: Sla, *energy: EnergyReading) -> bool | None:
    return is_met(agreement, throughput_bps=1e8, duration_s=DURATION_S, energy=energy)


@pytest.mark.parametrize(
    ("kind", "met", "missed"),
    [
        (SlaKind.THROUGHPUT_AT_LEAST, 1e8, 1.1e8),
        (SlaKind.DEADLINE, DURATION_S, 9.9),
        (SlaKind.ENERGY_AT_MOST, 100.0, 99.0),
        (SlaKind.POWER_AT_MOST, 10.0, 9.9),
    ],
)
def test_target_is_met_exactly_and_missed_beyond(kind, met, missed):
    assert outcome(Sla(kind=kind, target=met), HERE, THERE) is True
    assert outcome(Sla(kind=kind, target=missed), HERE, THERE) is False


def test_energy_is_judged_on_the_basis_of_the_sla():
    agreed = Sla(kind=SlaKind.ENERGY_AT_MOST, target=30.0, energy_basis=EnergyBasis.DYNAMIC)
    assert outcome(agreed, HERE, THERE) is True
    assert outcome(Sla(kind=SlaKind.ENERGY_AT_MOST, target=30.0), HERE, THERE) is False


def test_one_metered_end_can_break_an_sla_but_not_meet_it():
    assert outcome(Sla(kind=SlaKind.ENERGY_AT_MOST, target=50.0), HERE) is False
    assert outcome(Sla(kind=SlaKind.ENERGY_AT_MOST, target=70.0), HERE) is None
    assert outcome(Sla(kind=SlaKind.ENERGY_AT_MOST, target=70.0)) is None


@pytest.mark.parametrize(
    "agreement", [Sla(kind=SlaKind.MAX_THROUGHPUT), Sla(kind=SlaKind.THROUGHPUT_AT_LEAST, fraction=0.9)]
)
def test_sla_without_a_target_is_not_judged(agreement):
    assert outcome(agreement, HERE, THERE) is None


@pytest.mark.parametrize(
    ("kind", "target", "words"),
    [
        (SlaKind.THROUGHPUT_AT_LEAST, 5e8, "at least 500 Mbit/s"),
        (SlaKind.ENERGY_AT_MOST, 4000.0, "at most 4 kJ"),
        (SlaKind.POWER_AT_MOST, 15.0, "at most 15 W"),
        (SlaKind.DEADLINE, 7200.0, "within 2 h"),
    ],
)
def test_target_is_formatted_in_its_unit(kind, target, words):
    assert format_target(Sla(kind=kind, target=target)) == words
