"""Make the table and its summary: each figure for the controller, and the same for every reference variant."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.support.report import Value
from benchmarks.tuning.tuners import OURS
from benchmarks.wan.runs import Row

WORST = {
    "oracle_fraction_after_5_ticks": min,
    "sla_shortfall": max,
    "jain": min,
    "oscillation": max,
    "competitor_share": min,
    "trace_oracle_fraction": min,
}
"""Each figure with the function that picks the worst of several cases."""

AT_MOST = {"sla_shortfall": 0.0, "oscillation": 0.02, "competitor_share": 1.1, "figures_worse": 0}
AT_LEAST = {
    "oracle_fraction_after_5_ticks": 0.98,
    "jain": 0.97,
    "competitor_share": 0.9,
    "figures_better": 3,
}
"""In addition, the controller may be worse than the best variant in none of `RANKED`, and must be better in most."""

AT_LEAST_WITH_TRACES = AT_LEAST | {"trace_oracle_fraction": 0.93}

RANKED = ("oracle_fraction_after_5_ticks", "sla_shortfall", "jain", "oscillation")
"""A competitor's share is not ranked: a tuner that leaves others more than their share is no better for it."""

RANKED_WITH_TRACES = (*RANKED, "trace_oracle_fraction")
"""Traces are measured where a folder of them is given."""

HIDDEN = ("key", "case", "tuner", "repeat", "timelines")


def make_result(row: Row) -> dict[str, Value]:
    """Return a row of the table."""
    return {"case": f"{row['case']} {row['tuner']}", **{name: row[name] for name in row if name not in HIDDEN}}


def summarise_tuner(rows: Sequence[Row]) -> dict[str, Value]:
    """Return the figures of one tuner: of each case the median over its repeats, then the worst case."""
    found: dict[str, Value] = {}
    for name, worst in WORST.items():
        by_case: dict[str, list[float]] = {}
        for row in rows:
            if name in row:
                by_case.setdefault(row["case"], []).append(row[name])
        found[name] = worst(statistics.median(values) for values in by_case.values()) if by_case else None
    return found


def summarise(rows: Sequence[Row]) -> dict[str, Value]:
    """Return the controller's figures, under ``reference`` each variant's, and the number of cells."""
    by_tuner: dict[str, list[Row]] = {}
    for row in rows:
        by_tuner.setdefault(row["tuner"], []).append(row)
    ours = by_tuner.pop(OURS, [])
    return {
        **summarise_tuner(ours),
        **_rank_figures(rows),
        "cells": len(rows),
        "refused": sum(row["refused"] for row in rows),
        "reference": {tuner: summarise_tuner(by_variant) for tuner, by_variant in by_tuner.items()},
    }


def _rank_figures(rows: Sequence[Row]) -> dict[str, Value]:
    """Return in which figures, and in how many, the controller is better than every variant, as good as the best, or
    worse.
    """
    names: dict[str, list[str]] = {"better_than_all_others": [], "as_good_as_the_best": [], "worse_than_the_best": []}
    for line in compare_tuners(rows):
        name, ours, best = str(line["figure"]), line[OURS], line["best of the others"]
        if name not in RANKED_WITH_TRACES or not isinstance(ours, int | float) or not isinstance(best, int | float):
            continue
        margin = ours - best if WORST[name] is min else best - ours
        rank = "better_than_all_others" if margin > 0 else "worse_than_the_best" if margin else "as_good_as_the_best"
        names[rank].append(name)
    ranked = sum(map(len, names.values()))
    return {
        **{rank: ", ".join(found) or None for rank, found in names.items()},
        "figures_better": len(names["better_than_all_others"]) if ranked >= len(RANKED) else None,
        "figures_worse": len(names["worse_than_the_best"]) if ranked else None,
    }


def compare_tuners(rows: Sequence[Row]) -> list[dict[str, Value]]:
    """Return a line a figure: the controller's, the best of the variants', and each variant's.

    All are over the controller's cases of a figure: a variant's counts where it has run every one of them.
    """
    by_tuner: dict[str, list[Row]] = {}
    for row in rows:
        by_tuner.setdefault(row["tuner"], []).append(row)
    ours = by_tuner.pop(OURS, [])
    lines: list[dict[str, Value]] = []
    for name, worst in WORST.items():
        cases = {row["case"] for row in ours if name in row}
        by_variant = {
            tuner: summarise_tuner([row for row in found if row["case"] in cases])[name]
            for tuner, found in by_tuner.items()
            if cases and cases <= {row["case"] for row in found if name in row}
        }
        best = max if worst is min else min
        known = [value for value in by_variant.values() if isinstance(value, int | float)]
        lines.append(
            {"figure": name, OURS: summarise_tuner(ours)[name], "best of the others": best(known, default=None)}
        )
        lines[-1] |= {tuner: by_variant.get(tuner) for tuner in by_tuner}
    return lines


def make_timeline(row: Mapping[str, Any]) -> list[dict[str, Value]]:
    """Return a cell tick by tick, to see what was decided and why."""
    return [
        {
            "transfer": number,
            "tick": tick["tick"],
            "Mbit/s": tick["throughput_bps"] / 1e6,
            "setting": " × ".join(map(str, tick["setting"])),
            "queue ms": None if tick["rtt_s"] is None else 1e3 * (tick["rtt_s"] - (tick["min_rtt_s"] or 0.0)),
            "loss %": None if tick["loss"] is None else 100 * tick["loss"],
            "step ms": 1e3 * tick["step_s"],
            "decided": f"{tick['kind']}: {tick['reason']}" if tick["kind"] else f"{tick['streams_asked']} streams",
        }
        for number, ticks in enumerate(row["timelines"])
        for tick in ticks
    ]
