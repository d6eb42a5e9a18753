"""Judge whether what the mobile paper learned holds for these runs; each verdict has its figures."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from statistics import median

from benchmarks.mobile.cells import LONGEST, PAPERS_COMBINED_SAVING, PAPERS_HTML_SAVING, PATHS
from benchmarks.wan.runs import Row

HTML_SAVING_BOUND = 0.60
HELPS = 0.05
"""A smaller change of the energy does not count."""

MORE = 0.01
"""Share of the energy: a smaller difference is no lesson, however surely it is measured."""

Energy = Callable[[Row], float]


class Contest(StrEnum):
    """Lessons in which one setting has to beat another: the best of many is better than the rest by chance alone."""

    INTERIOR = "interior"
    COMBINED = "combined"
    CONCURRENCY = "concurrency"
    SAVING = "saving"


RunPair = tuple[Sequence[Row], Sequence[Row]]
"""The alternating runs of both settings of a contest, that of the supposedly smaller energy first."""
RepeatedRuns = Mapping[Contest, RunPair]


@dataclass(frozen=True, slots=True)
class LessonVerdict:
    """Whether a lesson held.

    ``papers`` : the paper's figure, quoted; of other hardware, never compared joule by joule.
    """

    lesson: str
    held: bool
    figures: str
    papers: str

    def format_line(self) -> str:
        return f"{'held' if self.held else 'NOT held'}: {self.lesson}: {self.figures} (the paper: {self.papers})"


def find_best_saving(rows: Sequence[Row], energy: Energy, *, along: str | None = None) -> tuple[float, Row]:
    """Return the share of the energy of one file and one stream that the best setting saves, and that setting.

    ``along`` : only settings that differ in this parameter; any by default.
    """
    other = {"concurrency": "parallelism", "parallelism": "concurrency"}
    chosen = [row for row in rows if along is None or row[other[along]] == 1]
    best = min(chosen, key=energy)
    return 1 - energy(best) / energy(_build_baseline_row(rows)), best


def compute_contest_saving(pair: RunPair, energy: Energy) -> float:
    """Return the share of the second setting's energy that the first saves, by the medians of the repeated runs."""
    less, more = (median(map(energy, rows)) for rows in pair)
    return 1 - less / more


def _build_baseline_row(rows: Sequence[Row]) -> Row:
    return next(row for row in rows if row["concurrency"] == 1 and row["parallelism"] == 1)


def choose_contests(data_set: str, rows: Sequence[Row], energy: Energy) -> Mapping[Contest, tuple[Row, Row]]:
    """Return the settings that a data set's lessons need to run again; none where the first does not lead at all.

    For every data set, the best setting is run again against one file and one stream: the best of many single runs is
    partly luck.
    """
    found: dict[Contest, tuple[Row, Row]] = {}
    start, best = _build_baseline_row(rows), min(rows, key=energy)
    if best is not start:
        found[Contest.SAVING] = (best, start)
    if data_set == "html" and (most_saving := min(_sort_along_concurrency(rows), key=energy)) is not start:
        found[Contest.CONCURRENCY] = (most_saving, start)
    if data_set in ("image", "video"):
        along = _sort_along_concurrency(rows)
        best = min(along, key=energy)
        if best is not along[-1]:
            found[Contest.INTERIOR] = (best, along[-1])
    if data_set == "video":  # one large file has nothing to send at once
        best = min(rows, key=energy)
        single = min((row for row in rows if 1 in (row["concurrency"], row["parallelism"])), key=energy)
        if best is not single:
            found[Contest.COMBINED] = (best, single)
    return found


def is_surely_less(less: Sequence[Row], more: Sequence[Row], energy: Energy) -> bool:
    """Return whether every run of the one took less than any of the other, and the medians differ by `MORE`.

    For four and four equal ones that comes by chance once in 70 times.
    """
    apart = max(map(energy, less)) < min(map(energy, more))
    return apart and median(map(energy, more)) >= (1 + MORE) * median(map(energy, less))


def judge_lessons(
    grounds: Mapping[str, Sequence[Row]], repeated: Mapping[str, RepeatedRuns], energy: Energy, dynamic: Energy
) -> Iterator[LessonVerdict]:
    """Yield the lessons on the measured grounds, which are named ``path/data set``.

    ``energy`` judges; ``dynamic`` : E_d alone, for which the paper reports what concurrency saves; it is reported as
    well.
    """
    for name, rows in grounds.items():
        path, data_set = name.split("/")
        repeated_runs = repeated.get(name, {})
        if data_set == "html":
            yield _judge_concurrency(path, repeated_runs.get(Contest.CONCURRENCY), energy, dynamic)
        yield _judge_parallelism(path, data_set, rows, energy)
        if data_set in ("image", "video"):
            yield _judge_interior(path, data_set, repeated_runs.get(Contest.INTERIOR), energy)
        if data_set == "video":
            yield _judge_combined(path, data_set, repeated_runs.get(Contest.COMBINED), rows, energy)
    yield from _judge_longer_paths(grounds, repeated, energy)


