"""Make the table and its summary from the rows of finished cells."""

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from benchmarks.support.report import Value
from benchmarks.testbed.measured_run import CUT_S
from benchmarks.testbed.peers import PEERS
from benchmarks.testbed.uploads.tools import UPLOADING_PEERS
from benchmarks.wan.cell_row import FASTEST, OURS_ALONE
from benchmarks.wan.cell_run import OURS, OURS_MIN_DYNAMIC, OURS_MIN_ENERGY, OURS_ON_UNKNOWN_PATH
from benchmarks.wan.cells import ALL_CELLS, DOWN_CELLS, TLS_CELLS, UP_CELLS, Cell
from benchmarks.wan.runs import Row

LESS_ENERGY = 0.7
"""Share of the fastest setting's dynamic energy: where brute force shows a setting below it, there is much to save."""

TICK_S = 5.0
"""A heartbeat interval, in every benchmark."""

Figures = Mapping[str, Any]
HTML_60_MS = "100M-60ms/html"
PEER_NAMES = frozenset(peer.name for peer in (*PEERS, *UPLOADING_PEERS))


def find_best_default(row: Row, figure: str, best: Callable[[Iterable[float]], float]) -> float:
    """Return the best figure that any peer of the cell reached at its defaults."""
    values = (figures[figure] for name, figures in row["contenders"].items() if name in PEER_NAMES)
    return best(value for value in values if value is not None)


def find_oracle_bps(row: Row) -> float:
    """Return the throughput of the best static setting of our engine and of the peers, in runs of its own."""
    return max(_compute_bps(row, name) for name in row["contenders"] if name.startswith("best "))


def make_result(row: Row) -> dict[str, Value]:
    """Return a cell as a line of the table: Mbit/s, and modelled Joule a gigabyte."""
    contenders: Mapping[str, Figures] = row["contenders"]
    line: dict[str, Value] = {"case": row["cell"]}
    line |= {name: figures_of_contender["throughput_bps"] / 1e6 for name, figures_of_contender in contenders.items()}
    line |= {
        f"{name} J/GB": figures_of_contender["modelled_j_per_gb"]
        for name, figures_of_contender in contenders.items()
        if name[:5] != "best "
    }
    line["failed_runs"] = _count_failed(row)
    line["oracle_fraction"] = _compute_bps(row, OURS) / find_oracle_bps(row)
    line["unseen_fraction"] = _compute_bps(row, OURS_ON_UNKNOWN_PATH) / find_oracle_bps(row)
    line["vs_best_default"] = _compute_bps(row, OURS) / find_best_default(row, "throughput_bps", max)
    line["alone_vs_best_default"] = _compute_bps(row, OURS_ALONE) / find_best_default(row, "throughput_bps", max)
    return line


AT_MOST = {
    "energy_vs_best_default_max": 1.05,
    "dynamic_energy_vs_best_default_median": 0.8,
    "energy_vs_rclone_median": 0.6,
    "energy_vs_wget_median": 0.3,
    "unseen_ticks_max": 12.0,
    "cells_missing": 0.0,
    "failed_runs": 0.0,
}
AT_LEAST = {
    "oracle_fraction_median": 0.98,
    "oracle_fraction_min": 0.92,
    "unseen_fraction_median": 0.97,
    "unseen_fraction_min": 0.90,
    "alone_vs_best_default_min": 0.98,
    "vs_best_default_min": 0.98,
    "cells_above_best_default": 14.0,
    "saving_share": 2 / 3,
    "html_60ms_vs_rclone": 2.5,
    "html_60ms_vs_wget": 6.0,
}
"""Bounds of the full table: of its downloads, apart from missing cells and failed runs."""


