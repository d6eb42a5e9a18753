"""Whether a link's new model may serve: honest about its spread, and no worse than the one in force on the same rows.

That each leaf tells its held-out rows better than their mean would is checked when it is fitted; one that does not is
left out. A model that fails here leaves its predecessor in the release; without predecessor the link is answered as an
unseen path.
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
"""Share of held-out rows within the 90 % band; below this it misses twice as many as it says, and so do the SLAs."""

GROWTH_ALLOWED = 0.05
"""Relative error that a refit may add before its predecessor is kept: it is tried with 70 to 80 % of its rows alone."""

CHANCE_DEVIATIONS = 2.0
"""Standard errors by which a figure may miss its bound by chance alone: few rows decide nothing."""

REFIT_PART = 10
"""A link that was refused is fitted again once its logs have grown by this part of them, a tenth: a history that never
passes then costs, over all its fits, no more than eleven of the last one (a geometric sum), however often logs come."""

REFIT_AFTER = timedelta(days=1)
"""With newer logs it is fitted again after so long, too, however few they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Figures over the held-out rows of all leaves, and why the model was refused (empty: passed).

    ``error``, ``error_in_force`` : relative errors of the new model and of the one in force on the same
    ``compared_rows``, to which neither was fitted; ``None`` without such rows.
    """

    accuracy: float
    coverage90: float
    held_out_rows: int
    compared_rows: int
    error: float | None
    error_in_force: float | None
    reasons: tuple[str, ...]

    @property
    def passed(self) -> bool:
        return not self.reasons

    def metrics(self) -> Mapping[str, float | None]:
        """What is stored, shown and logged of it; the reasons stand beside."""
        return {
            "accuracy": self.accuracy,
            "coverage90": self.coverage90,
            "held_out_rows": self.held_out_rows,
            "compared_rows": self.compared_rows,
            "error": self.error,
            "error_in_force": self.error_in_force,
        }


def judge_fit(new: LinkModel) -> Verdict:
    """Hold a new model against its own claims and against the model in force."""
    held_out = int(sum(leaf.accuracy[HELD_OUT_ROWS] for leaf in new.leaves))
    accuracy, coverage = (_mean(new.leaves, figure, HELD_OUT_ROWS) for figure in (ACCURACY, COVERAGE))
    reasons = []
    lowest = LOWEST_COVERAGE - CHANCE_DEVIATIONS * math.sqrt(LOWEST_COVERAGE * (1 - LOWEST_COVERAGE) / held_out)
    if coverage < lowest:
        reasons.append(f"the 90 % band holds {coverage:.0%} of {held_out} held-out rows, less than {lowest:.0%}")
    compared = tuple(leaf for leaf in new.leaves if COMPARED_ROWS in leaf.accuracy)
    rows = int(sum(leaf.accuracy[COMPARED_ROWS] for leaf in compared))
    error = error_in_force = None
    if compared:
        error, error_in_force = (_mean(compared, figure, COMPARED_ROWS) for figure in (ERROR, ERROR_OF_CURRENT))
        growth_sd = math.hypot(*(leaf.accuracy[GROWTH_SD] * leaf.accuracy[COMPARED_ROWS] for leaf in compared)) / rows
        if error - error_in_force > GROWTH_ALLOWED + CHANCE_DEVIATIONS * growth_sd:
            reasons.append(f"errs by {error:.0%} on {rows} new rows, the model in force by {error_in_force:.0%}")
    return Verdict(
        accuracy=accuracy,
        coverage90=coverage,
        held_out_rows=held_out,
        compared_rows=rows,
        error=error,
        error_in_force=error_in_force,
        reasons=tuple(reasons),
    )


def _mean(leaves: tuple[LeafModel, ...], figure: str, weight: str) -> float:
    """Mean of one figure over the leaves, weighted by the rows that it was measured on."""
    total = sum(leaf.accuracy[weight] for leaf in leaves)
    return sum(leaf.accuracy[figure] * leaf.accuracy[weight] for leaf in leaves) / total
