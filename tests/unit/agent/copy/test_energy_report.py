import pytest

from tradewind.energy.measured import EnergyMethod, EnergyQuality, EnergyReading, Host
from tradewind_agent.copy.reporting.energy_report import build_energy_split, format_energy

MB = 10**6


def reading(**parts):
    return EnergyReading(
        host=Host.DESTINATION, total_j=50.0, method=EnergyMethod.RAPL, quality=EnergyQuality.MEASURED, **parts
    )


def test_base_dynamic_and_tail_are_reported_entire_and_for_each_100_mb_and_gb():
    split = build_energy_split(reading(dynamic_j=30.0, tail_j=12.0), 200 * MB)
    assert split == {
        "host": "destination",
        "base_j": 20.0,
        "dynamic_j": 30.0,
        "tail_j": 12.0,
        "per_100_mb": {"base_j": 10.0, "dynamic_j": 15.0, "tail_j": 6.0},
        "per_gb": pytest.approx({"base_j": 100.0, "dynamic_j": 150.0, "tail_j": 60.0}),
    }
    line = format_energy(reading(dynamic_j=30.0, tail_j=12.0), 200 * MB)
    assert line == (
        "50 J at the destination, 30 J of it dynamic (rapl, measured), 12 J of tail after it (modelled); "
        "per 100 MB: 10 J base, 15 J dynamic, 6 J tail"
    )


def test_unknown_energy_is_none_and_never_zero():
    split = build_energy_split(reading(), 200 * MB)
    assert (split["base_j"], split["dynamic_j"], split["tail_j"]) == (None, None, None)
    assert split["per_gb"] == {"base_j": None, "dynamic_j": None, "tail_j": None}
    assert format_energy(reading(), 200 * MB) == "50 J at the destination (rapl, measured)"
    assert format_energy(reading(tail_j=12.0), 200 * MB).endswith("(modelled); per 100 MB: 6 J tail")


def test_transfer_of_no_bytes_has_no_energy_per_byte():
    split = build_energy_split(reading(dynamic_j=30.0, tail_j=12.0), 0)
    assert (split["tail_j"], split["per_100_mb"], split["per_gb"]) == (12.0, None, None)
    assert format_energy(reading(tail_j=12.0), 0).endswith("12 J of tail after it (modelled)")