def summarise(rows: Sequence[Row]) -> dict[str, Value]:
    """Return the figures to judge by, of the finished cells; energies are modelled, at equal bytes.

    Figures are those of downloads, except where their names say something else: uploads and TLS have figures of their
    own. Missing cells are those of downloads and uploads, failed runs those of all.
    """
    down, up, over_tls = (_select_rows(rows, cells) for cells in (DOWN_CELLS, UP_CELLS, TLS_CELLS))
    savings = [_compute_dynamic_saving(row) for row in down if _can_save(row)]
    saving = sum(saved is not None and saved >= 1 - LESS_ENERGY for saved in savings)
    html = next((row for row in down if row["cell"] == HTML_60_MS), None)
    return {
        "cells": len(rows),
        "cells_missing": len(_list_not_measured(rows, (*DOWN_CELLS, *UP_CELLS))),
        "failed_runs": sum(_count_failed(row) for row in rows),
        **_compare(down),
        "energy_vs_rclone_median": _compute_median_energy_ratio(down, "rclone"),
        "energy_vs_wget_median": _compute_median_energy_ratio(down, "wget"),
        "cells_with_30_percent_to_save": len(savings),
        "cells_saving_30_percent": saving,
        "saving_share": saving / len(savings) if savings else 1.0,
        "dynamic_saving_min": _pick_if_all_known(min, savings),
        "html_60ms_vs_rclone": _compute_throughput_ratio(html, "rclone"),
        "html_60ms_vs_wget": _compute_throughput_ratio(html, "wget"),
        **({f"upload_{name}": value for name, value in _compare(up).items()} if up else {}),
        **({f"tls_{name}": value for name, value in _compare(over_tls).items()} if over_tls else {}),
    }


def _select_rows(rows: Sequence[Row], cells: Sequence[Cell]) -> list[Row]:
    names = {cell.name for cell in cells}
    return [row for row in rows if row["cell"] in names]


def _compare(rows: Sequence[Row]) -> dict[str, Value]:
    """Return how ours compares with the oracle and with the best defaults; ``None`` without rows."""
    fractions = [_compute_bps(row, OURS) / find_oracle_bps(row) for row in rows]
    unseen = [_compute_bps(row, OURS_ON_UNKNOWN_PATH) / find_oracle_bps(row) for row in rows]
    margins = [_compute_bps(row, OURS) / find_best_default(row, "throughput_bps", max) for row in rows]
    alone = [_compute_bps(row, OURS_ALONE) / find_best_default(row, "throughput_bps", max) for row in rows]
    energies = [_compute_energy_ratio(row, OURS_MIN_ENERGY, "modelled_j_per_gb") for row in rows]
    dynamic = [_compute_ratio_or_none(_compute_dynamic(row), _find_dynamic_of_fastest_default(row)) for row in rows]
    least_dynamic = [_compute_energy_ratio(row, OURS_MIN_DYNAMIC, "dynamic_j_per_gb") for row in rows]
    ticks = [_count_ticks(row["contenders"][OURS_ON_UNKNOWN_PATH]["duration_s"]) for row in rows]
    return {
        "oracle_fraction_min": min(fractions, default=None),
        "oracle_fraction_median": _compute_median(fractions),
        "unseen_fraction_min": min(unseen, default=None),
        "unseen_fraction_median": _compute_median(unseen),
        "unseen_ticks_max": max(ticks, default=None),
        "vs_best_default_min": min(margins, default=None),
        "vs_best_default_median": _compute_median(margins),
        "cells_above_best_default": sum(margin > 1 for margin in margins),
        "alone_vs_best_default_min": min(alone, default=None),
        "alone_vs_best_default_median": _compute_median(alone),
        "energy_vs_best_default_max": _pick_if_all_known(max, energies),
        "dynamic_energy_vs_best_default_median": _pick_if_all_known(statistics.median, dynamic),
        "dynamic_energy_vs_least_default_median": _pick_if_all_known(statistics.median, least_dynamic),
    }


def _compute_dynamic(row: Row) -> float | None:
    joules: float | None = row["contenders"][OURS_MIN_DYNAMIC]["dynamic_j_per_gb"]
    return joules


