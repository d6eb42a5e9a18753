"""Processor time, rate and memory of copies on the loopback, ours and those of the peers."""

import statistics
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.engine.rounds import Costs, make_cost_rows, run_alternately
from benchmarks.engine.running import Cost, run_program
from benchmarks.engine.workload import FileSet, write_files
from benchmarks.s3.gateway import RunningStore, fill_bucket, remove_objects, run_gateway
from benchmarks.s3.tools import AWSCLI, OURS, RCLONE, STORE_TOOLS, Places, StoreTool, make_environment
from benchmarks.support.direction import Direction
from benchmarks.support.report import Value
from tradewind.units import KIB, MIB


@dataclass(frozen=True, slots=True)
class RunSize:
    """The size of a run: ``small_objects`` of ``small_bytes`` each, one object of ``large_bytes``."""

    rounds: int
    small_objects: int
    large_bytes: int
    small_bytes: int = 6 * KIB


FULL = RunSize(rounds=5, small_objects=2_000, large_bytes=1_000_000_000)
QUICK = RunSize(rounds=1, small_objects=500, large_bytes=200_000_000)
SMOKE = RunSize(rounds=1, small_objects=10, large_bytes=MIB)


def measure_loopback(work: Path, scale: RunSize, seed: int) -> tuple[list[dict[str, Value]], dict[str, Value]]:
    """Return a row for each tool and case, and the figures of the loopback.

    Each round runs every tool once; a figure is the median of the rounds' ratios, the worse one of the two directions.
    """
    small = write_files(work / "small", scale.small_objects, scale.small_bytes, seed)
    large = write_files(work / "large", 1, scale.large_bytes, seed)
    results: list[dict[str, Value]] = []
    costs: dict[tuple[str, str], Costs] = {}
    with run_gateway(work / "store", work) as store:
        for name, files in (("small", small), ("large", large)):
            fill_bucket(store, f"{name}/", files.folder)
            for direction in Direction:
                runs = {
                    tool.name: _ToolRun(work, store, files, f"{name}/", tool, direction).run for tool in STORE_TOOLS
                }
                found = costs[name, direction] = run_alternately(runs, scale.rounds)
                results += make_cost_rows(f"{name}, {direction}", found)
    return results, _summarise(costs)


def _summarise(costs: Mapping[tuple[str, str], Costs]) -> dict[str, Value]:
    def find_worst(name: str, peer: str, *, by: str) -> float:
        return max(compare(costs[name, direction], peer, by) for direction in Direction)

    peaks = [cost.peak_rss_mb for found in costs.values() for cost in found[OURS] if cost.peak_rss_mb is not None]
    return {
        "small_cpu_vs_awscli": find_worst("small", AWSCLI, by="cpu_s"),
        "small_cpu_vs_rclone": find_worst("small", RCLONE, by="cpu_s"),
        "large_rate_vs_rclone": 1 / find_worst("large", RCLONE, by="wall_s"),
        "peak_rss_mb": max(peaks, default=None),
    }


def compare(costs: Costs, peer: str, by: str) -> float:
    """Return the median of the rounds' ratios of ours to a peer's."""
    pairs = zip(costs[OURS], costs[peer], strict=True)
    return statistics.median(float(getattr(ours, by)) / float(getattr(peers, by)) for ours, peers in pairs)


@dataclass(frozen=True, slots=True)
class _ToolRun:
    work: Path
    store: RunningStore
    files: FileSet
    prefix: str
    tool: StoreTool
    direction: Direction

    def run(self) -> Cost:
        """Run the tool once, compare what arrived, and remove it."""
        with tempfile.TemporaryDirectory(dir=self.work, prefix="run-") as folder:
            scratch, destination = Path(folder) / "home", Path(folder) / "got"
            scratch.mkdir()
            destination.mkdir()
            environment = make_environment(scratch, self.store.url)
            if self.direction is Direction.DOWN:
                command = self.tool.download(Places(self.store.url, self.prefix, destination))
                cost = run_program(command, environment, scratch / "log")
                self.files.check(destination)
                return cost
            command = self.tool.upload(Places(self.store.url, "sent/", self.files.folder))
            try:
                cost = run_program(command, environment, scratch / "log")
                self.files.check(self.store.bucket_folder / "sent")
                return cost
            finally:
                remove_objects(self.store, "sent")
