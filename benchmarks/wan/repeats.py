"""Interleaved repeats of a cell's contenders; tools that cannot become the best default run once."""

from collections.abc import Collection, Mapping, Sequence

from benchmarks.wan.arena import Contender
from benchmarks.wan.cell_row import Plan
from benchmarks.wan.cell_runner import CellRunner
from benchmarks.wan.runs import Row

REPEATED_FROM = 0.8
"""Share of the best default's first run from which on a tool runs again: one below cannot become the best."""


def run_repeats(
    runner: CellRunner, contenders: Sequence[Contender], plan: Plan, defaults: Collection[str]
) -> dict[str, list[Row]]:
    """Return the runs by contender; those that were measured before are not made again.

    ``defaults`` : names of tools at their defaults. Each repeats as long as it may become the best one.
    """
    runs: dict[str, list[Row]] = {}
    for repeat in range(plan.repeats):
        # Each repeat starts with another contender, so that slow times of the machine affect all equally.
        first = repeat % len(contenders)
        for contender in (*contenders[first:], *contenders[:first]):
            runs.setdefault(contender.name, []).append(runner.run(contender, f"repeat {repeat}", plan.cut_s))
        repeated = list_repeated(runs, defaults)
        contenders = [each for each in contenders if each.name in repeated]
    return runs


def list_repeated(runs: Mapping[str, Sequence[Row]], defaults: Collection[str]) -> set[str]:
    """Return the names of all that run again: not tools that have shown that they are not the best default."""
    first_bps = {name: float(rows[0]["throughput_bps"]) for name, rows in runs.items()}
    least_bps = REPEATED_FROM * max(first_bps[name] for name in defaults)
    has_failed = {name for name, rows in runs.items() if rows[0]["exit_code"] not in (0, None)}
    return {name for name, bps in first_bps.items() if name not in defaults or name in has_failed or bps >= least_bps}
