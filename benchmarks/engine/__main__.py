"""Processor and wall time of copies on the loopback, ours and that of curl -Z, rclone, aria2 and wget2, down and up.

Each round runs every tool once, at its defaults, beginning with another one; a figure is the median of the rounds'
ratios. The bytes that arrived are compared in each run. The server's processor time is not counted. Small files are of
one folder, which ours and rclone list themselves; the other tools get a list.
"""

import statistics
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.engine.rounds import Costs, make_cost_rows, run_alternately
from benchmarks.engine.running import Cost, run_program
from benchmarks.engine.servers import run_nginx, run_serve_files
from benchmarks.engine.start import measure_first_request, measure_listing
from benchmarks.engine.tools import CURL, DOWNLOADERS, OURS, RCLONE, UPLOADERS
from benchmarks.engine.workload import FULL, QUICK, SMOKE, FileSet, Scale, write_files
from benchmarks.support.command import run_command
from benchmarks.support.report import Value, judge_summary, make_parser, write_report
from benchmarks.testbed.peers import Job, clean_environment

AT_MOST = {
    "small_cpu_vs_rclone": 1.0,
    "small_cpu_vs_curl": 2.2,
    "small_wall_vs_rclone": 1.0,
    "large_cpu_vs_curl": 1.1,
    "large_wall_vs_curl": 1.1,
    "upload_small_cpu_vs_curl": 2.2,
    "upload_large_cpu_vs_curl": 1.1,
    "first_request_s": 0.20,
    "first_request_vs_python": 4.0,
    "listing_peak_rss_mb": 64.0,
}
SERVERS: Mapping[str, Callable[[Path, Path], AbstractContextManager[str]]] = {
    "nginx": run_nginx,
    "serve-files": run_serve_files,
}


def main(argv: Sequence[str]) -> int:
    """Measure, print and write ``var/bench/engine.json``; return 1 where a bound was missed."""
    options = make_parser(__doc__.partition("\n")[0]).parse_args(argv)
    scale = SMOKE if options.smoke else QUICK if options.quick else FULL
    started_at = datetime.now(UTC)
    with tempfile.TemporaryDirectory(prefix="tradewind-engine-") as folder:
        work = Path(folder)
        work.chmod(0o755)  # servers may run as another account
        results, summary = _measure_all(work, scale, options.seed)
    write_report(
        "engine", quick=options.quick, smoke=options.smoke, results=results, summary=summary, started_at=started_at
    )
    return judge_summary(summary, {} if options.quick else AT_MOST)


def _measure_all(work: Path, scale: Scale, seed: int) -> tuple[list[dict[str, Value]], dict[str, Value]]:
    small = write_files(work / "small", scale.small_files, scale.small_bytes, seed)
    large = write_files(work / "large", 1, scale.large_bytes, seed)
    results: list[dict[str, Value]] = []
    summary: dict[str, Value] = {}
    for name, files in (("small", small), ("large", large)):
        costs = _measure_downloads(work, files, scale.rounds)
        results += make_cost_rows(f"{name}, down from nginx", costs)
        for peer in (CURL, RCLONE):
            summary |= _compare(f"{name}_{{}}_vs_{peer.partition(' ')[0]}", costs, peer)
    for name, files in (("small", small), ("large", large)):
        by_server = {server: _measure_uploads(work, server, files, scale.rounds) for server in SERVERS}
        for server, costs in by_server.items():
            results += make_cost_rows(f"{name}, up to {server}", costs)
        ratios = [_compare(f"upload_{name}_{{}}_vs_curl", costs, CURL) for costs in by_server.values()]
        summary |= {key: max(each[key] for each in ratios) for key in ratios[0]}
    environment = clean_environment(_make_folder(work / "home"))
    first = measure_first_request(work, environment, scale.rounds)
    listing = measure_listing(work, environment, scale.listed_files)
    summary |= {key: first[key] for key in ("first_request_s", "first_request_vs_python")}
    return [*results, first, listing], summary | {"listing_peak_rss_mb": listing["peak_rss_mb"]}


def _measure_downloads(work: Path, files: FileSet, rounds: int) -> Costs:
    with run_nginx(files.folder, work) as url:
        runs = [_ToolRun(work, files, url, tool.name, tool.command) for tool in DOWNLOADERS if tool.is_installed]
        return run_alternately({each.name: each.run for each in runs}, rounds)


def _measure_uploads(work: Path, server: str, files: FileSet, rounds: int) -> Costs:
    received = _make_folder(work / "received")
    with SERVERS[server](received, work) as url:
        runs = [_ToolRun(work, files, url, tool.name, tool.command, received) for tool in UPLOADERS]
        return run_alternately({each.name: each.run for each in runs}, rounds)


@dataclass(frozen=True, slots=True)
class _ToolRun:
    """Runs of a tool; each into a new folder: of this machine, or below ``received``, the server's."""

    work: Path
    files: FileSet
    url: str
    name: str
    command: Callable[[Job], Sequence[str]]
    received: Path | None = None

    def run(self) -> Cost:
        """Run the tool once, compare what arrived, and remove it."""
        with (
            tempfile.TemporaryDirectory(dir=self.received or self.work, prefix="run-") as into,
            tempfile.TemporaryDirectory(dir=self.work) as scratch,
        ):
            destination = Path(into)
            destination.chmod(0o755)
            url, folder = self.url, destination
            if self.received is not None:
                url, folder = f"{self.url}{destination.name}/", self.files.folder
            job = Job(url=url, sizes_bytes=self.files.sizes_bytes, folder=folder, scratch=Path(scratch))
            command, environment = self.command(job), clean_environment(Path(scratch))
            cost = run_program(command, environment, Path(scratch) / "log")
            self.files.check(destination)
            return cost


def _compare(key: str, costs: Costs, peer: str) -> dict[str, float]:
    """Return the medians of the rounds' ratios of ours to a peer's; nothing if it is not installed."""
    pairs = list(zip(costs[OURS], costs.get(peer, ()), strict=False))
    if not pairs:
        return {}
    return {
        key.format("cpu"): statistics.median(ours.cpu_s / baseline.cpu_s for ours, baseline in pairs),
        key.format("wall"): statistics.median(ours.wall_s / baseline.wall_s for ours, baseline in pairs),
    }


def _make_folder(path: Path) -> Path:
    path.mkdir(exist_ok=True)
    path.chmod(0o755)
    return path


if __name__ == "__main__":
    sys.exit(run_command("engine", lambda: main(sys.argv[1:])))
