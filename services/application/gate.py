"""Whether a link's new model may serve: accurate, honest about its spread, and no worse than the one in force.

A model that fails leaves its predecessor in the release; without predecessor the link is answered as an unseen path.
"""

from dataclasses import dataclass

from tradewind.model import LinkModel

ACCURACY, COVERAGE = "throughput.accuracy", "throughput.coverage90"

LOWEST_ACCURACY = 0.0
"""1 − RMSE/mean below this is worse than no model: the error is as large as the mean itself."""

LOWEST_COVERAGE = 0.70
"""Share of held-out rows within the 90 % band; below this the intervals mislead."""

FALL_ALLOWED = 0.05
"""Accuracy that a refit may lose before its predecessor is kept: about the noise of a 70/30 split."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Row-weighted figures of the new model, and why it was refused (empty: passed)."""

    accuracy: float
    coverage90: float
    reasons: tuple[str, ...]

    @property
    def passed(self) -> bool:
        return not self.reasons


def judge(new: LinkModel, in_force: LinkModel | None) -> Verdict:
    """Hold a new model against fixed bounds and against the model in force."""
    accuracy, coverage = weighted(new, ACCURACY), weighted(new, COVERAGE)
    before = None if in_force is None else weighted(in_force, ACCURACY)
    reasons = []
    if accuracy < LOWEST_ACCURACY:
        reasons.append(f"accuracy {accuracy:.3f} is below {LOWEST_ACCURACY}")
    if coverage < LOWEST_COVERAGE:
        reasons.append(f"the 90 % band holds {coverage:.0%} of the held-out rows, less than {LOWEST_COVERAGE:.0%}")
    if before is not None and accuracy < before - FALL_ALLOWED:
        reasons.append(f"accuracy {accuracy:.3f} is worse than {before:.3f} of the release in force")
    return Verdict(accuracy, coverage, tuple(reasons))


def weighted(model: LinkModel, figure: str) -> float:
    """Mean of one accuracy figure over the leaves, weighted by their rows."""
    rows = sum(leaf.leaf.row_count for leaf in model.leaves)
    return sum(leaf.accuracy[figure] * leaf.leaf.row_count for leaf in model.leaves) / rows
