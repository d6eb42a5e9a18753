"""Copies over emulated wide-area paths, with real TCP to a real store: ours without and with history, peers at their
defaults, and the best static setting of each.

A cell is a path, a kind of files and a direction. Runs alternate, and each is stored as soon as it is made, so that an
interrupted table continues. History is what our service has learned from short transfers of other files over the same
path in the same direction.
"""

import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.s3.cell_bench import CellBench, Contender, set_up_bench
from benchmarks.s3.cell_runs import CellRuns
from benchmarks.s3.tools import OURS, STORE_TOOLS
from benchmarks.support.direction import Direction
from benchmarks.support.precedence import take_precedence
from benchmarks.support.report import ROOT, Value
from benchmarks.testbed.data_sets import Kind, SizeLists, compute_bytes_to_fill, draw_sizes, read_size_lists
from benchmarks.testbed.measured_run import CUT_S
from benchmarks.testbed.permissions import require_permission
from benchmarks.wan.cells import DOWN_CELLS, Cell
from benchmarks.wan.cells import select_cells as select_by_name
from benchmarks.wan.knowledge import digest_logs
from benchmarks.wan.learned_service import run_learned_service
from benchmarks.wan.lessons import draw_lesson_sizes
from benchmarks.wan.runs import Row, RunLog

RUNS = ROOT / "var" / "bench" / "s3-runs.ndjson"
QUICK_PATH, REPEATS, FILL_S, QUICK_FILL_S = "100M-60ms", 3, 15.0, 6.0
OURS_WITH_HISTORY = f"{OURS} with history"
_SERVICE_PORT = 8080
_SIZES_FOLDER = "file_sizes"
_SMOKE_SIZES: SizeLists = {Kind.HTML: (20_000, 40_000), Kind.IMAGE: (300_000,), Kind.VIDEO: (2_000_000,)}
_SMOKE_CUT_S, _SMOKE_BYTES = 120.0, 400_000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PathPlan:
    """How thoroughly cells are measured; ``has_history`` : with lessons, and with the search for the best settings."""

    seed: int
    repeats: int
    fill_s: float
    cut_s: float
    has_history: bool
    is_smoke: bool = False

    @classmethod
    def choose(cls, seed: int, *, quick: bool, smoke: bool) -> "PathPlan":
        """Return the plan of a full, a quick or the smallest run."""
        return cls(
            seed=seed,
            repeats=1 if quick else REPEATS,
            fill_s=QUICK_FILL_S if quick else FILL_S,
            cut_s=_SMOKE_CUT_S if smoke else CUT_S,
            has_history=not (quick or smoke),
            is_smoke=smoke,
        )


def select_cells(names: Sequence[str] | None, *, quick: bool, smoke: bool) -> Sequence[Cell]:
    """Return the cells to measure: all, those of one path in a quick run, one in the smallest."""
    cells = [cell for cell in DOWN_CELLS if not quick or cell.path_name == QUICK_PATH]
    return cells[:1] if smoke else select_by_name(cells, names)


def measure_paths(
    work: Path, cells: Sequence[Cell], data: Sequence[Path], plan: PathPlan
) -> tuple[list[dict[str, Value]], dict[str, Value]]:
    """Measure the cells; return a row for each contender in each, and the figures over all of them."""
    require_permission()
    lists = _SMOKE_SIZES if plan.is_smoke else _find_size_lists(data)
    log = RunLog(RUNS if plan.has_history else work / "runs.ndjson")
    rows: list[dict[str, Value]] = []
    figures: list[Mapping[str, float]] = []
    with take_precedence() as is_prioritised:
        for cell in cells:
            least_bytes = _SMOKE_BYTES if plan.is_smoke else compute_bytes_to_fill(cell.path, plan.fill_s)
            sizes = draw_sizes(cell.kind, lists, least_bytes, plan.seed)
            lesson_sizes = draw_lesson_sizes(cell, lists, plan.seed) if plan.has_history else ()
            prioritised = is_prioritised and not plan.is_smoke
            with set_up_bench(work, cell, sizes, lesson_sizes, plan.seed, is_prioritised=prioritised) as bench:
                for direction in Direction:
                    found = _measure_direction(bench, direction, log, plan)
                    rows += _make_rows(f"{cell.name}, {direction}", found)
                    figures.append(compare_medians({name: _take_median(each) for name, each in found.items()}))
    return rows, summarise(figures)


