"""The choice on real files and rate-limited sockets, up and down, against really transferring in every way."""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

from benchmarks.compression.files import KINDS, content
from benchmarks.compression.slow_path import slow_path
from benchmarks.compression.ways import AUTO, RAW, Cell, transfer
from tradewind.compression.advice import Question, advise
from tradewind.compression.codecs import Codec, Setting, parse_setting
from tradewind.compression.history import History
from tradewind.compression.prior import packaged_history
from tradewind_agent.compression.path import probed_line
from tradewind_agent.compression.planning import case_of
from tradewind_agent.compression.sampling import sample_file

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
GZIP_6 = str(Setting(Codec.GZIP, 6))
RATES_MB_PER_S, QUICK_RATES_MB_PER_S = (0.5, 2.0, 5.0, 20.0), (2.0, 20.0)
SIZES_BYTES, QUICK_SIZES_BYTES = (12_000_000, 1_000_000), (4_000_000,)
LARGE_BYTES = 10_000_000
ROUNDS = 2
"""Transfers of each file in each way, the quicker of which counts: other work of the machine only ever slows."""

SEED = 101
"""Of the files; not that of those that the packaged measurements were made on."""


def transferred(folder: Path, *, quick: bool, seed: int) -> list[Cell]:
    """All cells. On each path files, directions and ways take turns in an order drawn by lot, anew each round."""
    served = folder / "served"
    served.mkdir(parents=True, exist_ok=True)
    files = [file for size in (QUICK_SIZES_BYTES if quick else SIZES_BYTES) for file in _files(folder, served, size)]
    ways = [RAW, AUTO, *map(str, QUICK_CANDIDATES if quick else CANDIDATES)]
    lot, cells = Random(seed), list[Cell]()
    with server(served) as port:
        for rate in QUICK_RATES_MB_PER_S if quick else RATES_MB_PER_S:
            with slow_path(port, 1e6 * rate) as url:
                here = _cells(files, rate, url)
                cells += here
                for number in range(ROUNDS):
                    turns = [(cell, way) for cell in here for way in ways]
                    lot.shuffle(turns)
                    for cell, way in turns:
                        transfer(cell, way, url=url, served=served, history=partial(without, cell, cells))
                    print(f"{rate:g} MB/s, round {number + 1}: {len(turns)} transfers", file=sys.stderr, flush=True)
    return cells


def _files(folder: Path, served: Path, size_bytes: int) -> Iterator[tuple[str, Path]]:
    """One of each content, here and at the server."""
    for name in KINDS:
        made = content(name, size_bytes, SEED)
        for place in (folder, served):
            (place / f"{name}-{size_bytes}").write_bytes(made)
        yield name, folder / f"{name}-{size_bytes}"


def _cells(files: Sequence[tuple[str, Path]], mb_per_s: float, url: str) -> list[Cell]:
    line = probed_line(url)
    return [
        Cell(
            content=name,
            file=file,
            upload=upload,
            mb_per_s=mb_per_s,
            line=line,
            case=case_of(sample),
            sample=sample,
        )
        for name, file in files
        for sample in (sample_file(file),)
        for upload in (True, False)
    ]


@contextmanager
def server(root: Path) -> Iterator[int]:
    """A writable ``serve-files`` in a process of its own; its port."""
    command = [sys.executable, "-m", "tradewind_agent", "serve-files", str(root), "--port", "0", "--writable"]
    with subprocess.Popen([*command, "--no-meter", "--json"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())["port"]
        finally:
            process.terminate()


def without(cell: Cell, cells: Sequence[Cell]) -> History:
    """What is known without the file and all that its maker made: the other contents, as packaged and as seen here."""
    others = (seen for other in cells if other.content != cell.content for seen in other.seen.values())
    return packaged_history(KINDS[cell.content]).extended(others)


def figures(cells: Sequence[Cell]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """A row a cell, and the figures over all of them; each cell is judged by a history without its content."""
    rows: list[dict[str, Any]] = []
    errors: dict[bool, list[float]] = {True: [], False: []}
    for cell in cells:
        settings = [parse_setting(way) for way in cell.took_s if way not in (RAW, AUTO)]
        advice = advise(Question(case=cell.case, line=cell.line, settings=settings), without(cell, cells))
        off = [abs(option.duration_s / cell.took_s[str(option.setting or RAW)] - 1) for option in advice.options]
        errors[cell.case.file_bytes >= LARGE_BYTES] += off
        rows.append(_row(cell, str(advice.best.setting or RAW), median(off)))
    regrets, of_auto = (sorted(row[name] for row in rows) for name in ("regret", "auto_regret"))
    return rows, {
        "model_error_median": median(errors[True]) if errors[True] else None,
        "model_error_small_median": median(errors[False]) if errors[False] else None,
        "choice_regret_median": median(regrets),
        "choice_regret_p90": regrets[int(0.9 * len(regrets))],
        "auto_regret_median": median(of_auto),
        "auto_regret_p90": of_auto[int(0.9 * len(of_auto))],
        "best_vs_gzip6": max(row["gzip6_s"] / row["chosen_s"] for row in rows),
    }


def _row(cell: Cell, chosen: str, model_error: float) -> dict[str, Any]:
    fixed = {way: took_s for way, took_s in cell.took_s.items() if way != AUTO}
    best = min(fixed, key=lambda way: fixed[way])
    return {
        "case": cell.name,
        "chosen": chosen,
        "best": best,
        "raw_s": fixed[RAW],
        "gzip6_s": fixed[GZIP_6],
        "chosen_s": fixed[chosen],
        "auto_s": cell.took_s[AUTO],
        "best_s": fixed[best],
        "regret": 1 - fixed[best] / fixed[chosen],
        "auto_regret": 1 - fixed[best] / cell.took_s[AUTO],
        "model_error": model_error,
    }
