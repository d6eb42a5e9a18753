"""The power of the other end while a copy runs: the agent polls its server between ticks and never waits for it."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from tradewind.energy.measured import Host
from tradewind_agent.meters import LiveSample, OtherEndSample

if TYPE_CHECKING:
    from tradewind_agent.session.server_energy import ServerEnergyReport

POLL_S = 2.5
"""Time between two polls: half a tick, so that a sample is never much older than the heartbeat that reports it."""

STALE_POLLS = 3
"""For so many polls an answer is used; then the other end counts as not measured."""

MOST_SILENT_POLLS = 6
"""A server that has not answered the first polls, so many, does not report running transfers."""


class ReportingEnd(Protocol):
    """The part of `OtherEnd` that is polled; tests put another server in its place."""

    @property
    def host(self) -> Host: ...

    async def report_so_far(self) -> "ServerEnergyReport | None": ...


@dataclass(slots=True)
class OtherEndPower:
    """Polls a server for the mean power of the other end between its last two reports."""

    end: ReportingEnd
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep
    _last: "ServerEnergyReport | None" = field(default=None, init=False)
    _sample: OtherEndSample | None = field(default=None, init=False)
    _silent_polls: int = field(default=0, init=False)

    @property
    def latest(self) -> OtherEndSample | None:
        """The newest sample; ``None`` before the first one, and once the server has been silent for long."""
        return self._sample if self._silent_polls < STALE_POLLS else None

    async def run(self, meters: Awaitable[bool]) -> None:
        """Poll until cancelled; ``meters`` says whether the server meters transfers at all."""
        if not await meters:
            return
        while self._last is not None or self._silent_polls < MOST_SILENT_POLLS:
            self._take(await self._poll())
            await self.pause(POLL_S)

    async def _poll(self) -> "ServerEnergyReport | None":
        try:
            return await self.end.report_so_far()
        except Exception:  # noqa: BLE001 -- whatever is wrong with the other end's meter, the files are moved
            return None

    def _take(self, report: "ServerEnergyReport | None") -> None:
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
    """A meter that reports its last interval: `MeterSession` for this end, `BothEndsMeter` for both."""

    def find_latest(self, over_s: float = 0.0) -> LiveSample | None: ...


@dataclass(frozen=True, slots=True)
class BothEndsMeter:
    """Combines the meter of this host with the reports of the other end."""

    here: LiveMeter
    there: OtherEndPower

    def find_latest(self, over_s: float = 0.0) -> LiveSample | None:
        """Return the last interval of both ends."""
        live = self.here.find_latest(over_s)
        return None if live is None else replace(live, other=self.there.latest)
