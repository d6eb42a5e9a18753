"""Which meter to use here, and why not a better one."""

from dataclasses import dataclass
from pathlib import Path

from tradewind.energy.measured import EnergyMethod
from tradewind_agent.meters.battery import BatteryMeter
from tradewind_agent.meters.calibrated_model import CalibratedMeter
from tradewind_agent.meters.cpu_model import CpuModelMeter, PowerProfile, build_assumed_profile
from tradewind_agent.meters.external.source import MeterSource
from tradewind_agent.meters.meter import Meter, MeterUnavailable
from tradewind_agent.meters.rapl import RaplMeter
from tradewind_agent.meters.utilisation import describe_processors


@dataclass(frozen=True, slots=True)
class MeterChoice:
    """The best meter that can be read, and the reason for each better one that cannot.

    ``note`` : why it is not the one that the user named; ``None`` if it is, or none was named.
    """

    meter: Meter
    refusals: tuple[tuple[EnergyMethod, str], ...]
    note: str | None = None

    @property
    def explanation(self) -> str:
        """One line: method, quality, what it reads, and why nothing better."""
        reasons = "; ".join(f"no {method}: {reason}" for method, reason in self.refusals)
        chosen = f"{self.meter.method} ({self.meter.quality}): {self.meter.description}"
        return f"{chosen}; {reasons}" if reasons else chosen


def choose_meter(
    *,
    logical_cpus: int,
    profile: PowerProfile | None = None,
    calibrated: CalibratedMeter | None = None,
    source: MeterSource | None = None,
    sysfs: Path = Path("/sys"),
) -> MeterChoice:
    """Choose the named meter, RAPL, a discharging battery, a calibrated model or else the CPU model.

    The first that can be read; the CPU model always works.

    Parameters
    ----------
    profile : coefficients for the CPU model; assumed ones for ``logical_cpus`` by default.
    calibrated : this host's own model, where it was calibrated and no ``profile`` is given; one of other processors is
        refused, such as of a home that several hosts share.
    source : the meter that the user names.
    sysfs : where sysfs is mounted.
    """
    if source is not None:
        try:
            return MeterChoice(source.open(), ())
        except MeterUnavailable as unavailable:
            other = _choose_own_meter(logical_cpus, profile, calibrated, sysfs)
            refusals = ((EnergyMethod.METER, str(unavailable)), *other.refusals)
            note = f"{source} cannot be read: {unavailable}; metered by {other.meter.method} instead"
            return MeterChoice(other.meter, refusals, note)
    return _choose_own_meter(logical_cpus, profile, calibrated, sysfs)


def _choose_own_meter(
    logical_cpus: int, profile: PowerProfile | None, calibrated: CalibratedMeter | None, sysfs: Path
) -> MeterChoice:
    refusals: list[tuple[EnergyMethod, str]] = []
    for measured in (RaplMeter, BatteryMeter):
        try:
            return MeterChoice(measured(sysfs), tuple(refusals))
        except MeterUnavailable as error:
            refusals.append((measured.method, str(error)))
    if calibrated is not None and profile is None:
        if calibrated.host in (None, describe_processors()):
            return MeterChoice(calibrated, tuple(refusals))
        refusals.append((calibrated.method, f"it was calibrated on {calibrated.host}; calibrate this host, too"))
    return MeterChoice(CpuModelMeter(profile or build_assumed_profile(logical_cpus)), tuple(refusals))
