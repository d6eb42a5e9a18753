"""What is written of a measurement: the runs, each lesson with its verdict, and the figures to judge by."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import isfinite, nan

from benchmarks.mobile.cells import LONGEST
from benchmarks.mobile.lessons import HTML_SAVING_WANTED, Contest, Fresh, Verdict, saving_afresh, verdicts
from benchmarks.mobile.pricing import (
    FACTORS,
    Constants,
    as_published,
    dynamic_j,
    energy_j,
    split_of,
    tail_saving,
    varied,
)
from benchmarks.support.report import Value
from benchmarks.wan.runs import Row
from tradewind.units import KIB, throughput_bps

RADIOS = ("wifi", "lte")
AT_LEAST: Mapping[str, float] = {"html_saving": HTML_SAVING_WANTED}
"""Of html on the longest path, at the constants as they are published."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """``grounds`` : the grids; ``fresh`` : settings run again against one another; ``blocks`` : other I/O blocks."""

    grounds: Mapping[str, Sequence[Row]]
    fresh: Mapping[str, Fresh]
    blocks: Sequence[Row]


@dataclass(frozen=True, slots=True)
class Lesson:
    """A verdict at the published constants, and at how many of the ``others`` it held as well."""

    radio: str
    verdict: Verdict
    held_at: int
    others: int

    def line(self) -> str:
        return f"{self.verdict.line()}; held at {self.held_at} of {self.others} other constants"

    def result(self) -> dict[str, Value]:
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


def lessons_of(measured: Measured, radio: str) -> list[Lesson]:
    others = [_judged(measured, each) for factor in FACTORS for each in varied(radio, factor)]
    published = _judged(measured, as_published(radio))
    return [
        Lesson(radio, verdict, sum(each[number].held for each in others), len(others))
        for number, verdict in enumerate(published)
    ]


def results_of(measured: Measured) -> list[dict[str, Value]]:
    """A row a run and radio, of the grids, of runs made afresh and of I/O blocks; then a row a lesson and radio."""
    rows = [_result(sort, row, radio) for sort, row in _runs(measured) for radio in RADIOS]
    return rows + [lesson.result() for radio in RADIOS for lesson in lessons_of(measured, radio)]


def _runs(measured: Measured) -> Iterator[tuple[str, Row]]:
    """Each once: a run may serve several contests, and the grid's setting a block's as well."""
    told: set[str] = set()
    sorts = [
        ("grid", [row for rows in measured.grounds.values() for row in rows]),
        (
            "afresh",
            [row for each in measured.fresh.values() for pair in each.values() for rows in pair for row in rows],
        ),
        ("io_block", measured.blocks),
    ]
    for sort, rows in sorts:
        for row in rows:
            if row["key"] not in told:
                told.add(row["key"])
                yield sort, row


def _result(sort: str, row: Row, radio: str) -> dict[str, Value]:
    block_bytes = row["io_block_bytes"]
    block = "" if block_bytes is None else f" io {block_bytes // KIB}K"
    shown: dict[str, Value] = {
        "case": f"{row['ground']} cc {row['concurrency']} p {row['parallelism']}{block}",
        "sort": sort,
        "radio": radio,
        "mbps": throughput_bps(row["bytes_done"], row["duration_s"]) / 1e6,
        "cut": row["cut"],
    }
    if row["bytes_done"]:
        shown |= split_of(row, as_published(radio)).parts()
    return shown


def summary_of(measured: Measured) -> dict[str, Value]:
    """The figures as the profiles are, and the worst of them with each group of constants at half and at half more."""
    grounds, blocks = measured.grounds, measured.blocks
    rows = [row for each in grounds.values() for row in each]
    summary: dict[str, Value] = {"energy_is": "modelled", "runs": sum(1 for _ in _runs(measured))}
    for name, figure in (
        ("html_saving", partial(_html_saving, measured.fresh, energy_j)),
        ("html_saving_dynamic", partial(_html_saving, measured.fresh, dynamic_j)),
        ("energy_saving_best", partial(_best_saving, measured.fresh)),
        ("io_block_effect", partial(_block_effect, blocks)),
        ("tail_saving", partial(tail_saving, rows)),
    ):
        radio = "lte" if name == "tail_saving" else "wifi"
        summary[name] = _finite(figure(as_published(radio)))
        for factor in FACTORS:
            label = f"{name}_{'minus' if factor < 1 else 'plus'}_50"
            worst = max if name == "io_block_effect" else min
            summary[label] = _finite(worst(figure(each) for each in varied(radio, factor)))
    for radio in RADIOS:
        summary[f"lessons_held_{radio}"] = _held(measured, [as_published(radio)])
        for factor in FACTORS:
            label = f"lessons_held_{radio}_{'minus' if factor < 1 else 'plus'}_50"
            summary[label] = _held(measured, list(varied(radio, factor)))
    return summary


def _judged(measured: Measured, constants: Constants) -> list[Verdict]:
    total, dynamic = (partial(energy, constants=constants) for energy in (energy_j, dynamic_j))
    return list(verdicts(measured.grounds, measured.fresh, total, dynamic))


def _held(measured: Measured, constants: Sequence[Constants]) -> str:
    """How many lessons hold at each of these constants."""
    judged = [_judged(measured, each) for each in constants]
    return f"{sum(all(each.held for each in one) for one in zip(*judged, strict=True))} of {len(judged[0])}"


def _html_saving(fresh: Mapping[str, Fresh], energy: Callable[[Row, Constants], float], constants: Constants) -> float:
    """What concurrency saves of html on the longest path, 0 where it saves nothing; no number if not measured."""
    name = f"{LONGEST}/html"
    if name not in fresh:
        return nan
    pair = fresh[name].get(Contest.CONCURRENCY)
    return 0.0 if pair is None else saving_afresh(pair, lambda row: energy(row, constants))


def _best_saving(fresh: Mapping[str, Fresh], constants: Constants) -> float:
    """The most that a setting saves against one file and one stream; by runs of both made afresh."""
    pairs = [each[Contest.SAVING] for each in fresh.values() if Contest.SAVING in each]
    return max((saving_afresh(pair, partial(energy_j, constants=constants)) for pair in pairs), default=nan)


def _block_effect(blocks: Sequence[Row], constants: Constants) -> float:
    """How much more the worst I/O block takes than the best."""
    energies_j = [energy_j(row, constants) for row in blocks]
    return max(energies_j) / min(energies_j) - 1


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None
