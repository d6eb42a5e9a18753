"""Compare response surfaces with five other models, on held-out rows of real transfer logs.

Gradient boosting (as scikit-learn sets it up, and tuned), a random forest, a Gaussian process (Matérn, one length an
axis) and a sum of splines learn from the same rows. The best of the five is chosen for each surface, by the held-out
rows themselves. ``wins_vs_best`` counts surfaces whose accuracy is no lower than that of the best by more than noise
explains: once in 20 times by the scatter of rows at the same setting, or 0.005 where too few settings were repeated.
``beats_best`` counts those that are no lower at all. Predictions of the baselines are stored in
``var/bench/surfaces-baselines``, from which an interrupted benchmark continues.
"""

import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.support import report
from benchmarks.support.command import run_command
from benchmarks.surfaces.baselines import BASELINES
from benchmarks.surfaces.comparison import compare_with_baselines
from benchmarks.surfaces.measures import (
    measure_choice_regret,
    measure_cross_fit_ratio,
    measure_load_gain,
    measure_outlier_effect,
    measure_unknown_settings,
)
from benchmarks.surfaces.predicting import BaselineStore
from benchmarks.surfaces.sets import SurfaceSet, read_sets
from benchmarks.surfaces.timing import TIMED_CELLS, measure_leaf_times
from tradewind.learning.rolling import check_rolling_cover
from tradewind.learning.validation import TRAIN_SHARE

SEEDS = 5
QUICK_SEEDS = 1
INJECTIONS = 10
KNOWN_BASELINE = {
    "video/1": 0.77,
    "video/2": 0.72,
    "video/3": 0.68,
    "image/1": 0.78,
    "image/3": 0.86,
    "image/4": 0.60,
    "html/1": 0.92,
    "html/3": 0.90,
}
"""Accuracy that gradient boosting is known to reach on the throughput of the public Chameleon log, by set."""

RECORDED = Path(__file__).resolve().parents[1] / "records"
"""Transfers recorded in the project."""

LEAF_TIMES = ("leaf_ms", "leaf_busy_ms")
"""Names of times by the number of settings; the second is that of a busy machine."""

STORED = report.ROOT / "var" / "bench" / "surfaces-baselines"


def main(argv: Sequence[str] | None = None) -> int:
    options = report.make_parser(__doc__.partition("\n")[0], seed=0).parse_args(argv)
    started_at = datetime.now(UTC)
    sets = read_sets(options.data or [RECORDED])
    if options.smoke:
        sets = sorted(sets, key=lambda each: len(each.observations))[:1]
    store = BaselineStore(None if options.smoke else STORED)
    document = measure_sets(sets, quick=options.quick, first_seed=options.seed, store=store)
    if not document["results"]:
        print("surfaces: no transfers to learn from; name a folder of logs with --data", file=sys.stderr)
        return 2
    report.write_report(
        "surfaces",
        quick=options.quick,
        smoke=options.smoke,
        results=document["results"],
        summary=document["summary"],
        started_at=started_at,
    )
    return 0


def measure_sets(
    sets: Iterable[SurfaceSet], *, quick: bool, first_seed: int = 0, store: BaselineStore | None = None
) -> dict[str, Any]:
    """Return the results, one a surface, and the summary over all of them."""
    seeds = range(first_seed, first_seed + (QUICK_SEEDS if quick else SEEDS))
    results: list[dict[str, Any]] = []
    effects: list[float] = []
    for surfaces in sets:
        results += _make_results(surfaces, seeds, store or BaselineStore())
        injections = [measure_outlier_effect(surfaces, seed) for seed in range(len(seeds) * INJECTIONS // SEEDS)]
        results[-1]["outlier_effect"] = float(np.median(injections))
        effects += injections
        print(f"{surfaces.name}: done", flush=True)
    return {"results": results, "summary": _summarise(results, effects) if results else {}}


def _make_results(surfaces: SurfaceSet, seeds: range, store: BaselineStore) -> list[dict[str, Any]]:
    """Return one result a surface of the set; figures of the entire set are with its throughput."""
    rows = {"throughput": len(surfaces.observations), "energy": int(surfaces.is_metered.sum())}
    compared = compare_with_baselines(surfaces, seeds, store)
    results: list[dict[str, Any]] = [
        {"case": surfaces.name, "target": target, "rows": rows[target], **figures}
        for target, figures in compared.items()
    ]
    throughput = results[0]
    throughput["accuracy_unseen_settings"] = measure_unknown_settings(surfaces, seeds[0])
    throughput["coverage90_rolling"] = float(np.mean(check_rolling_cover(surfaces.observations, TRAIN_SHARE)))
    known = KNOWN_BASELINE.get(surfaces.name.rpartition(":")[2])
    if known is not None:
        throughput["gbm_known"] = known
    if surfaces.is_repeated:
        throughput["regret"] = float(np.mean([measure_choice_regret(surfaces, seed) for seed in seeds]))
        throughput["pick_vs_best_observed"] = float(
            np.mean([measure_cross_fit_ratio(surfaces, seed) for seed in seeds])
        )
    if surfaces.is_wan_grid:
        without_load, with_load = np.mean([measure_load_gain(surfaces, seed) for seed in seeds], axis=0)
        throughput["load_gain"] = float(with_load - without_load)
        throughput["accuracy_with_load"] = float(with_load)
    throughput |= measure_leaf_times(surfaces.observations)
    return [{key: value for key, value in result.items() if value == value} for result in reversed(results)]  # noqa: PLR0124  # NaN: nothing to judge


def _summarise(results: Sequence[Mapping[str, Any]], effects: Sequence[float]) -> dict[str, Any]:
    def list_values(key: str) -> list[float]:
        return [result[key] for result in results if key in result]

    def compute_mean(key: str) -> float | None:
        return float(np.mean(list_values(key))) if list_values(key) else None

    def compute_median(key: str) -> float | None:
        return float(np.median(list_values(key))) if list_values(key) else None

    known = [abs(r["gbm_accuracy"] - r["gbm_known"]) for r in results if "gbm_known" in r]
    return {
        "surfaces": len(results),
        "accuracy_median": compute_median("accuracy"),
        **{f"{name}_accuracy_median": compute_median(f"{name}_accuracy") for name in BASELINES},
        "wins_vs_gbm": compute_mean("wins"),
        "wins_vs_best": compute_mean("wins_vs_best"),
        "beats_best": compute_mean("beats_best"),
        "tie_tolerance_median": compute_median("tie_tolerance"),
        "regret_median": compute_median("regret"),
        "pick_vs_best_observed": compute_mean("pick_vs_best_observed"),
        "coverage90": compute_mean("coverage90"),
        "coverage90_rolling": compute_mean("coverage90_rolling"),
        "load_gain_mean": compute_mean("load_gain"),
        "outlier_effect": float(np.median(effects)),
        "outlier_effect_p98": float(np.quantile(effects, 0.98)),
        "leaf_ms": compute_median("leaf_ms"),
        **{f"{name}_{cells}": compute_median(f"{name}_{cells}") for cells in TIMED_CELLS for name in LEAF_TIMES},
        "accuracy_unseen_settings_median": compute_median("accuracy_unseen_settings"),
        "gbm_known_difference_max": max(known, default=None),
    }


if __name__ == "__main__":
    sys.exit(run_command("surfaces", lambda: main(sys.argv[1:]), is_resumable=True))
