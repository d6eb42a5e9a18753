"""The choice on real files and rate-limited sockets, against really transferring by every candidate."""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.compression.files import KINDS, content
from benchmarks.compression.slow_path import slow_path
from tradewind.compression.advice import Question, advise
from tradewind.compression.codecs import Codec, Setting
from tradewind.compression.history import Case, Observation
from tradewind.compression.model import Line, Speeds
from tradewind.compression.prior import packaged_history
from tradewind_agent.compression.copying import copy_packed
from tradewind_agent.compression.path import probed_line
from tradewind_agent.compression.planning import Wish, case_of
from tradewind_agent.compression.sampling import measured, sample_file
from tradewind_agent.compression.wishes import PackedOutcome
from tradewind_agent.copy_listing import list_files
from tradewind_agent.engine.options import EngineOptions

CANDIDATES = (
    Setting(Codec.GZIP, 1),
    Setting(Codec.GZIP, 6),
    Setting(Codec.PIGZ, 6),
    Setting(Codec.PBZIP2, 9),
    Setting(Codec.XZ, 0),
    Setting(Codec.XZ, 6),
    Setting(Codec.ZSTD, 1),
    Setting(Codec.ZSTD, 3),
    Setting(Codec.ZSTD, 9),
    Setting(Codec.LZ4, 1),
    Setting(Codec.BROTLI, 4),
)
QUICK_CANDIDATES = (Setting(Codec.GZIP, 1), Setting(Codec.GZIP, 6), Setting(Codec.XZ, 0), Setting(Codec.ZSTD, 3))
GZIP_6 = Setting(Codec.GZIP, 6)
RATES_MB_PER_S, QUICK_RATES_MB_PER_S = (0.5, 2.0, 5.0, 20.0), (2.0, 20.0)
SIZES_BYTES, QUICK_SIZES_BYTES = (12_000_000, 1_000_000), (1_000_000,)
LARGE_BYTES = 10_000_000
OPTIONS = EngineOptions(durable=False)


@dataclass(slots=True)
class Cell:
    """One file on one path: how long each setting took, and what it made of the file; ``None`` is raw."""

    name: str
    line: Line
    case: Case
    took_s: dict[Setting | None, float] = field(default_factory=dict)
    seen: list[Observation] = field(default_factory=list)

    @property
    def content(self) -> str:
        return self.name.partition("-")[0]


def transferred(folder: Path, *, quick: bool) -> list[Cell]:
    """All cells, each candidate really sent."""
    folder.mkdir(parents=True, exist_ok=True)
    cells = []
    with served(folder / "served") as port:
        for rate in QUICK_RATES_MB_PER_S if quick else RATES_MB_PER_S:
            with slow_path(port, 1e6 * rate) as url:
                line = probed_line(url)
                for source in _sources(folder, QUICK_SIZES_BYTES if quick else SIZES_BYTES):
                    cells.append(_cell(source, rate, line, url, QUICK_CANDIDATES if quick else CANDIDATES))
                    print(f"{cells[-1].name}: {len(cells[-1].took_s)} transfers", file=sys.stderr, flush=True)
    return cells


def _sources(folder: Path, sizes: Sequence[int]) -> Iterator[Path]:
    for name in KINDS:
        for size in sizes:
            source = folder / f"{name}-{size}"
            if not source.exists():
                source.write_bytes(content(name, size))
            yield source


@contextmanager
def served(root: Path) -> Iterator[int]:
    """A writable ``serve-files`` in a process of its own; its port."""
    root.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "tradewind_agent", "serve-files", str(root), "--port", "0", "--writable"]
    with subprocess.Popen([*command, "--no-meter", "--json"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())["port"]
        finally:
            process.terminate()


def _cell(source: Path, rate: float, line: Line, url: str, candidates: Sequence[Setting]) -> Cell:
    sample = sample_file(source)
    cell = Cell(f"{source.name} at {rate:g} MB/s", line, case_of(sample))
    for number, setting in enumerate((None, *candidates)):
        listing = list_files([str(source)], f"{url}{source.name}-{rate:g}-{number}", options=OPTIONS)
        outcomes: list[PackedOutcome] = []
        wish = Wish.raw() if setting is None else Wish(setting)
        report = copy_packed(listing, wish, OPTIONS, on_outcome=outcomes.append)
        assert report.succeeded, report.failures
        cell.took_s[setting] = report.duration_s
        effort = None if setting is None else outcomes[0].work.efforts.get(setting)
        if setting is not None and effort is not None:
            compress_bps = effort.compress_bps * cell.case.cores_for(setting)
            speeds = Speeds(effort.ratio, compress_bps, measured(sample.blocks, setting).decompress_bps)
            cell.seen.append(Observation(case=cell.case, setting=setting, speeds=speeds))
    return cell


def figures(cells: Sequence[Cell]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """A row a cell, and the figures over all of them; each cell is judged by the history of the other files."""
    rows: list[dict[str, Any]] = []
    errors: dict[bool, list[float]] = {True: [], False: []}
    for cell in cells:
        history = packaged_history().extended(
            each for other in cells if other.content != cell.content for each in other.seen
        )
        settings = [setting for setting in cell.took_s if setting is not None]
        advice = advise(Question(case=cell.case, line=cell.line, settings=settings), history)
        off = [abs(option.duration_s / cell.took_s[option.setting] - 1) for option in advice.options]
        errors[cell.case.file_bytes >= LARGE_BYTES] += off
        rows.append(_row(cell, advice.best.setting, median(off)))
    regrets = sorted(row["regret"] for row in rows)
    return rows, {
        "model_error_median": median(errors[True]) if errors[True] else None,
        "model_error_small_median": median(errors[False]) if errors[False] else None,
        "choice_regret_median": median(regrets),
        "choice_regret_p90": regrets[int(0.9 * len(regrets))],
        "best_vs_gzip6": max(row["gzip6_s"] / row["chosen_s"] for row in rows),
    }


def _row(cell: Cell, chosen: Setting | None, model_error: float) -> dict[str, Any]:
    best_s = min(cell.took_s.values())
    best = next(setting for setting, took_s in cell.took_s.items() if took_s == best_s)
    return {
        "case": cell.name,
        "chosen": str(chosen or "raw"),
        "best": str(best or "raw"),
        "raw_s": cell.took_s[None],
        "gzip6_s": cell.took_s[GZIP_6],
        "chosen_s": cell.took_s[chosen],
        "best_s": best_s,
        "regret": 1 - best_s / cell.took_s[chosen],
        "model_error": model_error,
    }
