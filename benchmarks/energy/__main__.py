"""Compare settings of least energy with the fastest ones, on held-out rows of real logs that vary cores and frequency.

The baseline is gradient boosting, which makes the same choices from the same training rows.

The energy budget of live copies is measured too, with logs or without (`live_budget`), and so are settings of little
energy with cores varied for real (`core_cells`). ``--only`` names one of ``logs``, ``live`` and ``cores``.
"""

import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.energy.choices import (
    FASTEST,
    HeldOutSet,
    Outcome,
    compute_throughput_scatter,
    has_resources,
    make_frugal_sla,
)
from benchmarks.energy.core_cells import FRACTION, NO_WORSE, SAVING, measure_core_cells, summarise_core_cells
from benchmarks.energy.live_budget import measure_live_budgets, summarise_live_budgets
from benchmarks.energy.made_up import make_set
from benchmarks.support import report
from benchmarks.support.command import run_command
from benchmarks.support.precedence import take_precedence
from benchmarks.surfaces.sets import SurfaceSet, read_sets
from tradewind.learning.partition import solve_partitions
from tradewind.sla.kinds import DEFAULT_CONFIDENCE, EnergyBasis, Sla, SlaKind
from tradewind.tiers.selection import Choice
from tradewind.tiers.setting_table import SettingTable

SEEDS, QUICK_SEEDS, SMOKE_SEEDS = 20, 4, 1
PROMISES = 5
"""Targets of energy that are asked of each split, from the least that can be promised to that of the fastest."""

FIGURES = {"dynamic": "dynamic_j", "total": "total_j", "throughput": "throughput_bps"}
"""What is compared of two outcomes, and the attribute of `Outcome` that holds it."""

AT_MOST = {"dynamic_vs_fastest_median": 0.65, "total_vs_fastest_median": 0.95, "promise_coverage_error": 0.03}
AT_LEAST = {"throughput_vs_fastest_min": 0.88, "distinct_settings_min": 4, "promise_coverage": DEFAULT_CONFIDENCE}
LIVE_AT_MOST, LIVE_AT_LEAST = {"live_budget_error_max": 0.05}, {"live_sla_met": 0.95}
CORES_NEVER = {"core_dynamic_vs_fastest_anywhere_max": NO_WORSE}
CORES_AT_MOST = CORES_NEVER | {"core_dynamic_vs_fastest_max": SAVING}
CORES_AT_LEAST = {"core_throughput_vs_fastest_min": FRACTION}
PARTS = ("logs", "live", "cores")
WRONG_USAGE = 2


def main(argv: Sequence[str] | None = None) -> int:
    parser = report.make_parser((__doc__ or "").partition("\n")[0], seed=0)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="measure these parts alone")
    options = parser.parse_args(argv)
    started_at = datetime.now(UTC)
    of_logs = "logs" in options.only
    sets = [each for each in read_sets(options.data if of_logs else []) if has_resources(each)]
    if of_logs and not sets and options.smoke:
        sets = [make_set(options.seed)]
    if of_logs and not sets and options.data:
        print("energy: no logs in --data vary cores and frequency", file=sys.stderr)
        return WRONG_USAGE
    seeds = SMOKE_SEEDS if options.smoke else QUICK_SEEDS if options.quick else SEEDS
    results = [_measure(each, range(options.seed, options.seed + seeds)) for each in sets]
    summary = _summarise(results) if sets else {}
    with tempfile.TemporaryDirectory(prefix="tradewind-energy-") as folder:
        live, cores = [], []
        if "live" in options.only:
            live = measure_live_budgets(Path(folder), quick=options.quick, smoke=options.smoke, seed=options.seed)
            summary |= summarise_live_budgets(live)
        if "cores" in options.only and (options.smoke or not options.quick):
            with nullcontext() if options.smoke else take_precedence():
                cores = measure_core_cells(Path(folder), smoke=options.smoke, seed=options.seed)
            summary |= summarise_core_cells(cores)
    report.write_report(
        "energy",
        quick=options.quick,
        smoke=options.smoke,
        results=[*results, *live, *cores],
        summary=summary,
        started_at=started_at,
    )
    if options.quick:
        return 0
    missed = report.judge_summary(summary, AT_MOST, AT_LEAST) if sets else 0
    if live:
        missed = report.judge_summary(summary, LIVE_AT_MOST, LIVE_AT_LEAST) or missed
    if cores:
        found = bool(summary["core_cells_with_frugal_setting"])
        missed = report.judge_summary(summary, CORES_AT_MOST if found else CORES_NEVER, CORES_AT_LEAST) or missed
    return missed


