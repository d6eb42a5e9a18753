"""Metering of one transfer: samples in the background from start to stop."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from tradewind.energy.measured import EnergyMethod, EnergyQuality, EnergyReading, Host
from tradewind.errors import InvalidTrace
from tradewind.transfer import ResourceUsage
from tradewind_agent.meters.cpu_model import CpuWork
from tradewind_agent.meters.meter import Meter, MeterUnavailable, find_resolution_s
from tradewind_agent.meters.steady import SteadyEnergy
from tradewind_agent.meters.trace import EnergyTrace
from tradewind_agent.meters.utilisation import HostCounters, compute_usage

BASE_LOOKS = 4
"""Intervals in which the base power is measured: a coarse counter stands still in some of them."""

DEFAULT_INTERVAL_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherEndSample:
    """Mean power at the other end lately, W, as its server reports it."""

    host: Host
    power_w: float
    method: EnergyMethod
    quality: EnergyQuality


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveSample:
    """The last interval at the ``host`` end, as a heartbeat reports it; ``other`` is of the server at the other end."""

    host: Host
    usage: ResourceUsage
    power_w: float | None
    method: EnergyMethod
    quality: EnergyQuality
    other: OtherEndSample | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MeterResult:
    """What a transfer took at this end.

    Attributes
    ----------
    energy : None when it was not measured: ``failure`` says why. Where a part of it was bridged, or the transfer was
        shorter than the meter resolves, it counts as assumed.
    usage : means of the host.
    work : duration and CPU time of the process tree, for ``reprice``.
    samples : readings taken.
    notes : what the user should know of the meter, each once.
    """

    energy: EnergyReading | None
    usage: ResourceUsage
    work: CpuWork
    samples: int
    failure: str | None = None
    notes: tuple[str, ...] = ()


class MeterSession:
    """Samples a meter and the host's counters until stopped.

    Parameters
    ----------
    meter : see ``choose_meter``.
    read : takes the counters; called in a thread, since it takes milliseconds.
    host : which end of the transfer this is.
    base_w : power before the transfer (``measure_base_power``); the meter's own by default.
    tail_j : what the radio takes after the last byte, where that is known; part of the reading.
    note : what the user should know of the meter, such as why it is not the one that was named.
    interval_s : between samples.
    wait : sleeps; replaced to control time.
    """

    def __init__(
        self,
        meter: Meter,
        read: Callable[[], HostCounters],
        *,
        host: Host,
        base_w: float | None = None,
        tail_j: float | None = None,
        note: str | None = None,
        interval_s: float = DEFAULT_INTERVAL_S,
        wait: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.trace = EnergyTrace()
        self._meter, self._read, self._host = meter, read, host
        self._base_w = meter.base_w if base_w is None else base_w
        self._tail_j = tail_j
        self._interval_s, self._wait = interval_s, wait
        self._samples: list[HostCounters] = []  # the first, the last but one and the last
        self._count = 0
        self._memory_s = 0.0
        self._failure: str | None = None
        self._note, self._steady = note, SteadyEnergy()
        self._task: asyncio.Task[None] | None = None
        self._sampling = asyncio.Lock()

    async def start(self) -> None:
        """Take the first sample, and further ones in the background."""
        await self._sample()
        self._task = asyncio.get_running_loop().create_task(self._sample_on())

    async def stop(self) -> MeterResult:
        """Take the last sample and sum up."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
            self._task = None
        await self._sample()
        first, last = self._samples[0], self._samples[-1]
        duration_s = last.at_s - first.at_s
        usage = compute_usage(first, last)
        if duration_s > 0:
            usage = replace(usage, memory=self._memory_s / duration_s)
        return MeterResult(
            energy=self._find_reading(),
            usage=usage,
            work=CpuWork(
                duration_s=duration_s, cpu_s=last.tree_cpu_s - first.tree_cpu_s, logical_cpus=last.logical_cpus
            ),
            samples=self._count,
            failure=self._failure,
            notes=self._list_notes(),
        )

    def find_latest(self, over_s: float = 0.0) -> LiveSample | None:
        """Return the last complete interval, with mean power over the last ``over_s``; ``None`` before the first."""
        if len(self._samples) < 2:
            return None
        return LiveSample(
            host=self._host,
            usage=compute_usage(self._samples[-2], self._samples[-1]),
            power_w=None if self._failure else self.trace.compute_mean_power_w(over_s),
            method=self._meter.method,
            quality=self._meter.quality if self.is_steady else EnergyQuality.ASSUMED,
        )

    async def _sample_on(self) -> None:
        while True:
            await self._wait(self._interval_s)
            await asyncio.shield(self._sample())

    async def _sample(self) -> None:
        async with self._sampling:
            previous = self._samples[-1] if self._samples else None
            counters = await asyncio.to_thread(self._read)
            if previous is not None and counters.at_s <= previous.at_s:
                return
            await asyncio.to_thread(self._read_meter, counters)
            if previous is not None:
                self._memory_s += (counters.at_s - previous.at_s) * (previous.memory + counters.memory) / 2
            self._samples = [*self._samples[:1], *self._samples[1:][-1:], counters]
            self._count += 1

    def _read_meter(self, counters: HostCounters) -> None:
        """Read the meter; one that cannot be read is tried again with the next sample."""
        try:
            energy_j = self._steady.correct(counters.at_s, self._meter.read_energy_j(counters))
        except MeterUnavailable as error:
            self._failure = str(error)
            return
        if self._failure is not None:
            first_s = self._samples[0].at_s
            missing_s = 0.0 if self.trace.time_s else counters.at_s - first_s
            if missing_s > 0:
                self.trace.add(first_s, energy_j)
            self._steady.note_absence(self._failure, missing_s)
            self._failure = None
        self.trace.add(counters.at_s, energy_j)

    def _list_notes(self) -> tuple[str, ...]:
        found: tuple[str, ...] = () if self._note is None else (self._note,)
        if self._failure is None and not self.is_steady:
            found += (f"the meter {self._steady.irregularity}; the energy counts as assumed",)
        elif self._failure is None and not self._is_resolved:
            needed_s = find_resolution_s(self._meter)
            found += (f"the meter needs {needed_s:.3g} s to measure a transfer; the energy counts as assumed",)
        return found

    @property
    def _is_resolved(self) -> bool:
        return self.trace.duration_s >= find_resolution_s(self._meter)

    @property
    def is_steady(self) -> bool:
        """Return whether the meter has behaved so far."""
        return self._steady.irregularity is None

    def _find_reading(self) -> EnergyReading | None:
        if self._failure is not None:
            return None
        try:
            reading = self.trace.build_reading(self._meter, self._host, self._base_w)
        except InvalidTrace as error:
            self._failure = str(error)
            return None
        if reading.total_j == 0 and not self.is_steady:
            self._failure = "the meter counted nothing meanwhile"
            return None
        quality = reading.quality if self.is_steady and self._is_resolved else EnergyQuality.ASSUMED
        return replace(reading, tail_j=self._tail_j, quality=quality)


async def measure_base_power(
    meter: Meter,
    read: Callable[[], HostCounters],
    *,
    duration_s: float = 2.0,
    wait: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> float | None:
    """Return the mean power before a transfer, for meters that do not know it, W.

    ``None`` where it cannot be measured, such as by a counter that is refreshed more seldom than it is looked at here.
    """
    if meter.base_w is not None:
        return meter.base_w
    session = MeterSession(meter, read, host=Host.SOURCE, interval_s=duration_s / BASE_LOOKS, wait=wait)
    await session.start()
    await wait(duration_s)
    result = await session.stop()
    if result.energy is None or not session.is_steady:
        return None
    return result.energy.total_j / result.work.duration_s
