"""Compare the gain that the report predicts with what held-out and later rows of the same link reached."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from benchmarks.gain.best_seen import check_best_seen
from benchmarks.gain.links import GainLeaf, read_leaves
from benchmarks.gain.made_up import make_leaf
from benchmarks.support import report
from benchmarks.support.command import run_command
from tradewind.learning.gain_check import GainCheck, check_gain, split_by_time
from tradewind.learning.observations import Flags
from tradewind.learning.validation import MIN_VALIDATED_ROWS, split_randomly

SEEDS = 5
QUICK_SEEDS = 1
LARGE_GAIN = 1.2
"""Observed gain from which on a check is also counted apart: where little can be gained, little can be wrong."""

WRONG_USAGE = 2
AT_LEAST = {"interval_coverage": 0.85}
AT_MOST = {"interval_coverage": 0.95, "median_absolute_error": 0.15}


def main(argv: Sequence[str] | None = None) -> int:
    options = report.make_parser(__doc__ or "", seed=0).parse_args(argv)
    started_at = datetime.now(UTC)
    leaves = [make_leaf(options.seed)] if options.smoke or not options.data else list(read_leaves(options.data))
    leaves = [each for each in leaves if len(each.observations) >= MIN_VALIDATED_ROWS]
    if not leaves:
        print("gain: no link with enough transfers; name a folder of logs with --data", file=sys.stderr)
        return WRONG_USAGE
    seeds = range(options.seed, options.seed + (QUICK_SEEDS if options.quick else SEEDS))
    results = [result for each in leaves for result in _check_leaf(each, seeds)]
    summary = _summarise(results, len(leaves))
    report.write_report(
        "gain", quick=options.quick, smoke=options.smoke, results=results, summary=summary, started_at=started_at
    )
    return 0 if options.quick or not options.data else report.judge_summary(summary, AT_MOST, AT_LEAST)


def _check_leaf(leaf: GainLeaf, seeds: Iterable[int]) -> Iterator[dict[str, Any]]:
    """Yield a result for each split of a leaf in which enough test rows ran near the setting that was picked."""
    observations = leaf.observations
    for split, (train, test) in _list_splits(leaf, seeds):
        ours = check_gain(observations, train, test)
        best_seen = check_best_seen(observations, train, test)
        if ours is None and best_seen is None:
            continue
        result: dict[str, Any] = {"case": leaf.name, "split": split, "rows": len(observations)}
        yield result | _to_figures(ours, "") | _to_figures(best_seen, "best_seen_")


def _list_splits(leaf: GainLeaf, seeds: Iterable[int]) -> Iterator[tuple[str, tuple[Flags, Flags]]]:
    for seed in seeds:
        yield "held out", split_randomly(len(leaf.observations), np.random.default_rng(seed))
    yield "later", split_by_time(leaf.observations)


def _to_figures(check: GainCheck | None, prefix: str) -> dict[str, Any]:
    if check is None:
        return {}
    return {
        f"{prefix}predicted": float(np.exp(check.predicted_log)),
        f"{prefix}observed": float(np.exp(check.observed_log)),
        f"{prefix}log_sd": check.log_sd,
        f"{prefix}near_rows": check.rows,
        f"{prefix}within": check.is_within,
        f"{prefix}error": check.relative_error,
    }


def _summarise(results: Sequence[dict[str, Any]], leaves: int) -> dict[str, Any]:
    """Return the figures over all splits, and each kind of split on its own; every leaf and kind weighs the same."""
    return {
        "leaves": leaves,
        "leaves_checked": len({each["case"] for each in results if "within" in each}),
        "checks": sum("within" in each for each in results),
        "interval_coverage": _average(results, "within"),
        "median_absolute_error": _find_median(results, "error"),
        "large_gain_checks": sum(each.get("observed", 0.0) >= LARGE_GAIN for each in results),
        "large_gain_median_absolute_error": _find_median(
            [each for each in results if each.get("observed", 0.0) >= LARGE_GAIN], "error"
        ),
        **_summarise_split(results, "held out"),
        **_summarise_split(results, "later"),
        "best_seen_interval_coverage": _average(results, "best_seen_within"),
        "best_seen_median_absolute_error": _find_median(results, "best_seen_error"),
    }


def _summarise_split(results: Sequence[dict[str, Any]], split: str) -> dict[str, Any]:
    of_split, name = [each for each in results if each["split"] == split], split.replace(" ", "_")
    return {
        f"{name}_interval_coverage": _average(of_split, "within"),
        f"{name}_median_absolute_error": _find_median(of_split, "error"),
    }


def _average(results: Sequence[dict[str, Any]], key: str) -> float | None:
    """Return the mean over leaves and kinds of split of the mean over their splits."""
    by_leaf: dict[tuple[str, str], list[float]] = {}
    for each in results:
        if key in each:
            by_leaf.setdefault((each["case"], each["split"]), []).append(float(each[key]))
    return float(np.mean([np.mean(values) for values in by_leaf.values()])) if by_leaf else None


def _find_median(results: Sequence[dict[str, Any]], key: str) -> float | None:
    values = [each[key] for each in results if key in each]
    return float(np.median(values)) if values else None


if __name__ == "__main__":
    sys.exit(run_command("gain", lambda: main(sys.argv[1:])))
