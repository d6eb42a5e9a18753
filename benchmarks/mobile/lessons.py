"""What the mobile paper learned, and whether it holds of these runs; each verdict with its figures."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from statistics import median

from benchmarks.mobile.cells import LONGEST, PAPERS_COMBINED_SAVING, PAPERS_HTML_SAVING, PATHS
from benchmarks.wan.runs import Row

HTML_SAVING_WANTED = 0.60
HELPS = 0.05
"""A smaller change of the energy is none."""

MORE = 0.01
"""Share of the energy: less is no lesson, however surely it is measured."""

Energy = Callable[[Row], float]


class Contest(StrEnum):
    """Lessons in which one setting has to beat another: the best of many is better than the rest by chance alone."""

    INTERIOR = "interior"
    COMBINED = "combined"
    CONCURRENCY = "concurrency"
    SAVING = "saving"


Pair = tuple[Sequence[Row], Sequence[Row]]
"""The runs of both settings of a contest, made afresh by turns: first of the one that is to take less."""
Fresh = Mapping[Contest, Pair]


@dataclass(frozen=True, slots=True)
class Verdict:
    """``papers`` : the paper's figure, quoted; of other hardware, never compared joule by joule."""

    lesson: str
    held: bool
    figures: str
    papers: str

    def line(self) -> str:
        return f"{'held' if self.held else 'NOT held'}: {self.lesson}: {self.figures} (the paper: {self.papers})"


def saving(rows: Sequence[Row], energy: Energy, *, along: str | None = None) -> tuple[float, Row]:
    """Share of the energy of one file and one stream that the best setting saves, and that setting.

    ``along`` : only settings that differ in this parameter; any by default.
    """
    other = {"concurrency": "parallelism", "parallelism": "concurrency"}
    chosen = [row for row in rows if along is None or row[other[along]] == 1]
    best = min(chosen, key=energy)
    return 1 - energy(best) / energy(_start(rows)), best


def saving_afresh(pair: Pair, energy: Energy) -> float:
    """Share of the second setting's energy that the first saves, by the medians of runs made afresh."""
    less, more = (median(map(energy, rows)) for rows in pair)
    return 1 - less / more


def _start(rows: Sequence[Row]) -> Row:
    return next(row for row in rows if row["concurrency"] == 1 and row["parallelism"] == 1)


def contests(data_set: str, rows: Sequence[Row], energy: Energy) -> Mapping[Contest, tuple[Row, Row]]:
    """The settings that a data set's lessons want run afresh; none where the first is not ahead at all.

    Whatever the data set, the best setting is run again beside one file and one stream: the best of many single
    runs is partly luck.
    """
    found: dict[Contest, tuple[Row, Row]] = {}
    start, best = _start(rows), min(rows, key=energy)
    if best is not start:
        found[Contest.SAVING] = (best, start)
    if data_set == "html" and (most_saving := min(_along_concurrency(rows), key=energy)) is not start:
        found[Contest.CONCURRENCY] = (most_saving, start)
    if data_set in ("image", "video"):
        along = _along_concurrency(rows)
        best = min(along, key=energy)
        if best is not along[-1]:
            found[Contest.INTERIOR] = (best, along[-1])
    if data_set == "video":  # of one large file there is nothing to send at once
        best = min(rows, key=energy)
        single = min((row for row in rows if 1 in (row["concurrency"], row["parallelism"])), key=energy)
        if best is not single:
            found[Contest.COMBINED] = (best, single)
    return found


def surely_less(less: Sequence[Row], more: Sequence[Row], energy: Energy) -> bool:
    """Whether every run of the one took less than any of the other, and the medians differ by `MORE`.

    Of four and four alike that comes by chance once in 70 times.
    """
    apart = max(map(energy, less)) < min(map(energy, more))
    return apart and median(map(energy, more)) >= (1 + MORE) * median(map(energy, less))


def verdicts(
    grounds: Mapping[str, Sequence[Row]], fresh: Mapping[str, Fresh], energy: Energy, dynamic: Energy
) -> Iterator[Verdict]:
    """The lessons on the grounds that were measured, named ``path/data set``.

    ``energy`` judges; ``dynamic`` : E_d alone, of which the paper tells what concurrency saves, to be told beside it.
    """
    for name, rows in grounds.items():
        path, data_set = name.split("/")
        again = fresh.get(name, {})
        if data_set == "html":
            yield _concurrency(path, again.get(Contest.CONCURRENCY), energy, dynamic)
        yield _parallelism(path, data_set, rows, energy)
        if data_set in ("image", "video"):
            yield _interior(path, data_set, again.get(Contest.INTERIOR), energy)
        if data_set == "video":
            yield _combined(path, data_set, again.get(Contest.COMBINED), rows, energy)
    yield from _longer_paths(grounds, fresh, energy)


