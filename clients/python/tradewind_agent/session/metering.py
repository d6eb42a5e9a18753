"""The meter of this host for transfers: it is chosen once, and each transfer has a session of it."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING

import psutil

from tradewind.energy.measured import EnergyMethod, EnergyQuality, Host
from tradewind.errors import InvalidValue
from tradewind.units import parse_watts
from tradewind_agent.meters import (
    CalibratedMeter,
    CpuModelMeter,
    HostReader,
    MeterChoice,
    MeterResult,
    MeterSession,
    PowerProfile,
    choose_meter,
    measure_base_power,
)
from tradewind_agent.meters.battery import GAUGE_S
from tradewind_agent.meters.external.source import MeterSource

if TYPE_CHECKING:
    from tradewind.mobile.profiles import RadioProfile

BASE_POWER_S = 1.0
"""How long a meter that does not know the idle power measures it before a transfer."""

SAMPLE_INTERVAL_S = 0.5


@dataclass(frozen=True, slots=True)
class HostMeter:
    """The best meter of this host, with the counters that it needs.

    Only one session may run at a time: a meter continues from its last reading, and it reads the entire host.

    ``base_power_s`` : how long to measure the base power first where the meter does not know it, s; with 0 the dynamic
    energy stays unknown.
    ``radio`` : the radio that this host transfers over, if known. Its tail follows the last byte; no meter here waits
    for it, so it is modelled.
    """

    choice: MeterChoice
    reader: HostReader
    base_power_s: float = BASE_POWER_S
    radio: "RadioProfile | None" = None

    @classmethod
    def of_this_host(
        cls,
        profile: PowerProfile | None = None,
        *,
        calibrated: CalibratedMeter | None = None,
        base_power_s: float = BASE_POWER_S,
        source: MeterSource | None = None,
    ) -> "HostMeter":
        """Choose ``source``, RAPL, the battery, the calibrated model, or the CPU model, assumed without ``profile``."""
        cpus = psutil.cpu_count() or 1
        choice = choose_meter(logical_cpus=cpus, profile=profile, calibrated=calibrated, source=source)
        return cls(choice, HostReader(time.monotonic), base_power_s)

    def count_all_processes(self) -> "HostMeter":
        """Return this meter for the entire host: its model then counts all processes, not those of a transfer."""
        meter = self.choice.meter
        if not isinstance(meter, CpuModelMeter):
            return self  # the others read or model the entire host
        return replace(self, choice=replace(self.choice, meter=CpuModelMeter(meter.profile, counts_all=True)))

    async def build_session(self, host: Host) -> MeterSession:
        """Return a session for one transfer, with this host as its ``host`` end; start it with the transfer."""
        base_w = await self.measure_base_power_w()
        return MeterSession(
            self.choice.meter,
            self.reader.read,
            host=host,
            base_w=base_w,
            tail_j=None if self.radio is None else self.radio.compute_tail_energy_j(inf),
            note=self.choice.note,
            interval_s=SAMPLE_INTERVAL_S,
        )

    async def measure_base_power_w(self) -> float | None:
        """Return the power without a transfer, W: the meter's own value, or one measured now for ``base_power_s``.

        ``None`` for a battery that is read for less than `GAUGE_S`: the dynamic energy then stays unknown.
        """
        meter = self.choice.meter
        if meter.base_w is not None or self.base_power_s <= 0:
            return meter.base_w
        if meter.method is EnergyMethod.BATTERY and self.base_power_s < GAUGE_S:
            return None
        return await measure_base_power(meter, self.reader.read, duration_s=self.base_power_s)


def describe_meter_failure(metered: MeterResult | None) -> tuple[str, ...]:
    """Return notes for the user on energy that was not measured to the end, or by a meter that misbehaved."""
    if metered is None:
        return ()
    failure = () if metered.failure is None else (f"energy was not measured to the end: {metered.failure}",)
    return (*metered.notes, *failure)


def parse_power_profile(text: str) -> PowerProfile:
    """Parse ``IDLE,FULL``, such as ``35W,90W``, as coefficients of the CPU model.

    They count as assumed: the agent does not know how the user got them.

    Raises
    ------
    InvalidValue : not two powers, or the second below the first.
    """
    parts: Sequence[str] = text.split(",")
    if len(parts) != 2:
        raise InvalidValue("power profile", f"{text!r} is not IDLE,FULL, such as 35W,90W")
    idle_w, max_w = (parse_watts(part) for part in parts)
    return PowerProfile(idle_w=idle_w, max_w=max_w, source="as given", quality=EnergyQuality.ASSUMED)
