"""The electricity of a finished copy: cost and carbon of each end, and the network path as a range apart from them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from tradewind.energy.measured import Host
from tradewind.grid.footprint import EndFootprint, compute_footprint
from tradewind.grid.network_energy import NetworkEnergy, estimate_network_energy
from tradewind.sla.kinds import EnergyBasis
from tradewind.units import format_joules
from tradewind_agent.errors import AgentError

if TYPE_CHECKING:
    from tradewind_agent.copy.reporting.report import CopyReport
    from tradewind_agent.grid.start_planner import PlannedStart
    from tradewind_agent.service.client import Client

NO_NETWORK = "energy of the network path unknown: both ends have to be metered"


@dataclass(frozen=True, slots=True, kw_only=True)
class GridReport:
    """What a copy's energy cost and emitted.

    ``basis`` : the energy that the ends' figures are of. ``start`` : as it was planned, of a copy that waited.
    ``failure`` : why the service did not answer, and nothing is known; ``None`` if it did.
    """

    basis: EnergyBasis
    ends: tuple[EndFootprint, ...] = ()
    network: NetworkEnergy | None = None
    start: "PlannedStart | None" = None
    failure: str | None = None

    def format_line(self) -> str:
        """Format a line for the report, with what is unknown and why."""
        if self.failure is not None:
            return f"electricity unknown: {self.failure}"
        parts = [f"{end.host} {_format_end(end)}" for end in self.ends]
        network = self.network
        path = (
            NO_NETWORK
            if network is None
            else (
                f"network path, in none of these, {format_joules(network.low_j)} – {format_joules(network.high_j)}"
                f" ({network.source})"
            )
        )
        return f"electricity of the {self.basis} energy: {', '.join(parts)}; {path}"

    def build_document(self) -> dict[str, Any]:
        """Return the figures under wire names; what is ``None`` is unknown."""
        return {
            "energy_basis": str(self.basis),
            "ends": [{**end._asdict(), "host": str(end.host)} for end in self.ends],
            "network_energy": None if self.network is None else self.network._asdict(),
            "start": None if self.start is None else self.start.build_document(),
            "failure": self.failure,
        }


def _format_end(end: EndFootprint) -> str:
    if end.unknown is not None:
        return f"unknown, {end.unknown}"
    carbon = "carbon unknown" if end.carbon_g is None else f"{end.carbon_g:.3g} g CO2"
    cost = "price unknown" if end.cost is None else f"{end.cost:.3g} {end.currency}"
    return f"{carbon}, {cost} ({end.region})"


def build_grid_report(
    report: "CopyReport",
    client: "Client | None",
    *,
    basis: EnergyBasis,
    ended_at: datetime,
    start: "PlannedStart | None" = None,
) -> GridReport:
    """Return the electricity of a finished copy; a service that does not answer fails nothing."""
    if client is None:
        return GridReport(basis=basis, start=start, failure="no service is configured that knows regions")
    started_at = ended_at - timedelta(seconds=report.duration_s)
    hours = int(report.duration_s // 3600) + 2
    try:
        grid = client.regions.grid(report.source, report.destination, begin=started_at, hours=hours)
    except AgentError as failure:
        return GridReport(basis=basis, start=start, failure=str(failure))
    hosts: Sequence[Host] = (Host.SOURCE, Host.DESTINATION)
    rate = None if grid.network_energy is None else grid.network_energy.to_rate()
    return GridReport(
        basis=basis,
        ends=tuple(
            compute_footprint(host, end, report.energy, basis=basis, started_at=started_at, ended_at=ended_at)
            for host, end in zip(hosts, grid.list_ends(), strict=True)
        ),
        network=estimate_network_energy(rate, report.energy, report.bytes_moved),
        start=start,
    )
