"""Power from CPU time where nothing can be measured: P = P_idle + (P_max − P_idle) · u.

u is the share of the host's processors that the watched process tree used, or all processes together. The linear form
is Fan, Weber & Barroso's ("Power Provisioning for a Warehouse-sized Computer", ISCA 2007). Neither memory, disk nor
network is modelled: of two settings the one that needs less time and less CPU comes out cheaper, and nothing else.
"""

from dataclasses import dataclass

from tradewind.energy.measured import EnergyMethod, EnergyQuality, EnergyReading, Host, compute_energy_above_base_j
from tradewind.errors import InvalidValue
from tradewind_agent.meters.utilisation import HostCounters

# Cloud Carbon Footprint, methodology, appendix I: means over the processors of one provider, from SPECpower_ssj2008.
ASSUMED_IDLE_W_PER_CPU = 0.74
ASSUMED_MAX_W_PER_CPU = 3.5
ASSUMED_SOURCE = "Cloud Carbon Footprint, appendix I: 0.74 W idle and 3.5 W busy a logical CPU (SPECpower_ssj2008)"


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerProfile:
    """Coefficients of a host.

    Attributes
    ----------
    idle_w, max_w : power of the whole host with all processors idle and with all busy.
    source : where the figures come from.
    quality : assumed, or calibrated when they were fitted on this host or its kind.
    """

    idle_w: float
    max_w: float
    source: str
    quality: EnergyQuality

    def __post_init__(self) -> None:
        if self.idle_w < 0:
            raise InvalidValue("idle_w", "must not be negative")
        if self.max_w < self.idle_w:
            raise InvalidValue("max_w", "must not be below idle_w")

    def scale(self, *, idle: float, dynamic: float) -> "PowerProfile":
        """Return the profile with its idle power and its range (max − idle) multiplied."""
        idle_w = idle * self.idle_w
        return PowerProfile(
            idle_w=idle_w,
            max_w=idle_w + dynamic * (self.max_w - self.idle_w),
            source=f"{self.source}; idle × {idle:g}, dynamic × {dynamic:g}",
            quality=self.quality,
        )


def build_assumed_profile(logical_cpus: int) -> PowerProfile:
    """Return the assumed profile of a host with so many logical CPUs."""
    return PowerProfile(
        idle_w=logical_cpus * ASSUMED_IDLE_W_PER_CPU,
        max_w=logical_cpus * ASSUMED_MAX_W_PER_CPU,
        source=ASSUMED_SOURCE,
        quality=EnergyQuality.ASSUMED,
    )


def build_calibrated_profile(idle_w: float, max_w: float, *, source: str) -> PowerProfile:
    """Build a profile whose coefficients were measured, by the calibration or by the user."""
    return PowerProfile(idle_w=idle_w, max_w=max_w, source=source, quality=EnergyQuality.CALIBRATED)


class CpuModelMeter:
    """Energy by the CPU model for the process tree that the counters watch, or for all processes of the host.

    Parameters
    ----------
    counts_all : whether all processes count. A transfer counts its own, so that its energy does not depend on others.
    """

    method = EnergyMethod.CPU_MODEL

    def __init__(self, profile: PowerProfile, *, counts_all: bool = False) -> None:
        self.profile = profile
        self.counts_all = counts_all

    @property
    def quality(self) -> EnergyQuality:
        return self.profile.quality

    @property
    def base_w(self) -> float | None:
        return self.profile.idle_w

    @property
    def description(self) -> str:
        profile = self.profile
        load = " of all processes" if self.counts_all else ""
        return f"CPU model{load}, {profile.idle_w:.3g} W idle and {profile.max_w:.3g} W busy ({profile.source})"

    def read_energy_j(self, counters: HostCounters) -> float:
        """Return the energy since the clock's and the counters' own origins, J: only differences mean something."""
        cpu_s = counters.busy_cpu_s if self.counts_all else counters.tree_cpu_s
        return compute_modelled_energy_j(self.profile, counters.at_s, cpu_s, counters.logical_cpus)


def compute_modelled_energy_j(profile: PowerProfile, duration_s: float, cpu_s: float, logical_cpus: int) -> float:
    """∫ P dt = P_idle · duration + (P_max − P_idle) · cpu_s / logical_cpus, exact however u varies in between."""
    return profile.idle_w * duration_s + (profile.max_w - profile.idle_w) * cpu_s / logical_cpus


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuWork:
    """What the model's energy depends on besides its coefficients; stored so that a comparison can be priced again."""

    duration_s: float
    cpu_s: float
    logical_cpus: int


def reprice(
    work: CpuWork, profile: PowerProfile, *, host: Host, factor_idle: float = 1.0, factor_dynamic: float = 1.0
) -> EnergyReading:
    """Return the reading that the model would have given with its coefficients multiplied.

    A comparison of modelled energies holds only if it holds for factors from 0.5 to 1.5.
    """
    scaled = profile.scale(idle=factor_idle, dynamic=factor_dynamic)
    total_j = compute_modelled_energy_j(scaled, work.duration_s, work.cpu_s, work.logical_cpus)
    return EnergyReading(
        host=host,
        total_j=total_j,
        dynamic_j=compute_energy_above_base_j(total_j, scaled.idle_w * work.duration_s),
        base_w=scaled.idle_w,
        method=EnergyMethod.CPU_MODEL,
        quality=profile.quality,
    )
