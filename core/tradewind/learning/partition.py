"""SLA partitions of a cluster (GreenDataFlow §IV-A): what can be promised, in few ranges, each with its setting.

For each kind and energy basis the certifiable targets are cut, at the same bounds for all confidences, where the
demand-weighted regret of serving each target with the setting of its range's safe end is least
(`tradewind.learning.tier_bounds`). The definitions of merit, bound and cost are those of `tradewind.prediction` and
`tradewind.tiers.selection`, which solve single SLAs online.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from tradewind.learning.staircase import (
    FloatArray,
    Staircase,
    build_staircase,
    compute_regret_of_difference,
    compute_regret_of_expense,
    compute_regret_of_gain,
)
from tradewind.learning.tier_bounds import (
    Bound,
    WeightedStairs,
    choose_bounds,
    drop_needless,
    is_wide,
    list_round_targets,
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
from tradewind.tiers.demand import Demand
from tradewind.tiers.partitions import Partition, PartitionKey
from tradewind.tiers.setting_table import LEVEL_OF, QUANTITY_OF, Objective, SettingTable

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
    requested: Demand | None = None,
) -> tuple[Partition, ...]:
    """Return all partitions of one cluster, by kind, confidence and energy basis; ascending within each.

    Parameters
    ----------
    table : the entire lattice; settings beyond the caps are left out before anything is solved.
    requested : targets of past requests; they weigh the regret, together with a prior (`Staircase.estimate_demand`).

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
        for partition in solver.list_partitions(kind, confidences, basis)
    )


def _is_known(table: SettingTable, kind: SlaKind) -> bool:
    quantity = QUANTITY_OF.get(kind) or LEVEL_OF[kind]
    return quantity is Quantity.THROUGHPUT or table.knows_power


@dataclass(frozen=True, slots=True)
class _Solver:
    table: SettingTable
    requested: Demand

    def list_partitions(self, kind: SlaKind, confidences: Sequence[float], basis: EnergyBasis) -> list[Partition]:
        keys = [PartitionKey(kind, confidence, basis) for confidence in confidences]
        return self._list_ranges(keys) if kind in PARTITIONED else [self._solve_single(key) for key in keys]

    def _solve_single(self, key: PartitionKey) -> Partition:
        quantity, basis = LEVEL_OF[key.kind], key.energy_basis
        order = self.table.order_by_cost(self.table.choose_objective(key.kind), basis)
        best = self.table.choose_without_target(order, key.kind, basis)
        bound = self.table.compute_merits(quantity, basis)[best].lower(compute_z(key.confidence))
        level = compute_target(bound, quantity, basis)
        return self._build_partition(key, (level, level), best, bound)

    def _list_ranges(self, keys: Sequence[PartitionKey]) -> list[Partition]:
        """Return the tiers of all confidences of a kind."""
        kind, basis = keys[0].kind, keys[0].energy_basis
        staircases = [build_staircase_of(self.table, kind, key.confidence, basis) for key in keys]
        ends = [end.target for steps in staircases for end in _find_ends(keys[0], steps)]
        candidates = sorted(
            Bound(compute_merit(target, QUANTITY_OF[kind], basis), target)
            for target in list_round_targets(min(ends), max(ends))
        )
        merits = np.array([each.merit for each in candidates])
        stairs = [self._weigh(key, steps.refine(merits)) for key, steps in zip(keys, staircases, strict=True)]
        bounds = choose_bounds(stairs, candidates)
        return [part for key, each in zip(keys, stairs, strict=True) for part in self._cut(key, each, bounds)]

    def _weigh(self, key: PartitionKey, steps: Staircase) -> WeightedStairs:
        quantity, basis = QUANTITY_OF[key.kind], key.energy_basis
        targets = [compute_merit(target, quantity, basis) for target in self.requested.get((key.kind, basis), ())]
        regret = compute_regret_matrix(steps, self.table.choose_objective(key.kind), basis)
        return WeightedStairs(steps, regret, steps.estimate_demand(np.array(targets) if targets else None))

    def _cut(self, key: PartitionKey, stairs: WeightedStairs, bounds: Sequence[Bound]) -> list[Partition]:
        """Return the tiers of one confidence between those of the bounds that lie far enough within its own range."""
        steps = stairs.steps
        easiest, hardest = _find_ends(key, steps)
        lower, upper = sorted((easiest.target, hardest.target))
        inner = [each for each in bounds if is_wide(lower, each.target) and is_wide(each.target, upper)]
        parts = [
            self._build_partition(
                key,
                (easy.target, hard.target),
                int(steps.setting[np.searchsorted(steps.bound, hard.merit)]),
                hard.merit,
                stairs.compute_regret(easy.merit, hard.merit),
            )
            for easy, hard in pairwise((easiest, *drop_needless(steps, inner), hardest))
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


def _find_ends(key: PartitionKey, steps: Staircase) -> tuple[Bound, Bound]:
    """Return the easiest and the hardest target that can be certified."""
    easiest, hardest = (
        Bound(merit, compute_target(merit, QUANTITY_OF[key.kind], key.energy_basis))
        for merit in (steps.lowest, float(steps.bound[-1]))
    )
    return easiest, hardest
