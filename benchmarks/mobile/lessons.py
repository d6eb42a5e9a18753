"""What the mobile paper learned, and whether it holds of these runs; each verdict with its figures."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.mobile.cells import LONGEST, PAPERS_COMBINED_SAVING, PAPERS_HTML_SAVING
from benchmarks.wan.runs import Row

HTML_SAVING_WANTED = 0.60
HELPS = 0.05
"""A smaller change of the energy is none."""

MORE = 0.01
"""Share of the energy: the best of many settings is a little better than the best of few by chance alone."""

Energy = Callable[[Row], float]


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
    start = next(row for row in rows if row["concurrency"] == 1 and row["parallelism"] == 1)
    best = min(chosen, key=energy)
    return 1 - energy(best) / energy(start), best


def verdicts(grounds: Mapping[str, Sequence[Row]], energy: Energy) -> Iterator[Verdict]:
    """The lessons on the grounds that were measured, named ``path/data set``."""
    for name, rows in grounds.items():
        path, data_set = name.split("/")
        if data_set == "html":
            yield _concurrency(path, rows, energy)
        yield _parallelism(path, data_set, rows, energy)
        if data_set in ("image", "video"):
            yield _interior(path, data_set, rows, energy)
        if data_set == "video":  # of one large file there is nothing to send at once
            yield _combined(path, data_set, rows, energy)
    yield from _longer_paths(grounds, energy)


def _concurrency(path: str, rows: Sequence[Row], energy: Energy) -> Verdict:
    saved, best = saving(rows, energy, along="concurrency")
    papers = PAPERS_HTML_SAVING.get(path, PAPERS_HTML_SAVING[LONGEST])
    return Verdict(
        f"{path}, html: concurrency cuts energy by {HTML_SAVING_WANTED:.0%} or more",
        saved >= HTML_SAVING_WANTED,
        f"{saved:.0%} at {best['concurrency']} files at once",
        f"{papers:.0%}",
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


def _interior(path: str, data_set: str, rows: Sequence[Row], energy: Energy) -> Verdict:
    along = sorted((row for row in rows if row["parallelism"] == 1), key=lambda row: int(row["concurrency"]))
    best = min(along, key=energy)
    rise = energy(along[-1]) / energy(best) - 1
    return Verdict(
        f"{path}, {data_set}: the least energy is at fewer files at once than the most",
        best["concurrency"] < along[-1]["concurrency"],
        f"least at {best['concurrency']}, {rise:.1%} more at {along[-1]['concurrency']}",
        "least at about 16, rising from there on",
    )


def _combined(path: str, data_set: str, rows: Sequence[Row], energy: Energy) -> Verdict:
    combined, best = saving(rows, energy)
    single = max(saving(rows, energy, along=axis)[0] for axis in ("concurrency", "parallelism"))
    return Verdict(
        f"{path}, {data_set}: both parameters together save more than either alone",
        combined >= single + MORE,
        f"{combined:.1%} at cc {best['concurrency']} p {best['parallelism']}, {single:.1%} by one alone",
        f"{PAPERS_COMBINED_SAVING:.0%} together, 70 % by one alone",
    )


def _longer_paths(grounds: Mapping[str, Sequence[Row]], energy: Energy) -> Iterator[Verdict]:
    html = {name: rows for name, rows in grounds.items() if name.endswith("/html")}
    if len(html) < 2:
        return
    saved = [saving(rows, energy, along="concurrency")[0] for rows in html.values()]
    yield Verdict(
        "html: the longer the path, the more concurrency saves",
        saved == sorted(saved),
        ", ".join(f"{name.split('/')[0]} {each:.0%}" for name, each in zip(html, saved, strict=True)),
        "50, 65 and 70 %",
    )
