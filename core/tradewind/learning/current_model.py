"""What the current model predicts for rows that arrived after it was fitted: the reference for a new model."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from scipy.interpolate import RegularGridInterpolator

from tradewind.cluster import Leaf
from tradewind.learning.observations import Floats
from tradewind.model import LeafModel, LinkModel
from tradewind.parameters import AXES

MIN_COMPARED_ROWS = 8
"""Fewer rows do not show whether a model is better than another."""


@dataclass(frozen=True, slots=True)
class ModelComparison:
    """A new surface and the current model on the same rows, to which neither was fitted.

    ``error``, ``error_in_force`` : mean absolute error of ln T, about the relative error of T; of logarithms, so that
    no wild row decides, and both under the row's own load. ``growth_sd`` : standard error of their difference.
    """

    rows: int
    error: float
    error_in_force: float
    growth_sd: float

    @classmethod
    def of(cls, log_actual: Floats, log_predicted: Floats, log_predicted_now: Floats) -> "ModelComparison | None":
        """Compare predictions of rows (r,); ``None`` if they are too few."""
        if len(log_actual) < MIN_COMPARED_ROWS:
            return None
        new, old = np.abs(log_actual - log_predicted), np.abs(log_actual - log_predicted_now)
        growth_sd = float(np.std(new - old, ddof=1) / np.sqrt(len(new)))
        return cls(len(new), float(new.mean()), float(old.mean()), growth_sd)

    def to_dict(self) -> dict[str, float]:
        """Return plain numbers by name."""
        return {field.name: float(getattr(self, field.name)) for field in fields(self)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonRows:
    """Rows of a link to predict; (n,) each, NaN where not logged.

    Attributes
    ----------
    settings : (n, a) values of ``tradewind.parameters.AXES``.
    received_s : when the store got each row, POSIX s.
    """

    settings: Floats
    mean_file_bytes: Floats
    file_count: Floats
    load: Floats
    received_s: Floats


@dataclass(frozen=True, slots=True)
class CurrentModel:
    """A stored model and when it was fitted, POSIX s: rows that the store got later are new to it."""

    model: LinkModel
    fitted_s: float

    def predict_log_throughput(self, rows: ComparisonRows) -> Floats:
        """Return ln(bit/s) that the model predicts for each row (n,), from the lattice of the leaf that would have
        served it.

        NaN of rows that it may have been fitted to, on which it would look better than it is, and of rows that do not
        say what its lattice asks for. Beyond the lattice its edge counts, as it does when it is served.
        """
        expected = np.full(len(rows.settings), np.nan)
        new = np.flatnonzero(rows.received_s > self.fitted_s)
        if not len(new):
            return expected
        nearest = _build_nearest_leaves(
            [each.leaf for each in self.model.leaves],
            rows.mean_file_bytes[new],
            rows.file_count[new],
            np.where(np.isfinite(rows.load[new]), rows.load[new], self.model.load_median),
        )
        for i, leaf in enumerate(self.model.leaves):
            here = new[nearest == i]
            if len(here):
                expected[here] = _interpolate_on_lattice(leaf, rows.settings[here]) + _compute_shift(
                    leaf, rows.load[here]
                )
        return expected


def _build_nearest_leaves(
    leaves: Sequence[Leaf], mean_file_bytes: Floats, file_count: Floats, load: Floats
) -> np.typing.NDArray[np.intp]:
    """Return the index of the leaf (n,) that `tradewind.cluster.find_nearest_leaf` finds for each row, for all rows at
    once.
    """
    size, count = (np.log2(np.maximum(values, 1.0))[:, None] for values in (mean_file_bytes, file_count))
    order = np.array(sorted(range(len(leaves)), key=lambda i: (leaves[i].dataset_tier, leaves[i].load_tier)))
    centres = np.array(
        [
            (leaves[i].log2_mean_file_bytes, leaves[i].log2_file_count, leaves[i].load, leaves[i].dataset_tier)
            for i in order
        ]
    )
    distance = np.hypot(size - centres[:, 0], count - centres[:, 1])
    tier = centres[np.argmin(distance, axis=1), 3]
    away = np.where(centres[:, 3] == tier[:, None], np.abs(load[:, None] - centres[:, 2]), np.inf)
    nearest: np.typing.NDArray[np.intp] = order[np.argmin(away, axis=1)]
    return nearest


def _compute_shift(leaf: LeafModel, load: Floats) -> Floats:
    """Return what loads (r,) add to the lattice, which is that of the leaf's median load; nothing where unknown."""
    if leaf.load_effect is None:
        return np.zeros(len(load))
    shift: Floats = np.interp(load, leaf.load_effect.loads, leaf.load_effect.log_throughput)
    return np.where(np.isfinite(load), shift, 0.0)


def _interpolate_on_lattice(leaf: LeafModel, settings: Floats) -> Floats:
    """Return the leaf's log mean at settings (r, a), linear between the points of its lattice."""
    values = np.array([setting.log_throughput_mean for setting in leaf.table.settings]).reshape(leaf.lattice.shape)
    varying = [axis for axis in leaf.lattice.axes if len(leaf.lattice.values[axis]) > 1]
    if not varying:
        return np.full(len(settings), values.item())
    points = [np.log1p(np.array(leaf.lattice.values[axis])) for axis in varying]
    requested = np.log1p(settings[:, [AXES.index(axis) for axis in varying]])
    inside = np.clip(requested, [each[0] for each in points], [each[-1] for each in points])
    shape = [len(each) for each in points]
    interpolator = RegularGridInterpolator(points, values.reshape(shape), bounds_error=False)  # NaN gives NaN
    expected: Floats = interpolator(inside)
    return expected
