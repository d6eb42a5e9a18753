"""The gate: a link's new model may serve if its spread is honest and its error no worse than the current one's.

The fit itself leaves out each leaf that predicts its held-out rows no better than their mean. If a model fails here,
its predecessor stays in the release; without one the link is answered as an unknown path.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from tradewind.model import LeafModel, LinkModel

ACCURACY, COVERAGE, HELD_OUT_ROWS = "throughput.accuracy", "throughput.coverage90", "throughput.rows"
COMPARED_ROWS, GROWTH_SD = "compared.rows", "compared.growth_sd"
ERROR, ERROR_OF_CURRENT = "compared.error", "compared.error_in_force"

LOWEST_COVERAGE = 0.80
"""Share of held-out rows within the 90 % band; below this twice as many rows miss it as promised, and so do SLAs."""

GROWTH_ALLOWED = 0.05
"""Relative error that a refit may add before its predecessor stays: it is judged with only 70 to 80 % of its rows."""

CHANCE_DEVIATIONS = 2.0
"""Standard errors by which a metric may miss its bound by chance, so that few rows decide nothing."""

REFIT_PART = 10
"""A refused link is fitted again once its logs have grown by this fraction, a tenth: all fits of a history that never
passes then cost no more than eleven times the last one (a geometric sum), however often logs come."""

REFIT_AFTER = timedelta(days=1)
"""With newer logs, however few, a refused link is also fitted again after this time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Metrics over the held-out rows of all leaves, and the reasons of a refusal (empty: passed).

    ``error``, ``error_of_current`` : relative errors of the new and of the current model on the same ``compared_rows``,
    to which neither was fitted; ``None`` without such rows.
    """

    accuracy: float
    coverage90: float
    held_out_rows: int
    compared_rows: int
    error: float | None
    error_of_current: float | None
    reasons: tuple[str, ...]

    @property
    def passed(self) -> bool:
        return not self.reasons

    def list_metrics(self) -> Mapping[str, float | None]:
        """Return the metrics that are stored, shown and logged next to the reasons."""
        return {
            "accuracy": self.accuracy,
            "coverage90": self.coverage90,
            "held_out_rows": self.held_out_rows,
            "compared_rows": self.compared_rows,
            "error": self.error,
            "error_in_force": self.error_of_current,
        }


def judge_fit(new: LinkModel) -> Verdict:
    """Judge a new model by its own claims and against the current model."""
    held_out = int(sum(leaf.accuracy[HELD_OUT_ROWS] for leaf in new.leaves))
    accuracy, coverage = (_compute_mean(new.leaves, metric, HELD_OUT_ROWS) for metric in (ACCURACY, COVERAGE))
    reasons = []
    lowest = LOWEST_COVERAGE - CHANCE_DEVIATIONS * math.sqrt(LOWEST_COVERAGE * (1 - LOWEST_COVERAGE) / held_out)
    if coverage < lowest:
        reasons.append(f"the 90 % band holds {coverage:.0%} of {held_out} held-out rows, less than {lowest:.0%}")
    compared = tuple(leaf for leaf in new.leaves if COMPARED_ROWS in leaf.accuracy)
    rows = int(sum(leaf.accuracy[COMPARED_ROWS] for leaf in compared))
    error = error_of_current = None
    if compared:
        error, error_of_current = (
            _compute_mean(compared, metric, COMPARED_ROWS) for metric in (ERROR, ERROR_OF_CURRENT)
        )
        growth_sd = math.hypot(*(leaf.accuracy[GROWTH_SD] * leaf.accuracy[COMPARED_ROWS] for leaf in compared)) / rows
        if error - error_of_current > GROWTH_ALLOWED + CHANCE_DEVIATIONS * growth_sd:
            reasons.append(f"errs by {error:.0%} on {rows} new rows, the current model by {error_of_current:.0%}")
    return Verdict(
        accuracy=accuracy,
        coverage90=coverage,
        held_out_rows=held_out,
        compared_rows=rows,
        error=error,
        error_of_current=error_of_current,
        reasons=tuple(reasons),
    )


def _compute_mean(leaves: tuple[LeafModel, ...], metric: str, weight: str) -> float:
    """Return the mean of a metric over the leaves, weighted by the rows that it was measured on."""
    total = sum(leaf.accuracy[weight] for leaf in leaves)
    return sum(leaf.accuracy[metric] * leaf.accuracy[weight] for leaf in leaves) / total
