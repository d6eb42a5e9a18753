"""Whether a finished transfer has met its SLA, and the SLA's target as text."""

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple, assert_never

from tradewind.energy.measured import EnergyReading, Host
from tradewind.sla.kinds import EnergyBasis, Sla, SlaKind
from tradewind.units import BITS_PER_BYTE, format_bps, format_joules, format_seconds


class MeteredEnergy(NamedTuple):
    """Energy on one basis, J, and the ends that metered it; ``None`` where none did."""

    joules: float | None
    hosts: tuple[Host, ...]

    def compute_power_w(self, duration_s: float | None) -> float | None:
        """Return the mean power of those ends together, W."""
        return None if self.joules is None or not duration_s else self.joules / duration_s


class NoVerdict(StrEnum):
    """Why a finished transfer has neither met nor missed its SLA."""

    CANCELLED = "cancelled"
    SHARE = "share"
    """The target was a share of a rate that the service expected."""
    NO_TARGET = "no target"
    NOT_METERED = "not metered"
    ONE_END = "one end"
    """One end alone was metered, and stayed below the target."""
    NO_BASE_POWER = "no base power"


def sum_metered_energy(energy: Sequence[EnergyReading], basis: EnergyBasis) -> MeteredEnergy:
    """Add up the energy of the metered ends on a basis."""
    by_host_j = {
        reading.host: reading.dynamic_j if basis is EnergyBasis.DYNAMIC else reading.total_j for reading in energy
    }
    known = {host: joules for host, joules in by_host_j.items() if joules is not None}
    return MeteredEnergy(sum(known.values()) if known else None, tuple(known))


def compute_required_throughput_bps(sla: Sla, *, total_bytes: int, share_bps: float | None) -> float | None:
    """Return the mean throughput that an SLA requires; ``None`` for an SLA on neither throughput nor time.

    Parameters
    ----------
    share_bps : the rate that a share of the certifiable maximum stands for.
    """
    if sla.fraction is not None:
        return share_bps
    if sla.kind is SlaKind.DEADLINE and sla.target:
        return BITS_PER_BYTE * total_bytes / sla.target
    return sla.target if sla.kind is SlaKind.THROUGHPUT_AT_LEAST else None


def explain_no_verdict(sla: Sla, energy: Sequence[EnergyReading], *, cancelled: bool) -> NoVerdict:
    """Return why a transfer without a verdict has none."""
    if cancelled:
        return NoVerdict.CANCELLED
    if sla.fraction is not None:
        return NoVerdict.SHARE
    if sla.target is None:
        return NoVerdict.NO_TARGET
    if not energy:
        return NoVerdict.NOT_METERED
    return NoVerdict.ONE_END if len(energy) < len(Host) else NoVerdict.NO_BASE_POWER


def is_met(sla: Sla, *, throughput_bps: float, duration_s: float, energy: Sequence[EnergyReading]) -> bool | None:
    """Return whether the target was met, by what was measured.

    ``None`` without a target (the most, the least, or a share of a rate that is not known), and where energy was agreed
    and one end alone was metered and is below it.

    Parameters
    ----------
    throughput_bps, duration_s : of the entire transfer, bit/s and s.
    energy : one reading an end that was metered.
    """
    if sla.target is None:
        return None
    match sla.kind:
        case SlaKind.THROUGHPUT_AT_LEAST:
            return throughput_bps >= sla.target
        case SlaKind.DEADLINE:
            return duration_s <= sla.target
    known = sum_metered_energy(energy, sla.energy_basis)
    most_j = sla.target if sla.kind is SlaKind.ENERGY_AT_MOST else sla.target * duration_s
    if known.joules is not None and known.joules > most_j:
        return False
    return True if len(known.hosts) == len(Host) else None


def format_target(sla: Sla) -> str:
    """Format the target of an SLA that has one, such as ``at least 500 Mbit/s``."""
    target = sla.target or 0.0
    match sla.kind:
        case SlaKind.THROUGHPUT_AT_LEAST:
            return f"at least {format_bps(target)}"
        case SlaKind.ENERGY_AT_MOST:
            return f"at most {format_joules(target)}"
        case SlaKind.POWER_AT_MOST:
            return f"at most {target:.3g} W"
        case SlaKind.DEADLINE:
            return f"within {format_seconds(target)}"
        case SlaKind.MAX_THROUGHPUT | SlaKind.MIN_ENERGY | SlaKind.ENERGY_EFFICIENCY:
            raise ValueError(f"{sla.kind} has no target")
        case _:
            assert_never(sla.kind)
