"""The model of a link: the leaves of its history, each with its lattice of predictions and its SLA partitions.

Workers make these values, the database stores them, the API answers from them; none of the three needs the numerics
that fitted them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import groupby

from tradewind.cluster import Leaf
from tradewind.energy.ends import PowerByEnd
from tradewind.load_effect import NO_SHIFT, LoadEffect, LoadShift
from tradewind.parameters import Lattice, Parameters
from tradewind.path import Path
from tradewind.prediction import PredictedSetting
from tradewind.recommendation import CompactTable
from tradewind.tiers.partitions import Partition
from tradewind.tiers.setting_table import SettingTable

COMPACT_SETTINGS = 48
"""Settings in a table that agents receive: a few kilobytes, and no loss on the front of throughput and power."""


@dataclass(frozen=True, slots=True)
class ObservedSetting:
    """Rows of the logs at one setting: the means of log throughput (bit/s) and power, and the number of rows."""

    parameters: Parameters
    rows: int
    log_throughput_mean: float
    power_w_mean: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeafModel:
    """One cluster with its surfaces on a lattice.

    ``table`` holds the lattice's settings in C order of ``lattice``, at the leaf's median load; ``partitions`` are
    solved on it, and ``load_effect`` shifts both to other loads (``None`` where load was not known or never varied).
    ``accuracy`` is on held-out rows, by name. ``power_by_end`` names the ends that the table's power is of, and what
    each takes; it is empty without power, and in models from before it was kept.
    """

    leaf: Leaf
    lattice: Lattice
    table: SettingTable
    observed: tuple[ObservedSetting, ...]
    partitions: tuple[Partition, ...]
    accuracy: Mapping[str, float]
    queueing_delay_p90_s: Mapping[int, float] = field(default_factory=dict)
    loss_baseline: float | None = None
    load_effect: LoadEffect | None = None
    power_by_end: PowerByEnd = field(default_factory=dict)

    def compute_shift(self, load: float) -> LoadShift:
        """Return what a load 0 … 1 adds to the logarithms of ``table``; nothing where its effect is not known."""
        return (
            NO_SHIFT
            if self.load_effect is None
            else self.table.limit_to_base_power(self.load_effect.interpolate_shift(load))
        )

    def build_compact_table(self) -> CompactTable:
        """Return the table that is sent with a recommendation."""
        return CompactTable(
            predicted=SettingTable(list_compact_settings(self.table.settings), self.table.base_power_w),
            queueing_delay_p90_s=self.queueing_delay_p90_s,
            loss_baseline=self.loss_baseline,
            power_by_end=self.power_by_end,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkModel:
    """All leaves of one link, and the link's own values.

    ``load_median`` : median external load, 0..1. ``unknown_bps`` : the last known rate of traffic that is in no log;
    ``None`` where every transfer was too slow by itself to show it.
    ``rows`` : log rows that the model stands on.
    """

    path: Path
    leaves: tuple[LeafModel, ...]
    rows: int
    load_median: float
    unknown_bps: float | None = None
    failures: tuple[str, ...] = ()
    """Leaves that could not be fitted, and why."""


def list_compact_settings(
    settings: tuple[PredictedSetting, ...], limit: int = COMPACT_SETTINGS
) -> tuple[PredictedSetting, ...]:
    """Return at most ``limit`` settings, in the order of ``settings``.

    First come those that no other beats in throughput with as few streams or watts, then the fastest of each number of
    streams, then the fastest of all.
    """
    if len(settings) <= limit:
        return settings
    ranked = sorted(range(len(settings)), key=lambda i: _rank_setting(settings[i]))
    chosen_indices: list[int] = []
    best_cost = float("inf")
    for i in ranked:
        if (cost := _compute_cost(settings[i])) < best_cost:
            chosen_indices.append(i)
            best_cost = cost
    by_streams = sorted(ranked, key=lambda i: settings[i].parameters.streams)
    chosen_indices += (next(group) for _, group in groupby(by_streams, key=lambda i: settings[i].parameters.streams))
    chosen_indices += ranked
    chosen = sorted(list(dict.fromkeys(chosen_indices))[:limit])
    return tuple(settings[i] for i in chosen)


def _rank_setting(setting: PredictedSetting) -> tuple[bool, float]:
    return (not setting.certified, -setting.log_throughput_mean)


def _compute_cost(setting: PredictedSetting) -> float:
    return setting.parameters.streams if setting.log_power_mean is None else setting.log_power_mean
