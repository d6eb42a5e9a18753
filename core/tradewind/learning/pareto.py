"""Which settings of a lattice are worth keeping: Pareto fronts for people, a compact table for services and agents."""

from dataclasses import fields

import numpy as np
import numpy.typing as npt

from tradewind.parameters import Caps
from tradewind.prediction import Quantity, is_linear, z_of
from tradewind.selection import SettingTable
from tradewind.sla import CONFIDENCES, EnergyBasis

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

TOLERANCE = 0.01
"""A setting is dropped if a smaller one comes within one per cent of it in everything."""

_CAPPED_AXES = tuple(f.name for f in fields(Caps) if f.name != "streams")
"""Axes with a cap of their own; streams are the product of two of them."""


def pareto_front(throughput: FloatArray, merit: FloatArray) -> IntArray:
    """Indices of the settings that none beats in both of two merits, slowest first; O(n log n).

    Parameters
    ----------
    throughput, merit : (n,) more is better in both, such as ln T and −ln E, or ln T and −ln P.
    """
    fastest_first = np.lexsort((-merit, -throughput))
    best_so_far = np.maximum.accumulate(merit[fastest_first])
    better = np.concatenate([[True], best_so_far[1:] > best_so_far[:-1]])
    front: IntArray = fastest_first[better][::-1].astype(np.int64)
    return front


def compact(table: SettingTable, *, tolerance: float = TOLERANCE) -> SettingTable:
    """The settings that some agreement under some caps may choose, so that a small table serves them all.

    A setting is dropped if one that is kept has no axis higher (so every cap that permits the one permits the other)
    and is no worse in any merit, at confidences 0.5 and 0.99 (bounds are linear in z, so at all between), by more than
    the tolerance. Settings that are not certified are dropped too, unless none is. O(n · kept).

    Parameters
    ----------
    tolerance : relative; 0 keeps the answer to every feasible agreement exact.
    """
    sure = np.flatnonzero([one.certified for one in table.settings])
    if not len(sure):
        sure = np.arange(len(table.settings))
    axes = np.array(
        [[getattr(table.settings[i].parameters, axis) or 1 for axis in _CAPPED_AXES] for i in sure], dtype=float
    )
    merits, slack = _merit_columns(table, tolerance)
    merits = merits[sure]
    smallest_first = np.lexsort((*axes.T, -merits.sum(axis=1), np.log(axes).sum(axis=1).round(9)))
    axes, merits = axes[smallest_first], merits[smallest_first]
    kept = np.zeros(len(sure), dtype=bool)
    for i in range(len(sure)):
        smaller = (axes[:i][kept[:i]] <= axes[i]).all(axis=1)
        kept[i] = not (smaller & (merits[:i][kept[:i]] >= merits[i] - slack).all(axis=1)).any()
    chosen = np.sort(sure[smallest_first[kept]])
    return SettingTable(tuple(table.settings[i] for i in chosen), table.base_power_w)


def _merit_columns(table: SettingTable, tolerance: float) -> tuple[FloatArray, FloatArray]:
    """Every merit of every setting at both ends of the confidences, (n, q), and the slack of each column, (q,)."""
    quantities = tuple(Quantity) if table.knows_power else (Quantity.THROUGHPUT,)
    bases = tuple(EnergyBasis) if table.knows_power and table.base_power_w is not None else (EnergyBasis.TOTAL,)
    columns, slack = [], []
    for basis in bases:
        for quantity in quantities:
            moments = np.array(table.merits(quantity, basis))
            for confidence in (CONFIDENCES[0], CONFIDENCES[-1]):
                column = moments[:, 0] - z_of(confidence) * moments[:, 1]
                columns.append(column)
                slack.append(tolerance * (float(np.abs(column).max()) if is_linear(quantity, basis) else 1.0))
    return np.column_stack(columns), np.array(slack)