def _concurrency(path: str, pair: Pair | None, energy: Energy, dynamic: Energy) -> Verdict:
    saved = 0.0 if pair is None else saving_afresh(pair, energy)
    figures = "one file at a time takes least"
    if pair is not None:
        best, one = pair
        figures = f"{saved:.0%} at {best[0]['concurrency']} files at once: {_told(best, energy)}, one at a time "
        figures += f"{_told(one, energy)}; of dynamic energy alone {saving_afresh(pair, dynamic):.0%}"
    papers = PAPERS_HTML_SAVING.get(path, PAPERS_HTML_SAVING[LONGEST])
    return Verdict(
        f"{path}, html: concurrency cuts energy by {HTML_SAVING_WANTED:.0%} or more",
        saved >= HTML_SAVING_WANTED,
        figures,
        f"{papers:.0%} of dynamic energy",
    )


def _parallelism(path: str, data_set: str, rows: Sequence[Row], energy: Energy) -> Verdict:
    saved, best = saving(rows, energy, along="parallelism")
    helps = data_set in ("video", "large")
    papers = {"video": "45 % less", "large": "32 % less with 16 streams"}.get(data_set, "more energy with more streams")
    return Verdict(
        f"{path}, {data_set}: streams a file {'help' if helps else 'do not help'} one file at a time",
        (saved >= HELPS) == helps,
        f"{saved:.0%} less at {best['parallelism']} streams",
        papers,
    )


def _along_concurrency(rows: Sequence[Row]) -> list[Row]:
    return sorted((row for row in rows if row["parallelism"] == 1), key=lambda row: int(row["concurrency"]))


def _interior(path: str, data_set: str, pair: Pair | None, energy: Energy) -> Verdict:
    figures = "least at the most files at once"
    if pair is not None:
        least, most = pair
        figures = f"{least[0]['concurrency']} files at once take {_told(least, energy)}, "
        figures += f"{most[0]['concurrency']} {_told(most, energy)}"
    return Verdict(
        f"{path}, {data_set}: the least energy is at fewer files at once than the most",
        pair is not None and surely_less(*pair, energy),
        figures,
        "least at about 16, rising from there on",
    )


def _combined(path: str, data_set: str, pair: Pair | None, rows: Sequence[Row], energy: Energy) -> Verdict:
    figures = "no setting of both is ahead"
    if pair is not None:
        combined, single = (f"{_setting(each[0])} takes {_told(each, energy)}" for each in pair)
        figures = f"{combined}, {single}; {saving(rows, energy)[0]:.0%} less than one file and stream"
    return Verdict(
        f"{path}, {data_set}: both parameters together save more than either alone",
        pair is not None and surely_less(*pair, energy),
        figures,
        f"{PAPERS_COMBINED_SAVING:.0%} together, 70 % by one alone",
    )


def _setting(row: Row) -> str:
    return f"cc {row['concurrency']} p {row['parallelism']}"


def _told(rows: Sequence[Row], energy: Energy) -> str:
    spent = [energy(row) for row in rows]
    return f"{median(spent):.1f} J ({min(spent):.1f} to {max(spent):.1f})"


def _longer_paths(
    grounds: Mapping[str, Sequence[Row]], fresh: Mapping[str, Fresh], energy: Energy
) -> Iterator[Verdict]:
    html = sorted((name for name in grounds if name.endswith("/html")), key=_rtt_s)
    if len(html) < 2:
        return
    pairs = [fresh.get(name, {}).get(Contest.CONCURRENCY) for name in html]
    saved = [0.0 if pair is None else saving_afresh(pair, energy) for pair in pairs]
    yield Verdict(
        "html: the longer the path, the more concurrency saves",
        saved[0] > 0 and all(after >= before + MORE for before, after in pairwise(saved)),
        ", ".join(f"{name.split('/')[0]} {each:.0%}" for name, each in zip(html, saved, strict=True)),
        "50, 65 and 70 %",
    )


def _rtt_s(name: str) -> float:
    return PATHS[name.partition("/")[0]].rtt_s
