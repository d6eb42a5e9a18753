"""Targets that were requested: tiers are cut so that these lose least."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from tradewind.sla.kinds import EnergyBasis, Sla, SlaKind
from tradewind.tiers.partitions import PartitionKey
from tradewind.tiers.selection import convert_target

Demand = Mapping[tuple[SlaKind, EnergyBasis], Sequence[float]]
"""Targets of past requests, in bit/s, J per byte or W; a deadline's as throughput."""


class RequestedSla(NamedTuple):
    """The SLA of a past request, and the size of its data set."""

    sla: Sla
    total_bytes: int


def collect_demand(requests: Iterable[RequestedSla]) -> Demand:
    """Return the targets of requests.

    SLAs without a target have none, and a fraction of what is possible is another target on each model. A request that
    named no energy basis counts on both: the power policy of its endpoints may have changed since.
    """
    targets: defaultdict[tuple[SlaKind, EnergyBasis], list[float]] = defaultdict(list)
    for sla, total_bytes in requests:
        if sla.target is None or sla.fraction is not None:
            continue
        kind = PartitionKey.of(sla).kind
        target = convert_target(sla.target, sla.kind, total_bytes)
        for basis in EnergyBasis if sla.has_default_basis else (sla.energy_basis,):
            if target > 0:
                targets[kind, basis].append(target)
    return targets
