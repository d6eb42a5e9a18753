"""SLA partitions of a cluster (GreenDataFlow §IV-A): what can be promised, in few ranges, each with its setting.

For each kind, confidence and energy basis the range of certifiable targets is cut where the demand-weighted regret of
serving each target with the setting of its range's safe end is least. The definitions of merit, bound and cost are
those of `tradewind.prediction` and `tradewind.tiers.selection`, which solve single SLAs online.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tradewind.learning.staircase import (
    FloatArray,
    Staircase,
    build_staircase,
    compute_regret_of_difference,
    compute_regret_of_expense,
    compute_regret_of_gain,
    cut_into_parts,
)
from tradewind.parameters import NO_CAPS, Caps
from tradewind.prediction import (
    ROUNDING,
    Quantity,
    compute_merit,
    compute_probability,
    compute_target,
    compute_z,
    is_linear,
)
from tradewind.sla.kinds import CONFIDENCES, EnergyBasis, SlaKind
from tradewind.tiers.partitions import Partition, PartitionKey
from tradewind.tiers.selection import LEVEL_OF, QUANTITY_OF, Objective, SettingTable

REGRET_GOAL = 0.03
MAX_PARTITIONS = 12

PARTITIONED = (SlaKind.THROUGHPUT_AT_LEAST, SlaKind.ENERGY_AT_MOST, SlaKind.POWER_AT_MOST)
"""Kinds with a range of targets; a deadline is served by the partitions of throughput_at_least."""


def list_bases(table: SettingTable) -> tuple[EnergyBasis, ...]:
    """Return the energy bases on which a table can be solved: dynamic energy needs power and base power."""
    if table.knows_power and table.base_power_w is not None:
        return (EnergyBasis.TOTAL, EnergyBasis.DYNAMIC)
    return (EnergyBasis.TOTAL,)


def solve_partitions(
    table: SettingTable,
    *,
    confidences: Sequence[float] = CONFIDENCES,
    caps: Caps = NO_CAPS,
    requested: Mapping[SlaKind, Sequence[float]] | None = None,
) -> tuple[Partition, ...]:
    """Return all partitions of one cluster, by kind, confidence and energy basis; ascending within each.

    Parameters
    ----------
    table : the entire lattice; settings beyond the caps are left out before anything is solved.
    requested : targets of past requests by kind, in bit/s, J per byte or W (a deadline's as throughput); they weigh the
        regret, together with a prior (`Staircase.estimate_demand`).

    Returns
    -------
    Empty if no permitted setting is certified. Energy and power kinds are left out where power was not metered.
    """
    allowed = tuple(one for one in table.settings if one.certified and caps.allow(one.parameters))
    if not allowed:
        return ()
    solver = _Solver(SettingTable(allowed, table.base_power_w), requested or {})
    kinds = [kind for kind in SlaKind if kind is not SlaKind.DEADLINE and _is_known(table, kind)]
    return tuple(
        partition
        for kind in kinds
        for basis in list_bases(table)
        for confidence in confidences
        for partition in solver.list_partitions(kind, confidence, basis)
    )


def _is_known(table: SettingTable, kind: SlaKind) -> bool:
    quantity = QUANTITY_OF.get(kind) or LEVEL_OF[kind]
    return quantity is Quantity.THROUGHPUT or table.knows_power


@dataclass(frozen=True, slots=True)
class _Solver:
    table: SettingTable
    requested: Mapping[SlaKind, Sequence[float]]

    def list_partitions(self, kind: SlaKind, confidence: float, basis: EnergyBasis) -> Iterable[Partition]:
        if kind in PARTITIONED:
            return self._list_ranges(kind, confidence, basis)
        return [self._solve_single(kind, confidence, basis)]

    def _solve_single(self, kind: SlaKind, confidence: float, basis: EnergyBasis) -> Partition:
        quantity = LEVEL_OF[kind]
        order = self.table.order_by_cost(self.table.choose_objective(kind), basis)
        best = self.table.choose_without_target(order, kind, basis)
        bound = self.table.compute_merits(quantity, basis)[best].lower(compute_z(confidence))
        level = compute_target(bound, quantity, basis)
        return self._build_partition(PartitionKey(kind, confidence, basis), (level, level), best, bound)

    def _list_ranges(self, kind: SlaKind, confidence: float, basis: EnergyBasis) -> list[Partition]:
        quantity = QUANTITY_OF[kind]
        steps = build_staircase_of(self.table, kind, confidence, basis)
        targets = [compute_merit(target, quantity, basis) for target in self.requested.get(kind, ())]
        demand = steps.estimate_demand(np.array(targets) if targets else None)
        regret = compute_regret_matrix(steps, self.table.choose_objective(kind), basis)
        edge = [compute_target(b, quantity, basis) for b in (steps.lowest, *steps.bound.tolist())]
        cuts = cut_into_parts(regret, demand, MAX_PARTITIONS, first_alone=edge[0] != edge[1])
        ends = cuts.last_steps[cuts.find_fewest_parts(REGRET_GOAL) - 1]
        parts = [
            self._build_partition(
                PartitionKey(kind, confidence, basis),
                (edge[first], edge[last + 1]),
                int(steps.setting[last]),
                float(steps.bound[last]),
                _compute_mean(regret[first : last + 1, last], demand[first : last + 1]),
            )
            for first, last in zip((0, *(end + 1 for end in ends[:-1])), ends, strict=True)
        ]
        parts.sort(key=lambda part: part.lower)
        return [*parts[:-1], replace(parts[-1], closed=True)]

    def _build_partition(
        self, key: PartitionKey, edges: tuple[float, float], setting: int, bound: float, regret: float = 0.0
    ) -> Partition:
        own = self.table.compute_merits(QUANTITY_OF.get(key.kind) or LEVEL_OF[key.kind], key.energy_basis)[setting]
        return Partition(
            kind=key.kind,
            confidence=key.confidence,
            energy_basis=key.energy_basis,
            lower=min(edges),
            upper=max(edges),
            closed=edges[0] == edges[1],
            setting=self.table.settings[setting],
            probability=max(
                key.confidence, compute_probability(own, bound)
            ),  # equal but for rounding, or 1 without spread
            regret=regret,
        )


def build_staircase_of(table: SettingTable, kind: SlaKind, confidence: float, basis: EnergyBasis) -> Staircase:
    """Return the best cost for every certifiable target of a kind, over the certified settings of a table (at least
    one).
    """
    quantity = QUANTITY_OF[kind]
    merits = np.array(table.compute_merits(quantity, basis))
    bound = merits[:, 0] - compute_z(confidence) * merits[:, 1]
    cost = np.array(table.compute_costs(table.choose_objective(kind), basis))
    sure = np.flatnonzero([setting.certified for setting in table.settings])
    gap = ROUNDING * (float(np.abs(bound[sure]).max()) if is_linear(quantity, basis) else 1.0)
    steps = build_staircase(bound[sure], cost[sure], gap=gap)
    return Staircase(steps.bound, steps.cost, sure[steps.setting], steps.lowest)


def compute_regret_matrix(steps: Staircase, objective: Objective, basis: EnergyBasis) -> FloatArray:
    """Return the relative regret of serving a step's targets by a harder step, (f, f), in terms of what is
    minimised.
    """
    if objective is Objective.SLOWNESS:
        return compute_regret_of_gain(steps.cost)
    if objective is Objective.ENERGY and basis is EnergyBasis.DYNAMIC:
        return compute_regret_of_difference(steps.cost)
    return compute_regret_of_expense(steps.cost)


def _compute_mean(values: FloatArray, weights: FloatArray) -> float:
    total = float(weights.sum())
    return float(weights @ values) / total if total > 0 else float(values.mean())
