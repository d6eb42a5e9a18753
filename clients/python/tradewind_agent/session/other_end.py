"""The server at the other end of a copy: whether it meters transfers, and how much energy this one took there."""

import ipaddress
import json
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self
from uuid import UUID

import psutil

from tradewind.energy.measured import EnergyMethod, EnergyReading, Host, compute_base_energy_j
from tradewind_agent.engine.http.address import Origin, Url
from tradewind_agent.engine.http.tag import TransferTag
from tradewind_agent.engine.jobs import DownloadJob, Job, are_relays, find_origins
from tradewind_agent.engine.options import EngineOptions
from tradewind_agent.meters import CpuWork, MeterResult
from tradewind_agent.session.server_query import fetch_document
from tradewind_agent.session.transfer_naming import (
    ACCEPTED_RESOURCES_PATH,
    TRANSFERS_PATH,
    format_energy_path,
    format_energy_so_far_path,
)

if TYPE_CHECKING:
    from tradewind_agent.session.server_energy import ServerEnergyReport

LEAST_SEEN_SHARE = 0.9
"""Share of the moved bytes that the server must have seen; otherwise redirects or caches served some of them."""


@dataclass(frozen=True, slots=True)
class OtherEndReading:
    """The energy of the transfer at the other end, and the ``work`` that the CPU model's energy depends on."""

    energy: EnergyReading
    work: CpuWork


@dataclass(frozen=True, slots=True)
class OtherEnd:
    """A server that may meter transfers.

    Attributes
    ----------
    options : of requests to the server. They name the transfer even before the server has said whether it meters: a
        server that does not meter ignores the name, and one that does counts from the first request.
    """

    transfer_id: UUID
    host: Host
    at: Url
    options: EngineOptions

    @classmethod
    def of(cls, jobs: Sequence[Job], transfer_id: UUID, host: Host, options: EngineOptions) -> Self | None:
        """Return the server of all ``jobs``, or ``None`` if there are several: their energy cannot be attributed."""
        if are_relays(jobs) or len(find_origins(jobs)) != 1:
            return None  # this host is no end of relays
        place = job.source if isinstance(job := jobs[0], DownloadJob) else job.destination
        read_resources = None if options.tag is None else options.tag.read_resources
        tagged = replace(options, tag=TransferTag(transfer_id, place.origin, read_resources))
        return cls(transfer_id, host, place, tagged)

    def with_resources(self, read_resources: Callable[[], str]) -> Self:
        """Return the same server, whose requests say what resources suffice there."""
        tag = TransferTag(self.transfer_id, self.at.origin, read_resources)
        return replace(self, options=replace(self.options, tag=tag))

    @classmethod
    async def find(
        cls,
        jobs: Sequence[Job],
        transfer_id: UUID,
        host: Host,
        options: EngineOptions,
        meter_document: bytes | None = None,
    ) -> Self | None:
        """Return the server of all ``jobs`` if it meters.

        ``meter_document`` : what the server has already answered about its meter, if it was asked.
        """
        end = cls.of(jobs, transfer_id, host, options)
        if end is None:
            return None
        document = await end.fetch_meter() if meter_document is None else meter_document
        return end if end.is_metered_by(document) else None

    async def fetch_meter(self) -> bytes:
        """Return what the server answers about its meter; empty if it does not answer."""
        return await fetch_document(self.at.join(TRANSFERS_PATH), self.options)

    async def fetch_accepted_resources(self) -> frozenset[str]:
        """Return the names of the resources that the server accepts limits of; none if it does not answer."""
        document = await fetch_document(self.at.join(ACCEPTED_RESOURCES_PATH), self.options)
        try:
            return frozenset(map(str, json.loads(document)["accepted"]))
        except (ValueError, KeyError, TypeError):
            return frozenset()

    def is_metered_by(self, meter_document: bytes) -> bool:
        """Return whether a server with this answer meters its end."""
        if not meter_document:
            return False
        from tradewind_agent.session.server_energy import parse_meter  # noqa: PLC0415 -- most servers do not meter

        meter = parse_meter(meter_document)
        # On this very host every meter but that of the process counts what this end already counts.
        return meter is not None and not (_is_here(self.at.origin) and meter.method is not EnergyMethod.CPU_MODEL)

    async def report_so_far(self) -> "ServerEnergyReport | None":
        """Return what the running transfer has taken at this end; ``None`` where the server does not report it."""
        return await self._fetch_report(format_energy_so_far_path(self.transfer_id))

    async def fetch_reading(self, moved_bytes: int, duration_s: float) -> OtherEndReading | None:
        """Return the energy of the transfer at this end over ``duration_s``; ``None`` without a usable report.

        The server meters from the first request that it sees. For the difference to the transfer's own time, a few
        round trips, its base power counts.
        """
        report = await self._fetch_report(format_energy_path(self.transfer_id))
        if report is None or report.moved_bytes < LEAST_SEEN_SHARE * moved_bytes:
            return None
        total_j = report.total_j
        if report.base_w is not None:
            total_j += compute_base_energy_j(duration_s - report.duration_s, report.base_w)
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

    async def _fetch_report(self, path: str) -> "ServerEnergyReport | None":
        document = await fetch_document(self.at.join(path), self.options)
        if not document:
            return None
        from tradewind_agent.session.server_energy import parse_report  # noqa: PLC0415 -- most servers do not meter

        return parse_report(document)


def collect_energy(metered: MeterResult | None, other_end: OtherEndReading | None = None) -> tuple[EnergyReading, ...]:
    """Return a reading for each metered end, this one first."""
    return tuple(end.energy for end in (metered, other_end) if end is not None and end.energy is not None)


def _is_here(origin: Origin) -> bool:
    """Return whether the server is on this very host, as far as its address or its name shows."""
    try:
        address = ipaddress.ip_address(origin.host.partition("%")[0])
    except ValueError:
        return origin.host in ("localhost", socket.gethostname().lower())
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    # A connection to the unspecified address, which some servers print as their address, goes to this host.
    return address.is_loopback or address.is_unspecified or str(address) in _list_own_addresses()


def _list_own_addresses() -> frozenset[str]:
    """Return the addresses of this host's interfaces, as far as the system lists them.

    Linux appends the interface to those of a link.
    """
    try:
        found = psutil.net_if_addrs().values()
    except OSError:  # such as a sandbox that hides the interfaces
        return frozenset()
    return frozenset(each.address.partition("%")[0] for addresses in found for each in addresses)