def _judge_concurrency(path: str, pair: RunPair | None, energy: Energy, dynamic: Energy) -> LessonVerdict:
    saved = 0.0 if pair is None else compute_contest_saving(pair, energy)
    figures = "one file at a time takes least"
    if pair is not None:
        best, one = pair
        figures = (
            f"{saved:.0%} at {best[0]['concurrency']} files at once: {_format_energies(best, energy)}, one at a time "
        )
        figures += (
            f"{_format_energies(one, energy)}; of dynamic energy alone {compute_contest_saving(pair, dynamic):.0%}"
        )
    papers = PAPERS_HTML_SAVING.get(path, PAPERS_HTML_SAVING[LONGEST])
    return LessonVerdict(
        f"{path}, html: concurrency cuts energy by {HTML_SAVING_BOUND:.0%} or more",
        saved >= HTML_SAVING_BOUND,
        figures,
        f"{papers:.0%} of dynamic energy",
    )


def _judge_parallelism(path: str, data_set: str, rows: Sequence[Row], energy: Energy) -> LessonVerdict:
    saved, best = find_best_saving(rows, energy, along="parallelism")
    helps = data_set in ("video", "large")
    papers = {"video": "45 % less", "large": "32 % less with 16 streams"}.get(data_set, "more energy with more streams")
    return LessonVerdict(
        f"{path}, {data_set}: streams a file {'help' if helps else 'do not help'} one file at a time",
        (saved >= HELPS) == helps,
        f"{saved:.0%} less at {best['parallelism']} streams",
        papers,
    )


def _sort_along_concurrency(rows: Sequence[Row]) -> list[Row]:
    return sorted((row for row in rows if row["parallelism"] == 1), key=lambda row: int(row["concurrency"]))


def _judge_interior(path: str, data_set: str, pair: RunPair | None, energy: Energy) -> LessonVerdict:
    figures = "least at the most files at once"
    if pair is not None:
        least, most = pair
        figures = f"{least[0]['concurrency']} files at once take {_format_energies(least, energy)}, "
        figures += f"{most[0]['concurrency']} {_format_energies(most, energy)}"
    return LessonVerdict(
        f"{path}, {data_set}: the least energy is at fewer files at once than the most",
        pair is not None and is_surely_less(*pair, energy),
        figures,
        "least at about 16, rising from there on",
    )


def _judge_combined(
    path: str, data_set: str, pair: RunPair | None, rows: Sequence[Row], energy: Energy
) -> LessonVerdict:
    figures = "no setting of both leads"
    if pair is not None:
        combined, single = (f"{_format_setting(runs[0])} takes {_format_energies(runs, energy)}" for runs in pair)
        figures = f"{combined}, {single}; {find_best_saving(rows, energy)[0]:.0%} less than one file and stream"
    return LessonVerdict(
        f"{path}, {data_set}: both parameters together save more than either alone",
        pair is not None and is_surely_less(*pair, energy),
        figures,
        f"{PAPERS_COMBINED_SAVING:.0%} together, 70 % by one alone",
    )


def _format_setting(row: Row) -> str:
    return f"cc {row['concurrency']} p {row['parallelism']}"


def _format_energies(rows: Sequence[Row], energy: Energy) -> str:
    spent = [energy(row) for row in rows]
    return f"{median(spent):.1f} J ({min(spent):.1f} to {max(spent):.1f})"


def _judge_longer_paths(
    grounds: Mapping[str, Sequence[Row]], repeated: Mapping[str, RepeatedRuns], energy: Energy
) -> Iterator[LessonVerdict]:
    html = sorted((name for name in grounds if name.endswith("/html")), key=_find_rtt_s)
    if len(html) < 2:
        return
    pairs = [repeated.get(name, {}).get(Contest.CONCURRENCY) for name in html]
    saved = [0.0 if pair is None else compute_contest_saving(pair, energy) for pair in pairs]
    yield LessonVerdict(
        "html: the longer the path, the more concurrency saves",
        saved[0] > 0 and all(after >= before + MORE for before, after in pairwise(saved)),
        ", ".join(f"{name.split('/')[0]} {share:.0%}" for name, share in zip(html, saved, strict=True)),
        "50, 65 and 70 %",
    )


def _find_rtt_s(name: str) -> float:
    return PATHS[name.partition("/")[0]].rtt_s
