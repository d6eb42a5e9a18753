"""The baseline: take the setting whose training rows had the best mean, and expect the same again."""

import numpy as np

from tradewind.learning.gain_check import (
    MIN_NEAR_ROWS,
    MIN_OTHER_ROWS,
    GainCheck,
    compute_mean_variance,
    find_near_rows,
)
from tradewind.learning.observations import Flags, Observations


def check_best_seen(observations: Observations, train: Flags, test: Flags) -> GainCheck | None:
    """Return the check of the gain that the best mean promises, by the same definitions of both gains.

    Its interval is that of the means alone: nothing corrects for having picked the best.
    """
    trained, tested = observations.take(train), observations.take(test)
    log_trained, log_tested = np.log(trained.throughput_bps), np.log(tested.throughput_bps)
    settings, label, counts = np.unique(trained.settings, axis=0, return_inverse=True, return_counts=True)
    means = np.bincount(label, weights=log_trained) / counts
    best = int(np.argmax(np.where(counts >= MIN_NEAR_ROWS, means, -np.inf)))
    if counts[best] < MIN_NEAR_ROWS:
        return None
    near_trained, near_tested = (find_near_rows(rows.settings, settings[best : best + 1]) for rows in (trained, tested))
    used, used_later = log_trained[~near_trained], log_tested[~near_tested]
    reached = log_tested[near_tested]
    if len(reached) < MIN_NEAR_ROWS or min(len(used), len(used_later)) < MIN_OTHER_ROWS:
        return None
    seen = log_trained[label == best]
    variance = sum(map(compute_mean_variance, (seen, reached, used, used_later)))
    return GainCheck(
        predicted_log=float(seen.mean() - used.mean()),
        observed_log=float(reached.mean() - used_later.mean()),
        log_sd=float(np.sqrt(variance)),
        rows=len(reached),
    )
