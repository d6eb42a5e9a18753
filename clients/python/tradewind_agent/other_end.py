"""The other end of a copy: asked whether it meters transfers, told which this one is, and asked what that took."""

import asyncio
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self, TypeVar
from uuid import UUID

from pydantic import ValidationError

from tradewind.energy import EnergyMethod, EnergyReading, Host, base_energy_j
from tradewind.wire.base import Open
from tradewind_agent.end_report import TRANSFERS_PATH, EndMeter, EndReport, energy_path
from tradewind_agent.engine.address import Origin, Url
from tradewind_agent.engine.fetch import fetch
from tradewind_agent.engine.jobs import DownloadJob, Job
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.engine.tag import TransferTag
from tradewind_agent.errors import AgentError
from tradewind_agent.meters import CpuWork

PATIENCE_S = 3.0
"""For each of the two questions; a server that is slower to answer leaves its end unmeasured."""

LEAST_SEEN_SHARE = 0.9
"""Of the bytes moved that the server must have seen, or others (redirects, caches) were the other end as well."""

_OK = 200
_Document = TypeVar("_Document", bound=Open)


@dataclass(frozen=True, slots=True)
class EndReading:
    """What the transfer took at the other end; ``work`` is what the CPU model's energy depends on."""

    energy: EnergyReading
    work: CpuWork


@dataclass(frozen=True, slots=True)
class OtherEnd:
    """A server that meters transfers.

    Attributes
    ----------
    options : of requests to it, which name the transfer.
    """

    transfer_id: UUID
    host: Host
    at: Url
    options: EngineOptions

    @classmethod
    async def found(cls, jobs: Sequence[Job], transfer_id: UUID, host: Host, options: EngineOptions) -> Self | None:
        """The server of all ``jobs``, if it meters; several servers are no end of which energy could be told."""
        places = [job.source if isinstance(job, DownloadJob) else job.destination for job in jobs]
        if len({place.origin for place in places}) != 1:
            return None
        meter = await _asked(places[0].join(TRANSFERS_PATH), options, EndMeter)
        if meter is None or (_is_here(places[0].origin) and meter.method is not EnergyMethod.CPU_MODEL):
            return None  # of the same host all meters but that of the process count what this end counts already
        tagged = replace(options, tag=TransferTag(transfer_id, places[0].origin))
        return cls(transfer_id, host, places[0], tagged)

    async def reading(self, moved_bytes: int, duration_s: float) -> EndReading | None:
        """Energy of the transfer at this end over its ``duration_s``; ``None`` where the server cannot tell.

        The server meters from the first request that it sees on. In what the transfer's own time differs from that, by
        a few round trips, it used its base power.
        """
        report = await _asked(self.at.join(energy_path(self.transfer_id)), self.options, EndReport)
        if report is None or report.moved_bytes < LEAST_SEEN_SHARE * moved_bytes:
            return None
        total_j = report.total_j
        if report.base_w is not None:
            total_j += base_energy_j(duration_s - report.duration_s, report.base_w)
        if total_j < 0:
            return None
        return EndReading(
            EnergyReading(
                host=self.host,
                total_j=total_j,
                dynamic_j=report.dynamic_j,
                base_w=report.base_w,
                method=report.method,
                quality=report.quality,
            ),
            CpuWork(duration_s=duration_s, cpu_s=report.cpu_s, logical_cpus=report.logical_cpus),
        )


async def _asked(url: Url, options: EngineOptions, kind: type[_Document]) -> _Document | None:
    """The document at ``url``; ``None`` whatever goes wrong: nothing of the transfer depends on it."""
    once = replace(options, tag=None, retry=replace(options.retry, most_tries=1))
    try:
        async with asyncio.timeout(PATIENCE_S):
            answer = await fetch(url, once, {"Accept": "application/json", "Accept-Encoding": "identity"})
    except (AgentError, TimeoutError):
        return None
    if answer.head.status != _OK or answer.url.origin != url.origin:
        return None
    try:
        return kind.model_validate_json(answer.body)
    except ValidationError:
        return None


def _is_here(origin: Origin) -> bool:
    """Whether the server is on this very host, as far as its address tells."""
    try:
        return ipaddress.ip_address(origin.host).is_loopback
    except ValueError:
        return origin.host == "localhost"
