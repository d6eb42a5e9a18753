"""The table of an unknown path: its prior, corrected by how neighbouring leaves deviate from their own priors.

It does not evaluate all settings of those leaves, which would take a request tens of milliseconds. It evaluates some of
each leaf's best, a coarse grid of all, and what the prior expects to be best here. Together these contain a setting
nearly as good as the best of all.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from tradewind.dataset import DataSet
from tradewind.energy.ends import PowerByEnd
from tradewind.model import LeafModel, list_compact_settings
from tradewind.parameters import Parameters
from tradewind.path import Path
from tradewind.prediction import PredictedSetting
from tradewind.recommendation import CompactTable
from tradewind.tiers.setting_table import SettingTable
from tradewind.unknown_path import prior

BEST, GRID = 24, 48
"""Settings that each leaf offers: of its best, and of its lattice."""


OTHER_MOVER_LOG_SD = 0.35
"""Between two movers at the same setting of one path: a factor of 1.4 either way. A judgement, not a measurement."""


@dataclass(frozen=True, slots=True)
class LendableSettings:
    """Certified settings of a leaf: those to evaluate on any path near by, and groups with equal streams to search by
    the prior.
    """

    candidates: tuple[Parameters, ...]
    stream_groups: tuple[tuple[Parameters, ...], ...]

    @classmethod
    def of(cls, leaf: LeafModel, compact: CompactTable) -> "LendableSettings":
        """Return the lendable settings of a leaf; its compact table already holds the best."""
        best = (each.parameters for each in list_compact_settings(compact.predicted.settings, BEST) if each.certified)
        return cls(tuple(dict.fromkeys((*best, *_list_grid(leaf)))), tuple(_group_by_streams(leaf)))


def _list_grid(leaf: LeafModel) -> Iterable[Parameters]:
    """Yield certified settings spread over the leaf's lattice."""
    settings, place_of = leaf.table.settings, leaf.lattice.build_place_finder()
    for thinned in leaf.lattice.thin(GRID).list_settings():
        place = place_of(thinned)
        if place is not None and settings[place].certified:
            yield settings[place].parameters


def _group_by_streams(leaf: LeafModel) -> Iterable[tuple[Parameters, ...]]:
    """Keep for each concurrency and parallelism the setting with most pipelining, which costs nothing in the prior."""
    most: dict[tuple[int | None, int | None], PredictedSetting] = {}
    for setting in leaf.table.settings:
        key = setting.parameters.concurrency, setting.parameters.parallelism
        if setting.certified and (key not in most or _rank_by_pipelining(setting) > _rank_by_pipelining(most[key])):
            most[key] = setting
    groups: dict[int, list[Parameters]] = {}
    for setting in most.values():
        groups.setdefault(setting.parameters.streams, []).append(setting.parameters)
    return map(tuple, groups.values())


def _rank_by_pipelining(setting: PredictedSetting) -> tuple[int, float]:
    return setting.parameters.pipelining or 0, setting.log_throughput_mean


@dataclass(frozen=True, slots=True)
class Lender:
    """A leaf near an unknown path, and its weight.

    ``path`` : of the leaf's link, bandwidth or RTT known. ``weight`` : above 0, relative to the other lenders'.
    ``log_variance`` : what is added to the leaf's own, because it is less similar than its distance shows.
    """

    leaf: LeafModel
    lendable: LendableSettings
    path: Path
    weight: float
    log_variance: float = 0.0

    def build_dataset(self) -> DataSet:
        """Return the data set at the leaf's centre."""
        files = max(round(2.0**self.leaf.leaf.log2_file_count), 1)
        return DataSet(file_count=files, total_bytes=round(files * 2.0**self.leaf.leaf.log2_mean_file_bytes))


