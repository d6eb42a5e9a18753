"""Whether a transfer that has ended kept what was agreed, and that in words."""

from collections.abc import Sequence

from tradewind.energy import EnergyReading, Host
from tradewind.sla import EnergyBasis, Sla, SlaKind
from tradewind.units import format_bps, format_joules, format_seconds


def kept(agreement: Sla, *, throughput_bps: float, duration_s: float, energy: Sequence[EnergyReading]) -> bool | None:
    """Whether the target was met, by what was measured.

    ``None`` without a target (the most, the least, or a share of a rate that is not known), and where energy was agreed
    and one end alone was metered and is below it.

    Parameters
    ----------
    throughput_bps, duration_s : of the whole transfer, bit/s and s.
    energy : one reading an end that was metered.
    """
    if agreement.target is None:
        return None
    match agreement.kind:
        case SlaKind.THROUGHPUT_AT_LEAST:
            return throughput_bps >= agreement.target
        case SlaKind.DEADLINE:
            return duration_s <= agreement.target
    joules = [each.dynamic_j if agreement.energy_basis is EnergyBasis.DYNAMIC else each.total_j for each in energy]
    known_j = sum(each for each in joules if each is not None)
    most_j = agreement.target if agreement.kind is SlaKind.ENERGY_AT_MOST else agreement.target * duration_s
    if known_j > most_j:
        return False
    return True if len(joules) == len(Host) and None not in joules else None


def told(agreement: Sla) -> str:
    """The target of an agreement that has one, such as ``at least 500 Mbit/s``."""
    target = agreement.target or 0.0
    match agreement.kind:
        case SlaKind.THROUGHPUT_AT_LEAST:
            return f"at least {format_bps(target)}"
        case SlaKind.ENERGY_AT_MOST:
            return f"at most {format_joules(target)}"
        case SlaKind.POWER_AT_MOST:
            return f"at most {target:.3g} W"
        case _:
            return f"within {format_seconds(target)}"
