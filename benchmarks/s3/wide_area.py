"""Copies over emulated wide-area paths, with real TCP to a real store: ours without history, and peers.

A cell is a path, a kind of files and a direction. Runs alternate, and each is stored as soon as it is made, so that an
interrupted table continues.
"""

import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.s3.gateway import PORT, RunningStore, fill_bucket, remove_objects, run_gateway, run_gateway_at
from benchmarks.s3.loopback import DOWN, UP
from benchmarks.s3.tools import OURS, STORE_TOOLS, Places, StoreTool, make_environment
from benchmarks.support.precedence import take_precedence
from benchmarks.support.report import ROOT, Value
from benchmarks.support.sources import digest_parts, digest_values
from benchmarks.testbed.data_sets import (
    Kind,
    SizeLists,
    compute_bytes_to_fill,
    draw_sizes,
    read_size_lists,
    write_files,
)
from benchmarks.testbed.measured_run import CUT_S, MeasuredRun, run_measured
from benchmarks.testbed.origins import is_listening
from benchmarks.testbed.permissions import require_permission
from benchmarks.testbed.soundness import find_disturbance, repeat_until_undisturbed
from benchmarks.testbed.testbed import Testbed
from benchmarks.wan.cells import ALL_CELLS, Cell
from benchmarks.wan.cells import select_cells as select_by_name
from benchmarks.wan.runs import PARTS, Row, RunLog

RUNS = ROOT / "var" / "bench" / "s3-runs.ndjson"
QUICK_PATH, REPEATS, FILL_S, QUICK_FILL_S = "100M-60ms", 3, 15.0, 6.0
_SETTLED = "sent"
_SIZES_FOLDER = "file_sizes"
_SMOKE_SIZES: SizeLists = {Kind.HTML: (20_000, 40_000), Kind.IMAGE: (300_000,), Kind.VIDEO: (2_000_000,)}
_SMOKE_CUT_S, _SMOKE_BYTES = 120.0, 400_000.0
_SOURCES = {
    "ours": (*PARTS["controller"], "clients/python/tradewind_agent/stores"),
    "testbed": (*PARTS["testbed"], "benchmarks/s3"),
}


@dataclass(frozen=True, slots=True)
class _Bench:
    """One cell's testbed, and how runs on it are made."""

    cell: Cell
    bed: Testbed
    store: RunningStore
    sent: Path
    files: str
    folder: Path
    cut_s: float
    is_prioritised: bool

    def run(self, tool: StoreTool, direction: str) -> MeasuredRun:
        """Run a tool once, into an empty folder or below an empty prefix."""
        with tempfile.TemporaryDirectory(dir=self.folder, prefix="run-") as name:
            home, got = Path(name) / "home", Path(name) / "got"
            home.mkdir()
            got.mkdir()
            log = Path(name) / "log"
            below = self.store.bucket_folder / _SETTLED
            places = Places(self.store.url, "set/", got)
            command, target = tool.download(places), got
            if direction == UP:
                command = tool.upload(Places(self.store.url, f"{_SETTLED}/", self.sent))
                target = below
            run = run_measured(
                self.bed,
                self.bed.clients[0],
                command,
                target,
                cut_s=self.cut_s,
                environment=make_environment(home, self.store.url),
                log=log,
            )
            remove_objects(self.store, _SETTLED)
            run.require_moved(f"{self.cell.name}, {direction}, {tool.name}", log)
            return run


def select_cells(names: Sequence[str] | None, *, quick: bool, smoke: bool) -> Sequence[Cell]:
    """Return the cells to measure: all, those of one path in a quick run, one in the smallest."""
    cells = [cell for cell in ALL_CELLS if not quick or cell.path_name == QUICK_PATH]
    return cells[:1] if smoke else select_by_name(cells, names)


def measure_paths(
    work: Path, cells: Sequence[Cell], data: Sequence[Path], *, seed: int, quick: bool, smoke: bool
) -> tuple[list[dict[str, Value]], dict[str, Value]]:
    """Measure the cells; return a row for each tool in each, and the figures over all of them."""
    require_permission()
    lists = _SMOKE_SIZES if smoke else _find_size_lists(data)
    log = RunLog(work / "runs.ndjson" if smoke else RUNS)
    rows: list[dict[str, Value]] = []
    ratios: list[float] = []
    with take_precedence() as is_prioritised:
        for cell in cells:
            fill_s = QUICK_FILL_S if quick else FILL_S
            least_bytes = _SMOKE_BYTES if smoke else compute_bytes_to_fill(cell.path, fill_s)
            sizes = draw_sizes(cell.kind, lists, least_bytes, seed)
            cut_s = _SMOKE_CUT_S if smoke else CUT_S
            with _set_up(work, cell, sizes, seed, cut_s, is_prioritised=is_prioritised and not smoke) as bench:
                for direction in (DOWN, UP):
                    found = _measure_alternately(bench, direction, log, 1 if quick else REPEATS)
                    rows += _make_rows(bench, direction, found)
                    ratios.append(_compare_with_best_default(found))
    return rows, {
        "cells": len(ratios),
        "unseen_vs_best_default_min": min(ratios),
        "unseen_vs_best_default_median": statistics.median(ratios),
    }


