"""The plan of a copy: set by the user, recommended by the service, or made by the closed-form rules."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from uuid import uuid4

from tradewind.dataset import bin_sizes
from tradewind.path import Path
from tradewind.sla.kinds import AS_FAST_AS_PERMITTED, EnergyBasis, Sla
from tradewind.units import format_bps
from tradewind_agent.copy.listing import Listing
from tradewind_agent.copy.options import CopyOptions
from tradewind_agent.copy.resources import list_adjustable
from tradewind_agent.errors import KeyRefused, ScopeMissing
from tradewind_agent.session.plan_request import PlanRequest
from tradewind_agent.session.planning import (
    HEURISTIC,
    NO_SERVICE,
    Plan,
    override_settings,
    plan_by_rules,
    plan_set_by_hand,
    request_plan,
)

if TYPE_CHECKING:
    from tradewind_agent.service.client import Client

MOVER = "tradewind"
RELAY_MOVER, THIRD_PARTY_MOVER = "tradewind-relay", "tradewind-third-party"
"""Names in records: what this host relays, and what servers move between them, say little of each other."""
LEAST_STORE_STREAMS = 8
"""Streams from or to an object store where the rules would use fewer: stores name 80 to 100 MB/s as the rate of one,
and their tools open eight to ten."""

_SETTING = ("concurrency", "parallelism", "pipelining")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCopy:
    """A plan with the request that it answers; the request's SLA has the energy basis that the answer names.

    ``request`` : sent to the service, or what would have been sent; ``None`` for a tool that is only measured.
    ``is_key_accepted`` : false once the service has refused the key.
    ``notes`` : what the user should know.
    """

    plan: Plan
    request: PlanRequest | None = None
    is_key_accepted: bool = True
    notes: tuple[str, ...] = ()

    @property
    def sla(self) -> Sla | None:
        """The SLA of the request, on the energy basis that counts."""
        return None if self.request is None else self.request.sla


def settle_basis(request: PlanRequest, plan: Plan) -> PlanRequest:
    """Return the request with the energy basis that the service has chosen; without a service the total counts."""
    basis = EnergyBasis.TOTAL if plan.answer is None else plan.answer.sla.energy_basis
    return replace(request, sla=request.sla.with_basis(basis))


def plan_copy(
    listing: Listing, path: Path, names: tuple[str, str], options: CopyOptions, client: "Client | None"
) -> PlannedCopy:
    """Return the plan of a copy with the agent's own engine; see `plan_sizes`."""
    adjustable = () if listing.by_servers else list_adjustable(options)
    planned = plan_sizes(
        listing.sizes_bytes, path, names, options, client, mover=name_mover(listing), adjustable=adjustable
    )
    if listing.store == "s3" and listing.receiver is None and planned.plan.source == HEURISTIC:
        return replace(planned, plan=_use_several_streams(planned.plan, options))
    return planned


def _use_several_streams(plan: Plan, options: CopyOptions) -> Plan:
    """Return a plan of the rules in which a chunk has several streams, where the user permits it.

    The rules know the path alone. Object stores serve each connection at a limited rate, whatever the path carries.
    """
    by_hand, caps = options.by_hand, options.limits
    if options.sla.kind not in AS_FAST_AS_PERMITTED or by_hand.parallelism is not None:
        return plan
    chunks = []
    for chunk in plan.chunks:
        concurrency = chunk.parameters.concurrency or 1
        parallelism = max(chunk.parameters.parallelism or 1, -(-LEAST_STORE_STREAMS // concurrency))
        chunks.append(chunk._replace(parameters=replace(chunk.parameters, parallelism=parallelism)))
    streams = sum(chunk.parameters.streams for chunk in chunks)
    most = min(caps.parallelism or LEAST_STORE_STREAMS, LEAST_STORE_STREAMS)
    if tuple(chunks) == plan.chunks or streams > (caps.streams or streams) or most < LEAST_STORE_STREAMS:
        return plan
    reason = f"{LEAST_STORE_STREAMS} streams at least, as object stores limit the rate of each"
    return replace(plan, chunks=tuple(chunks), rationale=f"{plan.rationale}; {reason}")


def name_mover(listing: Listing, *, by_servers: bool | None = None) -> str:
    """Return who moves the files of a listing; ``by_servers`` where that has turned out otherwise than expected."""
    if listing.receiver is None:
        return MOVER
    return THIRD_PARTY_MOVER if (listing.by_servers if by_servers is None else by_servers) else RELAY_MOVER


def plan_sizes(
    sizes_bytes: Iterable[int],
    path: Path,
    names: tuple[str, str],
    options: CopyOptions,
    client: "Client | None",
    *,
    mover: str,
    adjustable: tuple[str, ...] = (),
) -> PlannedCopy:
    """Return the parameters of each chunk.

    There is a plan even if the service fails or refuses the key: the copy runs now, the key can be corrected later.

    Parameters
    ----------
    sizes_bytes : of the files to move, at least one.
    names : of source and destination.
    mover : name of the program that will move them.
    adjustable : resources of this host that may change meanwhile.

    Raises
    ------
    InvalidValue : a value that no request can hold, such as a name of a thousand characters.
    """
    by_hand = options.by_hand
    bins = bin_sizes(sizes_bytes)
    request = PlanRequest(
        source=names[0],
        destination=names[1],
        mover=mover,
        network=options.network,
        labels=options.labels,
        bins=bins,
        sla=options.sla,
        path=path,
        load=options.load,
        caps=options.limits,
        rate_limit_bps=options.rate_limit_bps,
        adjustable=adjustable,
    )
    request.check()
    if all(getattr(by_hand, name) is not None for name in _SETTING):
        return PlannedCopy(plan=plan_set_by_hand(uuid4(), by_hand), request=request)
    notes: tuple[str, ...] = ()
    try:
        plan = NO_SERVICE if client is None else request_plan(client, request.to_wire())
    except (KeyRefused, ScopeMissing) as refused:
        plan, notes = str(refused), (str(refused),)
    if isinstance(plan, str):
        most_bps = options.rate_limit_bps
        because = plan if most_bps is None else f"{plan}; no more than {format_bps(most_bps)}, as set"
        limited_path = path.limit_bandwidth(most_bps)
        plan = plan_by_rules(
            uuid4(), bins, limited_path, options.sla, options.limits, load=options.load, because=because
        )
    plan = override_settings(plan, by_hand)
    return PlannedCopy(plan=plan, request=settle_basis(request, plan), is_key_accepted=not notes, notes=notes)
