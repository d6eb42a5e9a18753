"""The other end of a copy: asked whether it meters transfers, told which this one is, and asked what that took."""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self, TypeVar
from uuid import UUID

from pydantic import ValidationError

from tradewind.energy.measured import EnergyMethod, EnergyReading, Host, base_energy_j
from tradewind.wire.base import Open
from tradewind_agent.engine.http.address import Origin, Url
from tradewind_agent.engine.http.tag import TransferTag
from tradewind_agent.engine.jobs import DownloadJob, Job
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.meters import CpuWork
from tradewind_agent.session.server_energy import ServerEnergyReport, ServerMeter
from tradewind_agent.session.server_query import fetch_document
from tradewind_agent.session.transfer_naming import TRANSFERS_PATH, energy_path, energy_so_far_path

LEAST_SEEN_SHARE = 0.9
"""Of the bytes moved that the server must have seen, or others (redirects, caches) were the other end as well."""

_Document = TypeVar("_Document", bound=Open)


@dataclass(frozen=True, slots=True)
class OtherEndReading:
    """What the transfer took at the other end; ``work`` is what the CPU model's energy depends on."""

    energy: EnergyReading
    work: CpuWork


@dataclass(frozen=True, slots=True)
class OtherEnd:
    """A server that may meter transfers.

    Attributes
    ----------
    options : of requests to it. They name the transfer, before the server has said whether it meters: one that does not
        has no use for the name, and one that does counts from the first request.
    """

    transfer_id: UUID
    host: Host
    at: Url
    options: EngineOptions

    @classmethod
    def of(cls, jobs: Sequence[Job], transfer_id: UUID, host: Host, options: EngineOptions) -> Self | None:
        """The server of all ``jobs``; several servers are no end of which energy could be told."""
        places = [job.source if isinstance(job, DownloadJob) else job.destination for job in jobs]
        if len({place.origin for place in places}) != 1:
            return None
        tagged = replace(options, tag=TransferTag(transfer_id, places[0].origin))
        return cls(transfer_id, host, places[0], tagged)

    @classmethod
    async def found(
        cls, jobs: Sequence[Job], transfer_id: UUID, host: Host, options: EngineOptions, told: bytes | None = None
    ) -> Self | None:
        """The server of all ``jobs``, if it meters.

        ``told`` : what it has said of its meter already, if it was asked.
        """
        end = cls.of(jobs, transfer_id, host, options)
        return end if end is not None and end.meters(await end.asked() if told is None else told) else None

    async def asked(self) -> bytes:
        """What the server says of its meter; empty where it says nothing."""
        return await fetch_document(self.at.join(TRANSFERS_PATH), self.options)

    def meters(self, told: bytes) -> bool:
        """Whether a server that has said this meters its end."""
        meter = _read(told, ServerMeter)
        # Of the same host all meters but that of the process count what this end counts already.
        return meter is not None and not (_is_here(self.at.origin) and meter.method is not EnergyMethod.CPU_MODEL)

    async def report_so_far(self) -> ServerEnergyReport | None:
        """Return what the running transfer has taken at this end; ``None`` where the server cannot tell."""
        return _read(
            await fetch_document(self.at.join(energy_so_far_path(self.transfer_id)), self.options), ServerEnergyReport
        )

    async def reading(self, moved_bytes: int, duration_s: float) -> OtherEndReading | None:
        """Energy of the transfer at this end over its ``duration_s``; ``None`` where the server cannot tell.

        The server meters from the first request that it sees on. In what the transfer's own time differs from that, by
        a few round trips, it used its base power.
        """
        report = _read(
            await fetch_document(self.at.join(energy_path(self.transfer_id)), self.options), ServerEnergyReport
        )
        if report is None or report.moved_bytes < LEAST_SEEN_SHARE * moved_bytes:
            return None
        total_j = report.total_j
        if report.base_w is not None:
            total_j += base_energy_j(duration_s - report.duration_s, report.base_w)
        if total_j < 0:
            return None
        return OtherEndReading(
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


def _read(body: bytes, kind: type[_Document]) -> _Document | None:
    """The document that a server has answered with; ``None`` where it is none."""
    try:
        return kind.model_validate_json(body)
    except ValidationError:
        return None


def _is_here(origin: Origin) -> bool:
    """Whether the server is on this very host, as far as its address tells."""
    try:
        return ipaddress.ip_address(origin.host).is_loopback
    except ValueError:
        return origin.host == "localhost"
