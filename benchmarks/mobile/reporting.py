"""Report a measurement: the runs, each lesson with its verdict, and the figures to judge by."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import isfinite, nan

from benchmarks.mobile.cells import LONGEST
from benchmarks.mobile.lessons import (
    HTML_SAVING_BOUND,
    Contest,
    LessonVerdict,
    RepeatedRuns,
    compute_contest_saving,
    judge_lessons,
)
from benchmarks.mobile.pricing import (
    FACTORS,
    Constants,
    load_published_constants,
    price_dynamic_j,
    price_energy_j,
    price_tail_saving,
    split_energy,
    vary_constants,
)
from benchmarks.support.report import Value
from benchmarks.wan.runs import Row
from tradewind.units import KIB, compute_throughput_bps

RADIOS = ("wifi", "lte")
AT_LEAST: Mapping[str, float] = {"html_saving": HTML_SAVING_BOUND}
"""Bound for html on the longest path, at the published constants."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MobileRuns:
    """The measured runs.

    ``grounds`` : the grids; ``repeated`` : repeated runs of two settings each; ``blocks`` : other I/O blocks.
    """

    grounds: Mapping[str, Sequence[Row]]
    repeated: Mapping[str, RepeatedRuns]
    blocks: Sequence[Row]


@dataclass(frozen=True, slots=True)
class Lesson:
    """A verdict at the published constants, and at how many of the ``others`` it held as well."""

    radio: str
    verdict: LessonVerdict
    held_at: int
    others: int

    def format_line(self) -> str:
        return f"{self.verdict.format_line()}; held at {self.held_at} of {self.others} other constants"

    def build_result(self) -> dict[str, Value]:
        return {
            "case": self.verdict.lesson,
            "sort": "lesson",
            "radio": self.radio,
            "held": self.verdict.held,
            "figures": self.verdict.figures,
            "papers": self.verdict.papers,
            "held_at": self.held_at,
            "other_constants": self.others,
        }


def judge_all_lessons(measured: MobileRuns, radio: str) -> list[Lesson]:
    others = [_judge(measured, each) for factor in FACTORS for each in vary_constants(radio, factor)]
    published = _judge(measured, load_published_constants(radio))
    return [
        Lesson(radio, verdict, sum(each[number].held for each in others), len(others))
        for number, verdict in enumerate(published)
    ]


def make_results(measured: MobileRuns) -> list[dict[str, Value]]:
    """Return a row a run and radio, of the grids, of repeated runs and of I/O blocks; then a row a lesson and radio."""
    rows = [_make_result(sort, row, radio) for sort, row in _list_runs_once(measured) for radio in RADIOS]
    return rows + [lesson.build_result() for radio in RADIOS for lesson in judge_all_lessons(measured, radio)]


def _list_runs_once(measured: MobileRuns) -> Iterator[tuple[str, Row]]:
    """Yield each run once: a run may serve several contests, and the grid's setting a block's as well."""
    seen_keys: set[str] = set()
    sorts = [
        ("grid", [row for rows in measured.grounds.values() for row in rows]),
        (
            "afresh",
            [row for each in measured.repeated.values() for pair in each.values() for rows in pair for row in rows],
        ),
        ("io_block", measured.blocks),
    ]
    for sort, rows in sorts:
        for row in rows:
            if row["key"] not in seen_keys:
                seen_keys.add(row["key"])
                yield sort, row


def _make_result(sort: str, row: Row, radio: str) -> dict[str, Value]:
    block_bytes = row["io_block_bytes"]
    block = "" if block_bytes is None else f" io {block_bytes // KIB}K"
    shown: dict[str, Value] = {
        "case": f"{row['ground']} cc {row['concurrency']} p {row['parallelism']}{block}",
        "sort": sort,
        "radio": radio,
        "mbps": compute_throughput_bps(row["bytes_done"], row["duration_s"]) / 1e6,
        "cut": row["cut"],
    }
    if row["bytes_done"]:
        shown |= split_energy(row, load_published_constants(radio)).to_dict()
    return shown


def summarise(measured: MobileRuns) -> dict[str, Value]:
    """Return the figures at the published constants, and the worst of them with each group at half and at half more."""
    grounds, blocks = measured.grounds, measured.blocks
    rows = [row for each in grounds.values() for row in each]
    summary: dict[str, Value] = {"energy_is": "modelled", "runs": sum(1 for _ in _list_runs_once(measured))}
    for name, figure in (
        ("html_saving", partial(_price_html_saving, measured.repeated, price_energy_j)),
        ("html_saving_dynamic", partial(_price_html_saving, measured.repeated, price_dynamic_j)),
        ("energy_saving_best", partial(_price_best_saving, measured.repeated)),
        ("io_block_effect", partial(_price_block_effect, blocks)),
        ("tail_saving", partial(price_tail_saving, rows)),
    ):
        radio = "lte" if name == "tail_saving" else "wifi"
        summary[name] = _compute_finite_or_none(figure(load_published_constants(radio)))
        for factor in FACTORS:
            label = f"{name}_{'minus' if factor < 1 else 'plus'}_50"
            worst = max if name == "io_block_effect" else min
            summary[label] = _compute_finite_or_none(worst(figure(each) for each in vary_constants(radio, factor)))
    for radio in RADIOS:
        summary[f"lessons_held_{radio}"] = _count_held(measured, [load_published_constants(radio)])
        for factor in FACTORS:
            label = f"lessons_held_{radio}_{'minus' if factor < 1 else 'plus'}_50"
            summary[label] = _count_held(measured, list(vary_constants(radio, factor)))
    return summary


def _judge(measured: MobileRuns, constants: Constants) -> list[LessonVerdict]:
    total, dynamic = (partial(energy, constants=constants) for energy in (price_energy_j, price_dynamic_j))
    return list(judge_lessons(measured.grounds, measured.repeated, total, dynamic))


def _count_held(measured: MobileRuns, constants: Sequence[Constants]) -> str:
    """Count the lessons that hold at each of these constants."""
    verdicts_by_constants = [_judge(measured, each) for each in constants]
    held = (all(verdict.held for verdict in verdicts) for verdicts in zip(*verdicts_by_constants, strict=True))
    return f"{sum(held)} of {len(verdicts_by_constants[0])}"


def _price_html_saving(
    repeated: Mapping[str, RepeatedRuns], energy: Callable[[Row, Constants], float], constants: Constants
) -> float:
    """Return what concurrency saves of html on the longest path, 0 where it saves nothing; NaN if not measured."""
    name = f"{LONGEST}/html"
    if name not in repeated:
        return nan
    pair = repeated[name].get(Contest.CONCURRENCY)
    return 0.0 if pair is None else compute_contest_saving(pair, lambda row: energy(row, constants))


def _price_best_saving(repeated: Mapping[str, RepeatedRuns], constants: Constants) -> float:
    """Return the most that a setting saves against one file and one stream, by repeated runs of both."""
    pairs = [each[Contest.SAVING] for each in repeated.values() if Contest.SAVING in each]
    return max(
        (compute_contest_saving(pair, partial(price_energy_j, constants=constants)) for pair in pairs), default=nan
    )


def _price_block_effect(blocks: Sequence[Row], constants: Constants) -> float:
    """Return how much more the worst I/O block takes than the best."""
    energies_j = [price_energy_j(row, constants) for row in blocks]
    return max(energies_j) / min(energies_j) - 1


def _compute_finite_or_none(value: float) -> float | None:
    return value if isfinite(value) else None
