"""Judge the choice of each cell: what it lost against every candidate."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import Any

from benchmarks.compression import bounds
from benchmarks.compression.files import KINDS
from benchmarks.compression.modes import AUTO, RAW, Cell
from tradewind.compression.advice import CodecAdvice, CompressionQuery, advise
from tradewind.compression.codecs import Codec, CodecSetting
from tradewind.compression.contest import advise_by_trial
from tradewind.compression.history import CodecObservation, History
from tradewind.compression.model import Speeds
from tradewind.compression.prior import load_packaged_history
from tradewind_agent.compression.packed.path_probe import estimate_query_s

GZIP_6 = str(CodecSetting(Codec.GZIP, 6))
LARGE_BYTES = 10_000_000


def build_history_without(cell: Cell, cells: Sequence[Cell]) -> History:
    """Return the history without the file and all of the same content: the other contents, as packaged and as made
    here.
    """
    others = {other.file.name: other for other in cells if other.content != cell.content}
    return load_packaged_history(KINDS[cell.content]).extend(
        observation for other in others.values() for observation in other.to_observations()
    )


def choose_advice(cell: Cell, cells: Sequence[Cell]) -> CodecAdvice:
    """Choose among all settings that both ends have; the best were tried on the sample."""
    setup_s = estimate_query_s(cell.line) if cell.upload else 0.0
    question = CompressionQuery(case=cell.case, line=cell.line, packing_setup_s=setup_s, settings=list(cell.made))
    history = build_history_without(cell, cells)

    def advise_with(tried: Mapping[CodecSetting, Speeds]) -> CodecAdvice:
        samples = [CodecObservation(case=cell.case, setting=setting, speeds=made) for setting, made in tried.items()]
        return advise(replace(question, samples=samples), history)

    return advise_by_trial(advise_with, cell.tried.__getitem__)


def judge_cells(cells: Sequence[Cell]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return a row a cell, and the figures over all of them; each cell is judged by a history without its content.

    ``model_error`` : of the modes that were transferred. ``auto_regret`` : of `tradewind copy --compress auto`, which
    looks at the file and changes settings on the way.
    """
    rows: list[dict[str, Any]] = []
    errors: dict[bool, list[float]] = {True: [], False: []}
    for cell in cells:
        advice = choose_advice(cell, cells)
        promised = {str(option.setting or RAW): option.duration_s for option in advice.options}
        errors_of_cell = [abs(promised[mode] / took_s - 1) for mode, took_s in cell.fixed_s.items() if mode in promised]
        errors[cell.case.file_bytes >= LARGE_BYTES] += errors_of_cell
        rows.append(_make_row(cell, str(advice.best.setting or RAW), median(errors_of_cell)))
    regrets, of_auto = (sorted(row[name] for row in rows) for name in ("regret", "auto_regret"))
    return rows, {
        "settings_weighed": len({setting for cell in cells for setting in cell.made}),
        "settings_ruled_out_share": sum(row["ruled_out"] for row in rows) / sum(len(cell.made) for cell in cells),
        "bounds_broken": sum(row["bounds_broken"] for row in rows),
        "model_error_median": median(errors[True]) if errors[True] else None,
        "model_error_small_median": median(errors[False]) if errors[False] else None,
        "choice_regret_median": median(regrets),
        "choice_regret_p90": regrets[int(0.9 * len(regrets))],
        "auto_regret_median": median(of_auto),
        "auto_regret_p90": of_auto[int(0.9 * len(of_auto))],
        "best_vs_gzip6": max(row["gzip6_s"] / row["chosen_s"] for row in rows),
    }


def _make_row(cell: Cell, chosen: str, model_error: float) -> dict[str, Any]:
    fixed_s, least_s = cell.fixed_s, cell.compute_least_s()
    best_s = bounds.compute_best_possible_s(least_s, fixed_s)
    return {
        "case": cell.name,
        "chosen": chosen,
        "best": min(fixed_s, key=lambda mode: fixed_s[mode]),
        "raw_s": fixed_s[RAW],
        "gzip6_s": fixed_s[GZIP_6],
        "chosen_s": fixed_s[chosen],
        "auto_s": cell.took_s[AUTO],
        "best_s": best_s,
        "regret": 1 - best_s / fixed_s[chosen],
        "auto_regret": 1 - best_s / cell.took_s[AUTO],
        "model_error": model_error,
        "transferred": sum(str(setting) in fixed_s for setting in cell.made),
        "ruled_out": sum(str(setting) not in fixed_s for setting in cell.made),
        "bounds_broken": bounds.count_broken(least_s, fixed_s),
    }
