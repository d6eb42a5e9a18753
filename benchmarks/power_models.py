"""CPU-only power models fitted to measured loads and a straight line, each point predicted by a fit of the others.

``--data`` names folders of ``compare_cpu_load_and_RAPL-*.csv`` (columns cpu_load in percent, rapl_power in W). Without
data, coefficients that were put into synthetic traces are recovered from them: that is a check of the arithmetic alone.
"""

import csv
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from statistics import fmean

from benchmarks.support.command import run_command
from benchmarks.support.report import Value, judge_summary, make_parser, write_report
from tradewind.energy.power_model import CalibrationSample, FineModel, cross_validate, fit_cpu, fit_fine, fit_line

PATTERN = "compare_cpu_load_and_RAPL-*.csv"
GOAL = 0.10
"""Mean absolute error over mean power that a CPU-only model should reach."""
COMPONENTS_W = {"cpu": 40.0, "memory": 6.0, "disk": 4.0, "nic": 3.0}
IDLE_W = 12.0
STEPS = 40
NOISE = 0.02


def main(argv: Sequence[str]) -> int:
    """Fit, print where the goal is missed, and write ``var/bench/power_models.json``."""
    options = make_parser(__doc__.partition("\n")[0]).parse_args(argv)
    started_at = datetime.now(UTC)
    files = sorted(path for folder in options.data for path in folder.rglob(PATTERN))
    results = [_measure_file(path) for path in files] or [_recover_synthetic(options.seed)]
    summary: dict[str, Value] = {"evidence": "measured" if files else "recovery from synthetic traces"}
    if files:
        errors = [float(str(result["error"])) for result in results]
        summary |= {
            "cpu_error_worst": max(errors),
            "cpu_error_mean": fmean(errors),
            "line_error_mean": fmean(float(str(result["line_error"])) for result in results),
            "within_goal": sum(error <= GOAL for error in errors),
            "sets": len(errors),
        }
    write_report(
        "power_models",
        quick=options.quick,
        smoke=options.smoke,
        results=results,
        summary=summary,
        started_at=started_at,
    )
    for result in results:
        if files and float(str(result["error"])) > GOAL:
            sys.stdout.write(f"above {GOAL:.2f}: {result['case']}: {result['why']}\n")
    return 0 if options.smoke else judge_summary(summary, {"cpu_error_worst": GOAL}, is_complete=bool(files))


def _measure_file(path: Path) -> dict[str, Value]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file))
    samples = [
        CalibrationSample(number, {"cpu": float(row["cpu_load"]) / 100}, float(row["rapl_power"]))
        for number, row in enumerate(rows)
    ]
    checked, line = cross_validate(samples, fit_cpu), cross_validate(samples, fit_line)
    worst = max(range(len(samples)), key=lambda index: _measure_held_out_error_w(samples, index))
    load, off_w = samples[worst].usage["cpu"], _measure_held_out_error_w(samples, worst)
    return {
        "case": path.stem.removeprefix("compare_cpu_load_and_RAPL-"),
        "points": len(samples),
        "mean_w": fmean(sample.power_w for sample in samples),
        "form": str(checked.model.form),
        "error": checked.error,
        "line_error": line.error,
        "why": f"the point at {load:.0%} load is {off_w:.0f} W off the fit of the others",
    }


def _measure_held_out_error_w(samples: Sequence[CalibrationSample], index: int) -> float:
    model = fit_cpu([*samples[:index], *samples[index + 1 :]])
    return abs(model.predict_power_w(samples[index].usage) - samples[index].power_w)


def _recover_synthetic(seed: int) -> dict[str, Value]:
    """Return the fine-grained fit of a synthetic ladder with noise."""
    random = Random(seed)
    truth = FineModel(IDLE_W, COMPONENTS_W)
    samples = [_draw_step(random, number, truth) for number in range(STEPS)]
    checked = cross_validate(samples, fit_fine)
    off = {name: abs(checked.model.component_w[name] / watts - 1) for name, watts in COMPONENTS_W.items()}
    return {
        "case": "recovery from synthetic traces",
        "points": STEPS,
        "error": checked.error,
        "worst": max(off.values()),
    }


def _draw_step(random: Random, number: int, truth: FineModel) -> CalibrationSample:
    usage: Mapping[str, float] = {name: random.random() for name in COMPONENTS_W}
    return CalibrationSample(number, usage, truth.predict_power_w(usage) * random.gauss(1, NOISE))


if __name__ == "__main__":
    sys.exit(run_command("power_models", lambda: main(sys.argv[1:])))
