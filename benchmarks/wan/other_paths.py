"""Ours without history next to today's tools at their defaults, over paths that are not in the table."""

import statistics
from collections.abc import Sequence

from benchmarks.support.direction import Direction
from benchmarks.support.report import Value
from benchmarks.testbed.data_sets import Kind
from benchmarks.testbed.path_spec import PathSpec
from benchmarks.wan.arena import Arena, Contender
from benchmarks.wan.cell_row import OURS_ALONE, Plan
from benchmarks.wan.cell_runner import CellRunner
from benchmarks.wan.cells import Cell
from benchmarks.wan.repeats import run_repeats
from benchmarks.wan.runs import RunLog
from tradewind.errors import InvalidValue
from tradewind.units import parse_bps, parse_seconds

PERCENT = 100.0


def parse_cells(
    path: str, kinds: Sequence[str] | None, direction: Direction = Direction.DOWN, *, over_tls: bool = False
) -> list[Cell]:
    """Return the cells of a path such as ``150Mbps,200ms,0%``: rate, round trip, loss each way.

    Raises
    ------
    InvalidValue : no such path, or a kind of files that there is not.
    """
    words = path.split(",")
    loss = words[2] if len(words) == 3 else ""
    if not loss.endswith("%"):
        raise InvalidValue("paths", f"are like 150Mbps,200ms,0%, got {path!r}")
    try:
        loss_rate = float(loss.removesuffix("%")) / PERCENT
        chosen = [Kind(kind) for kind in kinds or list(Kind)]
    except ValueError as error:
        raise InvalidValue("paths", str(error)) from None
    spec = PathSpec(rate_bps=parse_bps(words[0]), rtt_s=parse_seconds(words[1]), loss_rate=loss_rate)
    return [Cell(path, kind, spec, direction, over_tls) for kind in chosen]


def run_without_history(arena: Arena, log: RunLog, plan: Plan) -> dict[str, Value]:
    """Return a line of medians, Mbit/s; runs that ``log`` has are not made again."""
    defaults = {peer.name for peer in arena.cell.peers}
    contenders = [
        Contender(name=OURS_ALONE, peer=arena.cell.engine),
        *(Contender(name=peer.name, peer=peer) for peer in arena.cell.peers),
    ]
    runs = run_repeats(CellRunner(arena, log, plan), contenders, plan, defaults)
    medians_bps = {name: statistics.median(row["throughput_bps"] for row in rows) for name, rows in runs.items()}
    best_bps = max(medians_bps[name] for name in defaults)
    line: dict[str, Value] = {"case": arena.cell.name}
    line |= {name: bps / 1e6 for name, bps in medians_bps.items()}
    line["failed_runs"] = sum(row["exit_code"] not in (0, None) for row in runs[OURS_ALONE])
    line["vs_best_default"] = medians_bps[OURS_ALONE] / best_bps if best_bps else None
    return line


def summarise_without_history(lines: Sequence[dict[str, Value]]) -> dict[str, Value]:
    """Return the least and the median of ours over the best default; a cell in which no tool moved anything is left
    out.
    """
    ratios = [float(ratio) for line in lines if isinstance(ratio := line["vs_best_default"], float)]
    return {
        "cells": len(lines),
        "unseen_vs_best_default_min": min(ratios, default=None),
        "unseen_vs_best_default_median": statistics.median(ratios) if ratios else None,
        "failed_runs": sum(int(str(line["failed_runs"])) for line in lines),
    }
