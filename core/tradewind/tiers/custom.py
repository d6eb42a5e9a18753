"""Custom tiers of a provider: each range is solved again at its safe end, together with the regret of that choice.

This needs no numpy, so a page can show the effect of boundaries before they are stored. Regret is weighted by a demand
that is uniform over the targets of a range (on the scale of the merit, see `tradewind.prediction`); `TARGETS` of them
are solved one by one.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace

from tradewind.errors import InvalidValue
from tradewind.prediction import compute_merit, compute_target
from tradewind.sla.kinds import Sla, SlaKind
from tradewind.tiers.partitions import Partition, PartitionKey
from tradewind.tiers.selection import Choice, choose_setting
from tradewind.tiers.setting_table import QUANTITY_OF, Objective, SettingTable

MAX_TIERS = 24
"""Tiers of a kind: several times as many as are ever proposed."""

TARGETS = 32
"""Targets of a range at which its setting is compared with the best one."""

MIN_WIDTH = 1e-3
"""Width of a tier as a share of its boundaries; a narrower one is a typing error."""


def check_boundaries(boundaries: Sequence[float], *, lowest: float, highest: float) -> None:
    """Reject boundaries that leave no tiers between them.

    Parameters
    ----------
    boundaries : bounds between tiers, in bit/s, J per byte or W by kind.
    lowest, highest : of what can be certified.

    Raises
    ------
    InvalidValue : too many, not ascending, too near each other, or not within what can be certified.
    """
    if len(boundaries) >= MAX_TIERS:
        raise InvalidValue("bounds", f"make {len(boundaries) + 1} tiers; at most {MAX_TIERS} are allowed")
    if not all(math.isfinite(boundary) for boundary in boundaries):
        raise InvalidValue("bounds", "must be numbers")
    edges = (lowest, *boundaries, highest)
    for below, above in itertools.pairwise(edges):
        if above - below < MIN_WIDTH * max(abs(above), abs(below)):
            raise InvalidValue(
                "bounds", "must rise from one tier to the next, and stay within what can be promised on this link"
            )


def solve_between(table: SettingTable, key: PartitionKey, edges: Sequence[float]) -> tuple[Partition, ...]:
    """Return the partitions between ``edges``, ascending, each with the setting of its safe end.

    Parameters
    ----------
    table : all settings of the cluster.
    edges : ascending, the first and the last those of what can be certified.

    Raises
    ------
    InvalidValue : a kind without a target, which has nothing to cut, or an edge that cannot be certified.
    """
    if key.kind not in QUANTITY_OF:
        raise InvalidValue("kind", f"{key.kind} has no targets that could be divided into tiers")
    parts = [_solve_partition(table, key, lower, upper) for lower, upper in itertools.pairwise(edges)]
    return (*parts[:-1], replace(parts[-1], closed=True))


def _solve_partition(table: SettingTable, key: PartitionKey, lower: float, upper: float) -> Partition:
    is_floor = key.kind is SlaKind.THROUGHPUT_AT_LEAST
    choice = _find_best(table, key, upper if is_floor else lower)
    if choice is None or not choice.feasible:
        raise InvalidValue("bounds", "reach beyond what can be promised on this link")
    return Partition(
        kind=key.kind,
        confidence=key.confidence,
        energy_basis=key.energy_basis,
        lower=lower,
        upper=upper,
        closed=False,
        setting=choice.setting,
        probability=max(key.confidence, choice.probability),
        regret=_compute_regret(table, key, choice, lower, upper),
    )


def _find_best(table: SettingTable, key: PartitionKey, target: float) -> Choice | None:
    if target <= 0:
        raise InvalidValue("bounds", "must be above 0")
    sla = Sla(kind=key.kind, target=target, confidence=key.confidence, energy_basis=key.energy_basis)
    return choose_setting(table, sla, dataset_bytes=1.0)


def _compute_regret(table: SettingTable, key: PartitionKey, choice: Choice, lower: float, upper: float) -> float:
    """Return the mean relative loss against solving each target by itself."""
    quantity, objective = QUANTITY_OF[key.kind], table.choose_objective(key.kind)
    cost_of = dict(zip(map(id, table.settings), table.compute_costs(objective, key.energy_basis), strict=True))
    from_merit, to_merit = (compute_merit(edge, quantity, key.energy_basis) for edge in (lower, upper))
    own, total = cost_of[id(choice.setting)], 0.0
    for n in range(TARGETS):
        at = from_merit + (to_merit - from_merit) * (n + 0.5) / TARGETS
        best = _find_best(table, key, compute_target(at, quantity, key.energy_basis))
        total += 0.0 if best is None else _compute_lost_share(cost_of[id(best.setting)], own, objective, key)
    return max(total / TARGETS, 0.0)


def _compute_lost_share(best: float, own: float, objective: Objective, key: PartitionKey) -> float:
    """Return the share that is lost (throughput) or spent in excess (energy, streams)."""
    if objective is Objective.SLOWNESS:
        return -math.expm1(best - own)
    if objective is Objective.ENERGY and key.energy_basis == "dynamic":
        return (own - best) / (max(abs(best), abs(own)) or 1.0)
    return math.expm1(own - best)