def borrow_table(lenders: Sequence[Lender], path: Path, dataset: DataSet, load: float) -> SettingTable:
    """Return the table of an unknown path; empty where no lender certifies any setting. It certifies nothing itself.

    Parameters
    ----------
    lenders : nearest first, at least one.
    path : bandwidth or RTT known.

    Notes
    -----
    log T_new(x) = log prior_new(x) + Σ w·(log T_nb(x) − log prior_nb(x)) / Σ w; the variance is the neighbours' plus
    their disagreement plus half of the prior's, so that the interval is wider than any neighbour's.
    """
    expected_bps = prior.build_throughput_model(path, dataset, load)
    powered = select_power_lenders(lenders)
    known = [
        (
            lender.weight if lender in powered else 0.0,
            lender.weight,
            lender.log_variance,
            lender.leaf.table.settings,
            lender.leaf.lattice.build_place_finder(),
            prior.build_throughput_model(lender.path, lender.build_dataset(), lender.leaf.leaf.load),
        )
        for lender in lenders
    ]
    settings = []
    for candidate in _list_candidates(lenders, expected_bps):
        lent = [
            (
                power_weight,
                weight,
                variance,
                entries[place],
                entries[place].log_throughput_mean - math.log(prior_bps(candidate)),
            )
            for power_weight, weight, variance, entries, place_of, prior_bps in known
            if (place := place_of(candidate)) is not None and entries[place].certified
        ]
        settings.append(_combine_lenders(candidate, lent, math.log(expected_bps(candidate))))
    return SettingTable(tuple(settings), _compute_base_power_w(powered))


def find_power_by_end(lenders: Sequence[Lender]) -> PowerByEnd:
    """Return the ends whose power a borrowed table has; empty where no lender states them."""
    powered = select_power_lenders(lenders)
    return powered[0].leaf.power_by_end if powered else {}


def select_power_lenders(lenders: Sequence[Lender]) -> list[Lender]:
    """Return the lenders that metered the same ends as the nearest one: power of one end and of both ends differs.

    A table that is borrowed from these alone knows the power of each of its settings.
    """
    powered = [lender for lender in lenders if lender.leaf.table.knows_power]
    return [lender for lender in powered if lender.leaf.power_by_end.keys() == powered[0].leaf.power_by_end.keys()]


def _compute_base_power_w(powered: Sequence[Lender]) -> float | None:
    """Return the lenders' base power by their weights; ``None`` where one of them does not know it."""
    known = [(lender.weight, lender.leaf.table.base_power_w) for lender in powered]
    bases = [(weight, base_w) for weight, base_w in known if base_w is not None]
    if not bases or len(bases) < len(known):
        return None
    return sum(weight * base_w for weight, base_w in bases) / sum(weight for weight, _ in bases)


def _list_candidates(lenders: Sequence[Lender], expected_bps: Callable[[Parameters], float]) -> Iterable[Parameters]:
    """Return the settings to evaluate, each certified by a lender.

    The fastest of each number of streams on this path is added, since the lenders' own best may miss it: many settings
    that fill their path equally do not fill another one.
    """
    offered = chain.from_iterable(lender.lendable.candidates for lender in lenders)
    fastest = (max(group, key=expected_bps) for group in lenders[0].lendable.stream_groups)
    return dict.fromkeys(chain(offered, fastest))


def _combine_lenders(
    setting: Parameters, lent: Sequence[tuple[float, float, float, PredictedSetting, float]], log_prior: float
) -> PredictedSetting:
    """Combine (weight of its power, weight, added variance, entry, residual) of each lender of this setting."""
    total = mean = squares = own = powered = log_power = 0.0
    for power_weight, weight, variance, entry, residual in lent:
        total += weight
        mean += weight * residual
        squares += weight * residual * residual
        own += weight * (entry.log_throughput_sd**2 + variance)
        if power_weight and entry.log_power_mean is not None:
            powered += power_weight
            log_power += power_weight * entry.log_power_mean
    mean /= total
    disagreement = max(squares / total - mean * mean, 0.0)
    return PredictedSetting(
        parameters=setting,
        log_throughput_mean=log_prior + mean,
        log_throughput_sd=math.sqrt(own / total + disagreement + prior.PRIOR_LOG_SD**2 / 2),
        log_power_mean=log_power / powered if powered else None,
        log_power_sd=prior.PRIOR_LOG_SD if powered else 0.0,
        certified=False,
    )
