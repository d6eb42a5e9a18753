"""The model of one link, from its reduced log: tiers, a pair of surfaces for each leaf, and the partitions."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tradewind import model
from tradewind.cluster import Leaf
from tradewind.energy.ends import EndPower, PowerByEnd
from tradewind.energy.measured import Host
from tradewind.errors import CannotFit
from tradewind.learning.clustering.tiered import MIN_ROWS, find_tiers
from tradewind.learning.current_model import ComparisonRows, CurrentModel
from tradewind.learning.gain_check import describe_gain
from tradewind.learning.leaf import fit_leaf
from tradewind.learning.leaf_prediction import span_lattice
from tradewind.learning.link_log import VALUES, ReducedLog
from tradewind.learning.observations import Observations
from tradewind.learning.partition import solve_partitions
from tradewind.learning.setting_rows import LeafRows
from tradewind.learning.validation import restrict_certified, validate_leaf
from tradewind.parameters import AXES, build_parameters
from tradewind.path import Path
from tradewind.tiers.demand import Demand
from tradewind.tiers.setting_table import SettingTable
from tradewind.units import format_bytes, format_count

FloatArray = npt.NDArray[np.float64]

FEWEST_ROWS = 20
"""Rows of a leaf on a link with little history: just enough to fit and to validate."""

DELAY_QUANTILE = 0.9
QUIET_QUANTILE = 0.25
"""Loss of the quietest quarter of the rows: what the path loses without congestion."""


def fit_link(
    log: ReducedLog,
    rng: np.random.Generator,
    current: CurrentModel | None = None,
    requested: Demand | None = None,
) -> model.LinkModel:
    """Fit all leaves of a link.

    A leaf that cannot be fitted, or does not hold on held-out rows, is left out and listed in ``failures``.

    Parameters
    ----------
    rng : draws the rows that are held out.
    current : the model that serves now; each leaf is compared with it on held-out rows that are new to it.
    requested : targets of past requests on the link, by which its tiers are cut.

    Raises
    ------
    CannotFit : not one leaf can be fitted.
    """
    leaves: list[model.LeafModel] = []
    failures: list[str] = []
    for leaf, rows in find_leaves(log):
        try:
            leaves.append(_fit_leaf_model(leaf, rows, rng, current, requested))
        except CannotFit as reason:
            failures.append(f"{_describe_leaf(leaf)}: {reason}")
    if not leaves:
        raise CannotFit("; ".join(failures))
    return model.LinkModel(
        path=_build_path(log),
        leaves=tuple(leaves),
        rows=log.rows,
        load_median=log.load_median,
        unknown_bps=log.present_unknown_bps if np.isfinite(log.present_unknown_bps) else None,
        failures=tuple(failures),
    )


def find_leaves(log: ReducedLog) -> list[tuple[Leaf, LeafRows]]:
    """Return the leaves of a link with their sampled rows, fitted or not."""
    tiers = find_tiers(log.digest.cells, min_rows=min(max(log.rows // 4, FEWEST_ROWS), MIN_ROWS))
    return list(zip(tiers.leaves, tiers.group_rows(log.digest), strict=True))


def build_observations(rows: LeafRows) -> Observations:
    """Return the rows of a leaf as its surfaces are fitted to them, on the axes that carry information."""
    columns = _Columns(rows)
    informative = _find_informative_axes(rows.settings)
    return Observations(
        axes=tuple(axis for axis, is_informative in zip(AXES, informative.tolist(), strict=True) if is_informative),
        settings=rows.settings[rows.setting][:, informative],
        throughput_bps=columns["throughput_bps"],
        power_w=_build_power(columns)[0],
        load=columns["load"],
        started_s=columns["start_s"],
    )


def _describe_leaf(leaf: Leaf) -> str:
    files = format_count(max(round(2**leaf.log2_file_count), 1), "file")
    return f"data sets near {files} of {format_bytes(2**leaf.log2_mean_file_bytes)}"


def _build_path(log: ReducedLog) -> Path:
    known = {
        name: float(value)
        for name in ("bandwidth_bps", "rtt_s", "buffer_bytes", "loss_rate")
        if np.isfinite(value := getattr(log, name)) and (value > 0 or name == "loss_rate")
    }
    return Path(**known)


@dataclass(frozen=True, slots=True)
class _Columns:
    """Sampled rows of a leaf by name; ``setting`` indexes ``settings``."""

    rows: LeafRows

    def __getitem__(self, name: str) -> FloatArray:
        column: FloatArray = self.rows.values[:, VALUES.index(name)]
        return column


def _fit_leaf_model(
    leaf: Leaf,
    rows: LeafRows,
    rng: np.random.Generator,
    current: CurrentModel | None,
    requested: Demand | None,
) -> model.LeafModel:
    columns = _Columns(rows)
    observations = build_observations(rows)
    power_w, axes = observations.power_w, observations.axes
    base_power_w = _build_power(columns)[1]
    fitted = fit_leaf(observations, idle_power_w=base_power_w or 0.0)
    predicted_now = current.predict_log_throughput(_to_comparison_rows(rows, columns)) if current else None
    validation = validate_leaf(observations, fitted, rng, current=predicted_now)
    if not validation.accepted:
        raise CannotFit("; ".join(validation.objections))
    lattice = span_lattice(axes, observations.settings)
    served = restrict_certified(fitted.evaluate(lattice), observations, fitted.throughput)
    table = SettingTable(served.build_settings(), base_power_w if fitted.power else None)
    return model.LeafModel(
        leaf=leaf,
        lattice=lattice,
        table=table,
        observed=_build_observed_settings(axes, rows, columns, power_w),
        partitions=solve_partitions(table, requested=requested),
        load_effect=fitted.tabulate_load_effect(),
        power_by_end=_build_power_by_end(columns) if fitted.power else {},
        accuracy={**validation.to_dict(), **describe_gain(observations, fitted, table)},
        queueing_delay_p90_s=_compute_delays(axes, observations.settings, columns["queueing_delay_s"]),
        loss_baseline=_compute_quantile(columns["loss"], QUIET_QUANTILE),
    )


def _find_informative_axes(settings: FloatArray) -> npt.NDArray[np.bool_]:
    """Return which axes (a,) the rows carry information on.

    One size of blocks or parts for all of them shows nothing: it is a tool's default, and nobody is advised to it.
    """
    informative: npt.NDArray[np.bool_] = np.asarray(np.isfinite(settings).any(axis=0))
    for axis in (AXES.index("io_block_bytes"), AXES.index("part_bytes")):
        sizes = settings[:, axis]
        informative[axis] &= len(np.unique(sizes[np.isfinite(sizes)])) > 1
    return informative


def _to_comparison_rows(rows: LeafRows, columns: _Columns) -> ComparisonRows:
    return ComparisonRows(
        settings=rows.settings[rows.setting],
        mean_file_bytes=columns["mean_file_bytes"],
        file_count=columns["file_count"],
        load=columns["load"],
        received_s=columns["received_s"],
    )


def _build_power(columns: _Columns) -> tuple[FloatArray, float | None]:
    """Return the power of the rows whose metered ends are the leaf's usual ones, NaN elsewhere, and the base power of
    those ends.

    Power of one end and of both ends are different quantities; a missing end is not zero.
    """
    meters = columns["meters"]
    if not (meters > 0).any():
        return np.full(len(meters), np.nan), None
    usual = _find_usually_metered(meters)
    return np.where(usual, columns["power_w"], np.nan), _compute_quantile(columns["base_power_w"][usual], 0.5)


def _build_power_by_end(columns: _Columns) -> PowerByEnd:
    """Return the median power of each end in the rows that `_build_power` takes; without ends that are not metered."""
    usual = _find_usually_metered(columns["meters"])
    source = columns["source_power_w"][usual], columns["source_base_w"][usual]
    # What is known of the source alone is the sum of the ends that are known.
    others_w = columns["power_w"][usual] - np.nan_to_num(source[0])
    others_base_w = columns["base_power_w"][usual] - np.nan_to_num(source[1])
    meters = int(columns["meters"][usual][0])
    by_host = {Host.SOURCE: (1, *source), Host.DESTINATION: (2, others_w, others_base_w)}
    return {
        host: EndPower(power_w, _compute_quantile(base_w, 0.5))
        for host, (bit, watts, base_w) in by_host.items()
        if meters & bit and (power_w := _compute_quantile(watts, 0.5)) is not None
    }


def _find_usually_metered(meters: FloatArray) -> npt.NDArray[np.bool_]:
    """Return which rows were metered at the ends that most metered rows have; there must be a metered row."""
    kinds, counts = np.unique(meters[meters > 0], return_counts=True)
    usual: npt.NDArray[np.bool_] = np.asarray(meters == kinds[np.argmax(counts)])
    return usual


def _compute_quantile(values: FloatArray, q: float) -> float | None:
    known = values[np.isfinite(values)]
    return float(np.quantile(known, q)) if len(known) else None


def _build_observed_settings(
    axes: tuple[str, ...], rows: LeafRows, columns: _Columns, power_w: FloatArray
) -> tuple[model.ObservedSetting, ...]:
    log_throughput = np.log(columns["throughput_bps"])
    found = []
    for i, (setting, count) in enumerate(zip(rows.settings, rows.counts, strict=True)):
        inside = rows.setting == i
        watts = power_w[inside]
        known = watts[np.isfinite(watts)]
        values = {axis: setting[AXES.index(axis)] for axis in axes}
        found.append(
            model.ObservedSetting(
                parameters=build_parameters(values),
                rows=int(count),
                log_throughput_mean=float(log_throughput[inside].mean()),
                power_w_mean=float(known.mean()) if len(known) else None,
            )
        )
    return tuple(found)


def _compute_delays(axes: tuple[str, ...], settings: FloatArray, delay_s: FloatArray) -> Mapping[int, float]:
    """90th percentile of the queueing delay by number of streams, where RTTs were logged."""
    streams = np.ones(len(settings))
    for axis in ("concurrency", "parallelism"):
        if axis in axes:
            streams = streams * np.nan_to_num(settings[:, axes.index(axis)], nan=1.0)
    found = {int(count): _compute_quantile(delay_s[streams == count], DELAY_QUANTILE) for count in np.unique(streams)}
    return {count: delay for count, delay in found.items() if delay is not None}