def _find_size_lists(data: Sequence[Path]) -> SizeLists:
    found = next((folder / _SIZES_FOLDER for folder in data if (folder / _SIZES_FOLDER).is_dir()), data[0])
    return read_size_lists(found)


@contextmanager
def _set_up(
    work: Path, cell: Cell, sizes: Sequence[int], seed: int, cut_s: float, *, is_prioritised: bool
) -> Iterator[_Bench]:
    """Set up a cell: its files in a bucket, the path, and the store at its other end."""
    with tempfile.TemporaryDirectory(dir=work, prefix="cell-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        write_files(folder / "files", sizes, seed)
        root = folder / "store"
        with run_gateway(root, folder) as near:  # without the path in between
            fill_bucket(near, "set/", folder / "files")
        with Testbed(cell.path, seed=seed) as bed, _run_gateway_on(bed, root) as store:
            yield _Bench(
                cell=cell,
                bed=bed,
                store=store,
                sent=folder / "files",
                files=digest_values(list(sizes)),
                folder=folder,
                cut_s=cut_s,
                is_prioritised=is_prioritised and bed.link.is_real_time,
            )


@contextmanager
def _run_gateway_on(bed: Testbed, root: Path) -> Iterator[RunningStore]:
    """Serve ``root`` on the testbed's server host."""
    host = bed.server.address

    def start(command: Sequence[str], log: Path) -> "subprocess.Popen[bytes]":
        return bed.start(bed.server, command, log=log)

    with run_gateway_at(root, f"{host}:{PORT}", bed.folder / "gateway.log", start, lambda: is_listening(bed, PORT)):
        yield RunningStore(f"http://{host}:{PORT}", root)


def _measure_alternately(bench: _Bench, direction: str, log: RunLog, repeats: int) -> Mapping[str, Sequence[Row]]:
    """Return the rows of each tool; each repeat starts with another one."""
    rows: dict[str, list[Row]] = {tool.name: [] for tool in STORE_TOOLS}
    for repeat in range(repeats):
        first = repeat % len(STORE_TOOLS)
        for tool in (*STORE_TOOLS[first:], *STORE_TOOLS[:first]):
            key = _build_key(bench, direction, tool, repeat)
            row = log.find(key) or log.add(key, _run_undisturbed(bench, direction, tool))
            rows[tool.name].append(row)
            what = f"{bench.cell.name} {direction} {tool.name}"
            sys.stderr.write(f"  {what}: {float(row['throughput_bps']) / 1e6:.1f} Mbit/s\n")
    return rows


def _run_undisturbed(bench: _Bench, direction: str, tool: StoreTool) -> Row:
    def find_fault(run: MeasuredRun) -> str | None:
        return find_disturbance(run.path, run.share, rtt_s=bench.cell.path.rtt_s, prioritised=bench.is_prioritised)

    name = f"{bench.cell.name}, {direction}, {tool.name}"
    run = repeat_until_undisturbed(name, lambda: bench.run(tool, direction), find_fault)
    return {
        "throughput_bps": run.throughput_bps,
        "cpu_s": run.cpu_s,
        "j_per_gb": run.compute_per_gb(run.compute_modelled_energy_j()),
        "is_cut": run.cut,
    }


def _build_key(bench: _Bench, direction: str, tool: StoreTool, repeat: int) -> str:
    """Return what the figures of a run depend on."""
    digests = digest_parts(_SOURCES)
    sources = digests["testbed"] + (digests["ours"] if tool.name == OURS else "")
    path = f"{bench.cell.name}; {bench.cell.path}; {direction}"
    return f"{path}; {tool.name}; repeat {repeat}; {bench.files}; cut {bench.cut_s:g}; {sources}"


def _make_rows(bench: _Bench, direction: str, found: Mapping[str, Sequence[Row]]) -> Iterator[dict[str, Value]]:
    for name, rows in found.items():
        yield {
            "case": f"{bench.cell.name}, {direction}: {name}",
            "mbps": statistics.median(float(row["throughput_bps"]) for row in rows) / 1e6,
            "j_per_gb": statistics.median(float(row["j_per_gb"]) for row in rows),
            "cut_runs": sum(bool(row["is_cut"]) for row in rows),
        }


def _compare_with_best_default(found: Mapping[str, Sequence[Row]]) -> float:
    medians = {name: statistics.median(float(row["throughput_bps"]) for row in rows) for name, rows in found.items()}
    return medians.pop(OURS) / max(medians.values())