def _find_dynamic_of_fastest_default(row: Row) -> float | None:
    """Return the dynamic energy of the tool that is fastest at its defaults: the one that takes least may move a
    hundredth.
    """
    defaults = [figures for name, figures in row["contenders"].items() if name in PEER_NAMES]
    joules: float | None = max(defaults, key=lambda figures: float(figures["throughput_bps"]))["dynamic_j_per_gb"]
    return joules


def _compute_energy_ratio(row: Row, ours: str, figure: str) -> float | None:
    return _compute_ratio_or_none(row["contenders"][ours][figure], find_best_default(row, figure, min))


def _count_ticks(duration_s: float) -> float:
    """Return the ticks of a run; a cut run has those until the cut, however many milliseconds later it was over."""
    return min(duration_s, CUT_S) / TICK_S


def list_missing(rows: Sequence[Row]) -> list[str]:
    """Return what has no figure, a line each."""
    unmeasured = _list_not_measured(rows, ALL_CELLS)
    lines = [f"not measured: {', '.join(unmeasured)}"] if unmeasured else []
    without = sorted(name for name, value in summarise(rows).items() if value is None)
    return lines + ([f"no figure yet: {', '.join(without)}"] if without else [])


def _list_not_measured(rows: Sequence[Row], cells: Sequence[Cell]) -> list[str]:
    measured = {row["cell"] for row in rows}
    return [cell.name for cell in cells if cell.name not in measured]


def _count_failed(row: Row) -> int:
    """Count runs of ours that ended with an error, whatever they had moved by then; a peer's failure only costs its
    figures.
    """
    ours = (FASTEST, OURS_ALONE, OURS, OURS_MIN_ENERGY, OURS_MIN_DYNAMIC, OURS_ON_UNKNOWN_PATH)
    return sum(int(row["contenders"][name]["failed"]) for name in ours)


def _compute_bps(row: Row, contender: str) -> float:
    return float(row["contenders"][contender]["throughput_bps"])


def _compute_energy(row: Row, contender: str) -> float | None:
    joules: float | None = row["contenders"][contender]["modelled_j_per_gb"]
    return joules


def _compute_ratio_or_none(ours: float | None, other: float | None) -> float | None:
    """Return a ratio; ``None`` where there is none, such as for a tool without a byte at the cut."""
    return ours / other if ours is not None and other else None


def _pick_if_all_known(pick: Callable[[Sequence[float]], float], values: Sequence[float | None]) -> float | None:
    """Return what is picked of the cells; ``None`` without cells, and where one has no number: it may be the one."""
    known = [value for value in values if value is not None]
    return pick(known) if known and len(known) == len(values) else None


def _can_save(row: Row) -> bool:
    least = row["least_dynamic_energy"]
    share = _compute_ratio_or_none(least["dynamic_j_per_gb"], least["of_fastest_j_per_gb"])
    return share is not None and share <= LESS_ENERGY


def _compute_dynamic_saving(row: Row) -> float | None:
    """Return what our transfers under ``min_energy`` (dynamic basis) save against our fastest static setting."""
    contenders: Mapping[str, Figures] = row["contenders"]
    share = _compute_ratio_or_none(*(contenders[name]["dynamic_j_per_gb"] for name in (OURS_MIN_DYNAMIC, FASTEST)))
    return None if share is None else 1 - share


def _compute_median_energy_ratio(rows: Sequence[Row], peer: str) -> float | None:
    ratios = [_compute_ratio_or_none(_compute_energy(row, OURS_MIN_ENERGY), _compute_energy(row, peer)) for row in rows]
    return _compute_median([ratio for ratio in ratios if ratio is not None])


def _compute_median(values: Sequence[float]) -> float | None:
    return statistics.median(values) if values else None


def _compute_throughput_ratio(row: Row | None, peer: str) -> float | None:
    return _compute_ratio_or_none(_compute_bps(row, OURS), _compute_bps(row, peer)) if row is not None else None
