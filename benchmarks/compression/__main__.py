"""Compare advice on compression with every candidate: on unknown machines (--data), and on rate-limited transfers.

All settings that the product considers are candidates: each packs and unpacks each file, and is transferred unless that
proves that it cannot be the best. A full run needs the measurements of other machines (--data). Rows are stored in
``var/bench/compression-runs.ndjson``, from which an interrupted benchmark continues.
"""

import argparse
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

from benchmarks.compression.judging import judge_cells
from benchmarks.compression.machines import MachineRecord, judge_unseen_machines, read_machines
from benchmarks.compression.row_store import RowStore
from benchmarks.compression.transfers import Extent, run_transfers, run_transfers_in
from benchmarks.support import report
from benchmarks.support.command import run_command
from benchmarks.wan.runs import RunLog

AT_MOST = {
    "model_error_median": 0.05,
    "model_error_small_median": 0.15,
    "choice_regret_median": 0.03,
    "choice_regret_p90": 0.10,
    "auto_regret_median": 0.03,
    "auto_regret_p90": 0.10,
    "bounds_broken": 0,
    "unseen_machine_regret_median": 0.08,
}
AT_LEAST = {"best_vs_gzip6": 2.0}

WORKSPACE = report.ROOT / "var" / "compression"
RUNS = report.ROOT / "var" / "bench" / "compression-runs.ndjson"
WRONG_USAGE = 2


def main(argv: Sequence[str] | None = None) -> int:
    parser = report.make_parser((__doc__ or "").partition("\n")[0])
    parser.add_argument("--data-only", action="store_true", help="make no transfers")
    options = parser.parse_args(argv)
    machines = [each for folder in options.data for each in read_machines(folder)]
    if not machines and (options.data_only or not options.quick):
        message = "no measurements of other machines, without which a run in full is not judged"
        print(f"compression: {message}; name a folder of squash tables with --data, or --quick", file=sys.stderr)
        return WRONG_USAGE
    return run_command("compression", partial(_run, options, machines), is_resumable=True)


def _run(options: argparse.Namespace, machines: Sequence[MachineRecord]) -> int:
    started_at = datetime.now(UTC)
    results: list[dict[str, Any]] = []
    summary: dict[str, Any] = {}
    if machines:
        rows, found = judge_unseen_machines(machines, quick=options.quick)
        results, summary = results + rows, summary | found
    if not options.data_only:
        rows, found = _run_transfers(options)
        results, summary = results + rows, summary | found
    report.write_report(
        "compression",
        quick=options.quick,
        smoke=options.smoke,
        results=results,
        summary=summary,
        started_at=started_at,
    )
    return 0 if options.quick else report.judge_summary(summary, AT_MOST, AT_LEAST, is_complete=not options.data_only)


def _run_transfers(options: argparse.Namespace) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Make the transfers; return a row for each cell, and the figures over all of them."""
    extent = Extent.SMOKE if options.smoke else Extent.QUICK if options.quick else Extent.FULL
    with report.open_scratch_folder("compression", RUNS.parent, is_removed=options.smoke or options.quick) as folder:
        store = RowStore.of(RunLog(folder / RUNS.name), quick=options.quick)
        if options.smoke:  # a folder that it shares with no other run
            return judge_cells(run_transfers_in(folder, store, extent, seed=options.seed))
        return judge_cells(run_transfers(WORKSPACE, store, extent, seed=options.seed))


if __name__ == "__main__":
    sys.exit(main())
