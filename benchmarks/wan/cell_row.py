"""The rows of a cell: one a run, and one of medians for the table."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from benchmarks.testbed.measured_run import MeasuredRun
from benchmarks.testbed.peers import TRADEWIND, Peer
from benchmarks.testbed.soundness import LATE_SHARES
from benchmarks.wan.arena import Arena, Contender
from benchmarks.wan.cells import compute_warm_duration_s
from benchmarks.wan.runs import Row

FASTEST = f"best {TRADEWIND.name}"
"""The static setting of our engine that the search has found, measured in runs of its own."""

OURS_ALONE = "ours without history"
"""Our engine without a service: only rules and what it sees while it runs decide."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How thoroughly a cell is measured.

    Attributes
    ----------
    repeats : interleaved runs of every contender.
    cut_s : limit of those runs; ``search_cut_s`` that of the search's runs, which only rank settings.
    seed : of the files and the losses.
    searched : peers whose best static setting is searched for, in addition to our engine's.
    uses_service : whether our tuned runs use a service that has learned; the closed-form rules decide otherwise.
    """

    repeats: int
    cut_s: float
    search_cut_s: float
    seed: int
    searched: Sequence[Peer]
    hashes: Mapping[str, str]
    uses_service: bool = True


@dataclass(slots=True)
class CellMeasurements:
    """All runs of a cell.

    Attributes
    ----------
    runs : by contender, one a repeat.
    searched : by peer, one a setting.
    frugal : of our engine at settings that may take little energy, as long as a repeat.
    lessons : transfers that the release was learned from.
    foreign_logs : files of records of other paths, which is all that the service for the unknown path knows.
    without_model : tuned contenders whose service has no model of any path, so that closed-form rules answered.
    """

    runs: dict[str, list[Row]] = field(default_factory=dict)
    searched: dict[str, list[Row]] = field(default_factory=dict)
    frugal: list[Row] = field(default_factory=list)
    lessons: int = 0
    foreign_logs: int = 0
    without_model: list[str] = field(default_factory=list)
    minutes: float = 0.0


def make_run_row(arena: Arena, contender: Contender, role: str, run: MeasuredRun) -> Row:
    """Return the row of a run; packets dropped and lost are those of the direction of the files."""
    way = run.path.get_way(arena.cell.direction)
    return {
        "cell": arena.cell.name,
        "contender": contender.name,
        "role": role,
        "setting": contender.setting.list_known() if contender.setting is not None else None,
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "duration_s": run.duration_s,
        "bytes_done": run.bytes_done,
        "bytes_asked": sum(arena.sizes),
        "throughput_bps": run.throughput_bps,
        "cpu_s": run.cpu_s,
        "modelled_energy_j": run.compute_modelled_energy_j(),
        "modelled_j_per_gb": run.compute_per_gb(run.compute_modelled_energy_j()),
        "dynamic_j_per_gb": run.compute_per_gb(run.compute_modelled_dynamic_energy_j()),
        "cut": run.cut,
        "exit_code": run.exit_code,
        "dropped": way.dropped,
        "lost": way.lost,
        "refused": run.path.down.refused + run.path.up.refused,
        "late_s": [run.path.late.compute_quantile_s(share) for share in LATE_SHARES],
        "waited_share": round(run.share.waited, 4),
        "others_share": round(run.share.others, 4),
        "stolen_share": round(run.share.stolen, 4),
        "ahead": arena.prioritised,
    }


def make_cell_row(arena: Arena, plan: Plan, measured: CellMeasurements) -> Row:
    """Return the cell's row, with medians of each contender over the repeats."""
    return {
        "cell": arena.cell.name,
        "path": str(arena.cell.path),
        "tcp": arena.bed.read_tcp_settings(),
        "files": len(arena.sizes),
        "bytes": sum(arena.sizes),
        "seed": plan.seed,
        "repeats": plan.repeats,
        "cut_s": plan.cut_s,
        "search_cut_s": compute_warm_duration_s(arena.cell.path, plan.search_cut_s),
        "hashes": dict(plan.hashes),
        "minutes": round(measured.minutes, 1),
        "files_digest": arena.files_digest,
        "machine": _build_worst_of_machine(measured),
        "settings_tried": {name: len(rows) for name, rows in measured.searched.items()},
        "lessons": measured.lessons,
        "foreign_logs": measured.foreign_logs,
        "without_model": measured.without_model,
        "least_dynamic_energy": _find_least_energy(measured.runs[FASTEST], measured.frugal),
        "contenders": {name: _take_medians(rows) for name, rows in measured.runs.items()},
    }


def _build_worst_of_machine(measured: CellMeasurements) -> dict[str, Any]:
    """Return how good the machine was over the repeats: the worst run, and whether all of them had precedence."""
    rows = [row for rows in measured.runs.values() for row in rows]
    late_s = zip(*(row["late_s"] for row in rows), strict=True)
    return {
        "late_s": dict(zip(("median", "p99", "max"), map(max, late_s), strict=True)),
        "waited_share": max(row["waited_share"] for row in rows),
        "others_share": statistics.fmean(row["others_share"] for row in rows),
        "stolen_share": statistics.fmean(row["stolen_share"] for row in rows),
        "ahead_of_others": all(row["ahead"] for row in rows),
    }


def _take_medians(rows: Sequence[Row]) -> dict[str, Any]:
    return {
        "setting": rows[0]["setting"],
        "throughput_bps": statistics.median(row["throughput_bps"] for row in rows),
        "modelled_j_per_gb": _compute_median_or_none([row["modelled_j_per_gb"] for row in rows]),
        "dynamic_j_per_gb": _compute_median_or_none([row["dynamic_j_per_gb"] for row in rows]),
        "failed": sum(row["exit_code"] not in (0, None) for row in rows),
        "cut": sum(row["cut"] for row in rows),
        "duration_s": statistics.median(row["duration_s"] for row in rows),
        "throughputs_bps": [round(row["throughput_bps"]) for row in rows],
    }


def _compute_median_or_none(values: Sequence[float | None]) -> float | None:
    """Return the median; ``None`` where a run moved nothing and so has no energy by the byte."""
    known = [value for value in values if value is not None]
    return statistics.median(known) if len(known) == len(values) else None


def _find_least_energy(fastest: Sequence[Row], frugal: Sequence[Row]) -> dict[str, Any]:
    """Return our engine's energy above idle for a gigabyte: at its fastest setting, and at the one that takes least."""
    least_name, least = min(
        ((name, joules) for name, joules in _compute_dynamic_energies(frugal).items()),
        key=lambda pair: pair[1],
        default=("", None),
    )
    return {
        "setting": least_name or None,
        "dynamic_j_per_gb": least,
        "of_fastest_j_per_gb": _compute_median_or_none([row["dynamic_j_per_gb"] for row in fastest]),
    }


def _compute_dynamic_energies(rows: Sequence[Row]) -> Mapping[str, float]:
    return {str(row["setting"]): row["dynamic_j_per_gb"] for row in rows if row["dynamic_j_per_gb"] is not None}
