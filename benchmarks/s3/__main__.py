"""Copies from and to an object store, ours and those of awscli, boto3[crt], rclone and s3cmd at their defaults.

On the loopback the processor counts, and over emulated wide-area paths the rate; uploads are broken off on the way. The
store is a real gateway in all of them. Over the paths ours copies with history, too, and the best static setting of
each tool is searched for. The paths need root (or user namespaces) and ``--data`` with a folder ``file_sizes``; without
it only the loopback is measured.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from benchmarks.s3.faults import measure_faults
from benchmarks.s3.gateway import find_gateway
from benchmarks.s3.loopback import FULL, QUICK, SMOKE, measure_loopback
from benchmarks.s3.wide_area import PathPlan, measure_paths, select_cells
from benchmarks.support.command import run_command
from benchmarks.support.report import Value, judge_summary, make_parser, write_report
from benchmarks.testbed.permissions import become_root_of_a_user_namespace
from tradewind.units import MIB

AT_MOST = {"small_cpu_vs_awscli": 0.5, "small_cpu_vs_rclone": 1.0, "peak_rss_mb": 256.0}
AT_MOST |= {"uploads_left_open": 0.0, "wrong_objects": 0.0}
AT_LEAST = {"large_rate_vs_rclone": 0.9, "unseen_vs_best_default_min": 0.9}
FAULT_BYTES, SMOKE_FAULT_BYTES = 200 * MIB, 12 * MIB


def main(argv: Sequence[str]) -> int:
    """Measure, print and write ``var/bench/s3.json``; return 1 where a bound was missed."""
    parser = make_parser(__doc__.partition("\n")[0])
    parser.add_argument("--cells", nargs="+", metavar="CELL", help="only these paths and files, such as html/60ms")
    parser.add_argument("--paths-only", action="store_true", help="measure nothing on the loopback")
    options = parser.parse_args(argv)
    if options.data or options.smoke:
        become_root_of_a_user_namespace([sys.executable, "-P", "-m", "benchmarks.s3", *argv])
    return run_command("s3", partial(_run, options), is_resumable=True)


def _run(options: argparse.Namespace) -> int:
    find_gateway()
    started_at = datetime.now(UTC)
    results: list[dict[str, Value]] = []
    summary: dict[str, Value] = {}
    with tempfile.TemporaryDirectory(prefix="tradewind-s3-") as folder:
        work = Path(folder)
        work.chmod(0o755)
        parts = [] if options.paths_only else [partial(_measure_here, work, options)]
        if options.data or options.smoke:
            cells = select_cells(options.cells, quick=options.quick, smoke=options.smoke)
            plan = PathPlan.choose(options.seed, quick=options.quick, smoke=options.smoke)
            parts.append(partial(measure_paths, work, cells, options.data, plan))
        for measure in parts:
            rows, found = measure()
            results, summary = results + rows, summary | found
    write_report(
        "s3", quick=options.quick, smoke=options.smoke, results=results, summary=summary, started_at=started_at
    )
    if options.quick:
        return 0
    return judge_summary(summary, AT_MOST, AT_LEAST, is_complete=bool(options.data) and not options.paths_only)


def _measure_here(work: Path, options: argparse.Namespace) -> tuple[list[dict[str, Value]], dict[str, Value]]:
    """Measure on the loopback."""
    results, summary = measure_loopback(
        work, SMOKE if options.smoke else QUICK if options.quick else FULL, options.seed
    )
    rows, found = measure_faults(work, SMOKE_FAULT_BYTES if options.smoke else FAULT_BYTES, options.seed)
    return results + rows, summary | found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
