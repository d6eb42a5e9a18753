"""The meter of this host for transfers: chosen once, a session a transfer."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

import psutil

from tradewind.energy.measured import EnergyMethod, EnergyQuality, Host
from tradewind.errors import InvalidValue
from tradewind.units import parse_watts
from tradewind_agent.meters import (
    CalibratedMeter,
    HostReader,
    MeterChoice,
    MeterSession,
    PowerProfile,
    choose_meter,
    measure_base_power,
)

if TYPE_CHECKING:
    from tradewind.mobile.profiles import RadioProfile

BASE_POWER_S = 1.0
"""How long power is measured before a transfer by meters that do not know the idle power themselves."""

GAUGE_BASE_S = 30.0
"""A battery's gauge tells a new power every few to thirty seconds: what it tells sooner may be of long before."""

SAMPLE_INTERVAL_S = 0.5


@dataclass(frozen=True, slots=True)
class HostMeter:
    """The best meter of this host and what it counts with.

    Its sessions take turns: a meter goes on from its last reading, and what it reads is the whole host's.

    ``base_power_s`` : time spent on measuring the base power first, where the meter does not know it; 0 for none, and
    then the dynamic energy stays unknown.
    ``radio`` : that this host transfers over, where it is known: its tail follows the last byte, which no meter here
    waits for, and so is modelled.
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
    ) -> "HostMeter":
        """RAPL, the battery, the calibrated model, or the CPU model with ``profile`` or assumed coefficients."""
        choice = choose_meter(logical_cpus=psutil.cpu_count() or 1, profile=profile, calibrated=calibrated)
        return cls(choice, HostReader(time.monotonic), base_power_s)

    async def session(self, host: Host) -> MeterSession:
        """A session for one transfer at this end of it; to be started when the transfer begins."""
        base_w = await self.base_power_w()
        return MeterSession(
            self.choice.meter,
            self.reader.read,
            host=host,
            base_w=base_w,
            tail_j=None if self.radio is None else self.radio.tail_energy_j(inf),
            interval_s=SAMPLE_INTERVAL_S,
        )

    async def base_power_w(self) -> float | None:
        """Power without a transfer: the meter's own, else as measured now for ``base_power_s``.

        ``None`` beside a battery that is not looked at for `GAUGE_BASE_S`: dynamic energy then stays unknown.
        """
        meter = self.choice.meter
        if meter.base_w is not None or self.base_power_s <= 0:
            return meter.base_w
        if meter.method is EnergyMethod.BATTERY and self.base_power_s < GAUGE_BASE_S:
            return None
        return await measure_base_power(meter, self.reader.read, duration_s=self.base_power_s)


def parse_power_profile(text: str) -> PowerProfile:
    """``IDLE,FULL`` such as ``35W,90W`` as coefficients of the CPU model.

    They count as assumed: nothing here knows how the user came by them.

    Raises
    ------
    InvalidValue : not two powers, or the second below the first.
    """
    parts: Sequence[str] = text.split(",")
    if len(parts) != 2:
        raise InvalidValue("power profile", f"{text!r} is not IDLE,FULL, such as 35W,90W")
    idle_w, max_w = (parse_watts(part) for part in parts)
    return PowerProfile(idle_w=idle_w, max_w=max_w, source="as given", quality=EnergyQuality.ASSUMED)
