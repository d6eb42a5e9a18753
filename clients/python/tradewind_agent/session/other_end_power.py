"""Power of the other end while a copy runs: its server is asked between ticks, and nothing waits for the answer."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Protocol

from tradewind.energy.measured import Host
from tradewind_agent.meters import LiveSample, OtherEndSample
from tradewind_agent.session.server_energy import ServerEnergyReport

POLL_S = 2.5
"""Between two questions: half a tick, so that a sample is never much older than the heartbeat that tells it."""

STALE_POLLS = 3
"""An answer is used for so many polls; then the other end counts as not measured."""

MOST_SILENT_POLLS = 6
"""A server that has never answered so many times does not report running transfers."""


class ReportingEnd(Protocol):
    """What is needed of the other end; `OtherEnd` has it."""

    @property
    def host(self) -> Host: ...

    async def report_so_far(self) -> ServerEnergyReport | None: ...


@dataclass(slots=True)
class OtherEndPower:
    """Mean power of the other end between the last two reports of its server."""

    end: ReportingEnd
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep
    _last: ServerEnergyReport | None = field(default=None, init=False)
    _sample: OtherEndSample | None = field(default=None, init=False)
    _silent_polls: int = field(default=0, init=False)

    @property
    def latest(self) -> OtherEndSample | None:
        """The newest sample; ``None`` before there is one, and after the server has been silent for long."""
        return self._sample if self._silent_polls < STALE_POLLS else None

    async def run(self, meters: Awaitable[bool]) -> None:
        """Ask again and again until cancelled; ``meters`` tells whether the server meters transfers at all."""
        if not await meters:
            return
        while self._last is not None or self._silent_polls < MOST_SILENT_POLLS:
            self._take(await self._asked())
            await self.pause(POLL_S)

    async def _asked(self) -> ServerEnergyReport | None:
        try:
            return await self.end.report_so_far()
        except Exception:  # noqa: BLE001 -- whatever is wrong with the other end's meter, the files are moved
            return None

    def _take(self, report: ServerEnergyReport | None) -> None:
        if report is None:
            self._silent_polls += 1
            return
        last, self._last = self._last, report
        self._silent_polls = 0
        metered_s = report.duration_s - (last.duration_s if last else 0.0)
        spent_j = report.total_j - (last.total_j if last else 0.0)
        if metered_s > 0 and spent_j >= 0:
            self._sample = OtherEndSample(
                host=self.end.host, power_w=spent_j / metered_s, method=report.method, quality=report.quality
            )


class LiveMeter(Protocol):
    """Whatever tells of the last interval; `MeterSession` does."""

    def latest(self, over_s: float = 0.0) -> LiveSample | None: ...


@dataclass(frozen=True, slots=True)
class BothEndsMeter:
    """The meter of this host together with what the other end reports."""

    here: LiveMeter
    there: OtherEndPower

    def latest(self, over_s: float = 0.0) -> LiveSample | None:
        """The last interval of both ends."""
        live = self.here.latest(over_s)
        return None if live is None else replace(live, other=self.there.latest)
