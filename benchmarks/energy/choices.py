"""Choose settings of held-out rows, by the product's surfaces and SLAs, and by gradient boosting."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

from benchmarks.surfaces.sets import SurfaceSet
from tradewind.learning.leaf import MEDIAN_LOAD, fit_leaf
from tradewind.learning.leaf_prediction import build_predicted_settings
from tradewind.learning.observations import Flags, Floats, Observations
from tradewind.learning.validation import split_randomly
from tradewind.parameters import AXES, Parameters, build_parameters
from tradewind.sla.kinds import DEFAULT_CONFIDENCE, EnergyBasis, Sla, SlaKind
from tradewind.tiers.selection import Choice, choose_setting
from tradewind.tiers.setting_table import SettingTable

FRACTION = 0.9
"""Of the highest throughput, which a setting of little energy keeps."""

FAST_SHARE = 0.5
"""Rows at this share of the highest predicted throughput show how much single rows like the chosen ones scatter."""

FASTEST = Sla(kind=SlaKind.MAX_THROUGHPUT)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the rows of one setting had: its held-out ``row``."""

    row: int
    throughput_bps: float
    total_j: float
    dynamic_j: float


class HeldOutSet:
    """One split of a set: surfaces fitted to its training rows, and a table of the settings of all others.

    Only rows with a known base power take part.
    """

    def __init__(self, surfaces: SurfaceSet, seed: int) -> None:
        self._surfaces, self._seed = surfaces, seed
        known = np.isfinite(surfaces.dynamic_energy_j)
        self._train, held_out = split_randomly(len(known), np.random.default_rng(seed))
        self._train, self._rows = self._train & known, np.flatnonzero(held_out & known)

    @cached_property
    def table(self) -> SettingTable:
        """The settings of held-out rows, in their order, as a release would know them."""
        observations = self._surfaces.observations
        base_w = float(np.median(self._surfaces.base_power_w[self._train]))
        model = fit_leaf(observations.take(self._train), idle_power_w=base_w)
        settings = observations.settings[self._rows]
        prediction = model.predict(settings, np.full(len(settings), MEDIAN_LOAD))
        return SettingTable(build_predicted_settings(_list_parameters(observations, settings), prediction), base_w)

    def choose(self, sla: Sla) -> tuple[Choice, Outcome]:
        """Return the setting that serves an SLA for a byte of data, and what its held-out row had."""
        choice = choose_setting(self.table, sla, dataset_bytes=1.0)
        assert choice is not None, "nothing is capped"
        return choice, self._read(next(i for i, one in enumerate(self.table.settings) if one is choice.setting))

    def list_residuals(self) -> dict[int, float]:
        """Return ln(throughput / predicted) of the held-out rows that the surfaces take for fast, by row."""
        settings = self.table.settings
        least = max(each.log_throughput_mean for each in settings) + math.log(FAST_SHARE)
        rates = self._surfaces.observations.throughput_bps
        return {
            int(row): math.log(rates[row]) - each.log_throughput_mean
            for row, each in zip(self._rows, settings, strict=True)
            if each.log_throughput_mean >= least
        }

    def choose_by_boosting(self, basis: EnergyBasis) -> tuple[Outcome, Outcome]:
        """Return the fastest setting, and the one of least energy at `FRACTION` of its throughput, by predicted means
        of gradient boosting: no spread, no promise.
        """
        surfaces = self._surfaces
        energy_j = surfaces.energy_j if basis is EnergyBasis.TOTAL else surfaces.dynamic_energy_j
        throughput_bps = np.exp(self._boost(np.log(surfaces.observations.throughput_bps)))
        per_byte_j = self._boost(energy_j / surfaces.total_bytes)
        fast = throughput_bps >= FRACTION * throughput_bps.max()
        frugal = int(np.argmin(np.where(fast, per_byte_j, np.inf)))
        return self._read(int(np.argmax(throughput_bps))), self._read(frugal)

    def _boost(self, target: Floats) -> Floats:
        inputs = self._surfaces.inputs
        model = HistGradientBoostingRegressor(random_state=self._seed)
        with threadpool_limits(limits=1):  # next to other work, its threads wait for one another
            model.fit(inputs[self._train], target[self._train])
            return np.asarray(model.predict(inputs[self._rows]), dtype=np.float64)

    def _read(self, index: int) -> Outcome:
        """Return what the row had, energies for a byte."""
        surfaces, row = self._surfaces, self._rows[index]
        size = surfaces.total_bytes[row]
        return Outcome(
            row=int(row),
            throughput_bps=float(surfaces.observations.throughput_bps[row]),
            total_j=float(surfaces.energy_j[row] / size),
            dynamic_j=float(surfaces.dynamic_energy_j[row] / size),
        )


def make_frugal_sla(basis: EnergyBasis) -> Sla:
    """Return the SLA of least energy at `FRACTION` of the throughput that can be certified."""
    return Sla(kind=SlaKind.THROUGHPUT_AT_LEAST, fraction=FRACTION, confidence=DEFAULT_CONFIDENCE, energy_basis=basis)


def has_resources(surfaces: SurfaceSet) -> bool:
    """Return whether cores and frequency vary in a set, and enough of its rows know their base power."""
    axes, settings = surfaces.observations.axes, surfaces.observations.settings
    known: Flags = np.isfinite(surfaces.dynamic_energy_j)
    return bool(known.mean() > 0.5) and all(
        axis in axes and len(np.unique(settings[:, axes.index(axis)])) > 1 for axis in ("cores", "frequency_hz")
    )


def _list_parameters(observations: Observations, settings: Floats) -> Iterator[Parameters]:
    used = [(axis, column) for column, axis in enumerate(observations.axes) if axis in AXES]
    for row in settings:
        yield build_parameters({axis: float(row[column]) for axis, column in used})


DRAWS = 2000


def compute_throughput_scatter(
    picks: Sequence[tuple[tuple[Choice, Outcome], tuple[Choice, Outcome]]],
    residuals: Mapping[int, float],
    seed: int,
) -> dict[str, float]:
    """Return how far the ratio of the throughputs of two choices scatters by single rows alone.

    Each row that was chosen gets the deviation of another fast row, drawn at random, the same in every split. So the
    interval is what the figure could have been had the surfaces been right, with as many different rows.

    Parameters
    ----------
    picks : of each split the frugal and the fastest choice.
    residuals : ln(held out / predicted) of fast rows, see `HeldOutSet.list_residuals`.
    """
    pool = np.array(list(residuals.values()))
    rows = sorted({outcome.row for pair in picks for _, outcome in pair})
    place = {row: column for column, row in enumerate(rows)}
    deviations = np.random.default_rng(seed).choice(pool - pool.mean(), (DRAWS, len(rows)))
    frugal, fastest = (
        sum(
            np.exp(pair[side][0].setting.log_throughput_mean + deviations[:, place[pair[side][1].row]])
            for pair in picks
        )
        for side in (0, 1)
    )
    expected = [sum(math.exp(pair[side][0].setting.log_throughput_mean) for pair in picks) for side in (0, 1)]
    low, high = np.quantile(frugal / fastest, (0.05, 0.95))
    return {
        "throughput_vs_fastest_predicted": expected[0] / expected[1],
        "throughput_vs_fastest_low": float(low),
        "throughput_vs_fastest_high": float(high),
        "rows_chosen": len(rows),
    }