def _find_size_lists(data: Sequence[Path]) -> SizeLists:
    found = next((folder / _SIZES_FOLDER for folder in data if (folder / _SIZES_FOLDER).is_dir()), data[0])
    return read_size_lists(found)


def _measure_direction(
    bench: CellBench, direction: Direction, log: RunLog, plan: PathPlan
) -> Mapping[str, Sequence[Row]]:
    """Return the runs of each contender by its name."""
    runs = CellRuns(bench, direction, log, plan.cut_s)
    contenders = [Contender(name=tool.name, tool=tool) for tool in STORE_TOOLS]
    if not plan.has_history:
        return _run_alternately(runs, contenders, plan.repeats)
    logs = runs.take_lessons()
    contenders += runs.find_best_settings()
    with _learn(bench, direction, logs) as ours:
        return _run_alternately(runs, [*contenders, ours], plan.repeats)


@contextmanager
def _learn(bench: CellBench, direction: Direction, logs: Sequence[Path]) -> Iterator[Contender]:
    """Yield our engine with a service that has learned from these logs."""
    folder = bench.folder / f"service-{direction}"
    with run_learned_service(bench.bed, bench.bed.clients[0], logs, folder=folder, port=_SERVICE_PORT) as service:
        if not service.has_model:
            sys.stderr.write(f"  {bench.cell.name} {direction}: its logs gave no model; closed-form rules answer\n")
        yield Contender(
            name=OURS_WITH_HISTORY, tool=STORE_TOOLS[0], variables=service.variables, learned=digest_logs(logs)
        )


def _run_alternately(runs: CellRuns, contenders: Sequence[Contender], repeats: int) -> Mapping[str, Sequence[Row]]:
    """Return the runs of each contender; each repeat starts with another one."""
    rows: dict[str, list[Row]] = {each.name: [] for each in contenders}
    for repeat in range(repeats):
        first = repeat % len(contenders)
        for contender in (*contenders[first:], *contenders[:first]):
            rows[contender.name].append(runs.run(contender, f"repeat {repeat}"))
    return rows


def _take_median(rows: Sequence[Row]) -> float:
    return statistics.median(float(row["throughput_bps"]) for row in rows)


def _make_rows(case: str, found: Mapping[str, Sequence[Row]]) -> Iterator[dict[str, Value]]:
    for name, rows in found.items():
        yield {
            "case": f"{case}: {name}",
            "mbps": _take_median(rows) / 1e6,
            "j_per_gb": statistics.median(float(row["j_per_gb"]) for row in rows),
            "cut_runs": sum(bool(row["is_cut"]) for row in rows),
        }


def compare_medians(medians: Mapping[str, float]) -> Mapping[str, float]:
    """Return the figures of one cell from the rate of each contender, bit/s.

    The oracle is the best static setting of any tool; a tool without settings has its defaults alone.
    """
    best_default = max(medians[tool.name] for tool in STORE_TOOLS if tool.name != OURS)
    figures = {"unseen_vs_best_default": medians[OURS] / best_default}
    if OURS_WITH_HISTORY in medians:
        fixed = [bps for name, bps in medians.items() if name not in (OURS, OURS_WITH_HISTORY)]
        figures["vs_best_default"] = medians[OURS_WITH_HISTORY] / best_default
        figures["oracle_fraction"] = medians[OURS_WITH_HISTORY] / max(fixed)
    return figures


def summarise(figures: Sequence[Mapping[str, float]]) -> dict[str, Value]:
    """Return the least and the median of each figure over all cells."""
    summary: dict[str, Value] = {"cells": len(figures)}
    for name in ("vs_best_default", "oracle_fraction", "unseen_vs_best_default"):
        if values := [each[name] for each in figures if name in each]:
            summary |= {f"{name}_min": min(values), f"{name}_median": statistics.median(values)}
    return summary