def _measure(surfaces: SurfaceSet, seeds: range) -> dict[str, Any]:
    """Return the figures of one set; ratios are of the means over all splits."""
    chosen: dict[str, list[tuple[Outcome, Outcome]]] = {}
    promises: list[tuple[float, bool]] = []
    distinct: list[int] = []
    picks: list[tuple[tuple[Choice, Outcome], tuple[Choice, Outcome]]] = []
    residuals: dict[int, float] = {}
    for seed in seeds:
        held_out = HeldOutSet(surfaces, seed)
        fastest = held_out.choose(FASTEST)
        for basis in EnergyBasis:
            frugal = held_out.choose(make_frugal_sla(basis))
            chosen.setdefault(basis.value, []).append((fastest[1], frugal[1]))
            if basis is EnergyBasis.DYNAMIC:
                picks.append((frugal, fastest))
        residuals |= held_out.list_residuals()
        chosen.setdefault("boosting", []).append(held_out.choose_by_boosting(EnergyBasis.DYNAMIC))
        promises += _check_promises(held_out)
        distinct.append(_count_distinct_settings(held_out.table))
    result: dict[str, Any] = {"case": surfaces.name, "rows": len(surfaces.observations)}
    result |= _compute_ratios(chosen["dynamic"], "")
    result |= _compute_ratios(chosen["total"], "on_total_")
    result |= _compute_ratios(chosen["boosting"], "boosting_")
    result |= compare_with_boosting(chosen["dynamic"], chosen["boosting"])
    result |= compute_throughput_scatter(picks, residuals, seeds.start)
    return result | {
        "distinct_settings": int(np.median(distinct)),
        "promises": len(promises),
        "promises_stated": float(np.mean([stated for stated, _ in promises])) if promises else None,
        "promises_met": float(np.mean([met for _, met in promises])) if promises else None,
    }


def _compute_ratios(pairs: Sequence[tuple[Outcome, Outcome]], prefix: str) -> dict[str, float]:
    """Return the frugal setting's figures over those of the fastest."""
    return {
        f"{prefix}{name}_vs_fastest": sum(getattr(frugal, attribute) for _, frugal in pairs)
        / sum(getattr(fastest, attribute) for fastest, _ in pairs)
        for name, attribute in FIGURES.items()
    }


def compare_with_boosting(
    ours: Sequence[tuple[Outcome, Outcome]], baseline: Sequence[tuple[Outcome, Outcome]]
) -> dict[str, float]:
    """Return our choices over those of boosting; its own ratios are to the setting that it takes for the fastest."""
    return {
        f"{name}_{figure}_vs_boosting": sum(getattr(pair[place], attribute) for pair in ours)
        / sum(getattr(pair[place], attribute) for pair in baseline)
        for name, place in (("fastest", 0), ("frugal", 1))
        for figure, attribute in FIGURES.items()
    }


def _check_promises(held_out: HeldOutSet) -> Iterator[tuple[float, bool]]:
    """Yield for each promise of energy its stated probability, and whether the held-out row of its setting met it."""
    kind, basis = SlaKind.ENERGY_AT_MOST, EnergyBasis.TOTAL
    ranges = [
        each
        for each in solve_partitions(held_out.table, confidences=(DEFAULT_CONFIDENCE,))
        if each.kind is kind and each.energy_basis is basis
    ]
    if not ranges:
        return
    least_j, most_j = ranges[0].lower, ranges[-1].upper
    for target_j in np.geomspace(least_j, most_j, PROMISES):
        choice, outcome = held_out.choose(
            Sla(kind=kind, target=float(target_j), confidence=DEFAULT_CONFIDENCE, energy_basis=basis)
        )
        if choice.feasible:
            yield choice.probability, outcome.total_j <= target_j


def _count_distinct_settings(table: SettingTable) -> int:
    """Return how many settings the tiers of a cluster have at the usual confidence, on the dynamic basis."""
    tiers = solve_partitions(table, confidences=(DEFAULT_CONFIDENCE,))
    return len({each.setting.parameters for each in tiers if each.energy_basis is EnergyBasis.DYNAMIC})


def _summarise(results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    def collect(key: str) -> list[float]:
        return [each[key] for each in results if each[key] is not None]

    promising = [each for each in results if each["promises"]]
    weights = [each["promises"] for each in promising] or [1]
    stated, met = (
        float(np.average([each[key] for each in promising], weights=weights)) if promising else None
        for key in ("promises_stated", "promises_met")
    )
    return {
        "sets": len(results),
        "dynamic_vs_fastest_median": float(np.median(collect("dynamic_vs_fastest"))),
        "total_vs_fastest_median": float(np.median(collect("total_vs_fastest"))),
        "throughput_vs_fastest_min": min(collect("throughput_vs_fastest")),
        "distinct_settings_min": min(collect("distinct_settings")),
        "promise_coverage": met,
        "promise_stated": stated,
        "promise_coverage_error": None if met is None or stated is None else abs(met - stated),
        "boosting_dynamic_vs_fastest_median": float(np.median(collect("boosting_dynamic_vs_fastest"))),
        "boosting_total_vs_fastest_median": float(np.median(collect("boosting_total_vs_fastest"))),
        "boosting_throughput_vs_fastest_min": min(collect("boosting_throughput_vs_fastest")),
    } | {
        f"{name}_{figure}_vs_boosting_median": float(np.median(collect(f"{name}_{figure}_vs_boosting")))
        for name in ("fastest", "frugal")
        for figure in FIGURES
    }


if __name__ == "__main__":
    sys.exit(run_command("energy", lambda: main(sys.argv[1:])))
