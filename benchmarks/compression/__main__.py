"""Advice on compression against every candidate: on machines never seen (--data), and on rate-limited transfers."""

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from benchmarks import report
from benchmarks.compression.machines import read, unseen_machines
from benchmarks.compression.transfers import figures, transferred

AT_MOST = {
    "model_error_median": 0.05,
    "model_error_small_median": 0.15,
    "choice_regret_median": 0.03,
    "choice_regret_p90": 0.10,
    "unseen_machine_regret_median": 0.08,
}
AT_LEAST = {"best_vs_gzip6": 2.0}

WORKSPACE = report.ROOT / "var" / "compression"


def main(argv: Sequence[str] | None = None) -> int:
    parser = report.arguments(__doc__ or "")
    parser.add_argument("--data-only", action="store_true", help="leave the transfers out")
    options = parser.parse_args(argv)
    started_at = datetime.now(UTC)
    results: list[dict[str, Any]] = []
    summary: dict[str, Any] = {}
    measured = [each for folder in options.data for each in read(folder)]
    if options.data_only and not measured:
        print("compression: no measurements; name a folder of squash tables with --data", file=sys.stderr)
        return 2
    if measured:
        rows, told = unseen_machines(measured, quick=options.quick)
        results, summary = results + rows, summary | told
    if not options.data_only:
        rows, told = figures(transferred(WORKSPACE, quick=options.quick, seed=options.seed))
        results, summary = results + rows, summary | told
    report.write("compression", quick=options.quick, results=results, summary=summary, started_at=started_at)
    return 0 if options.quick else report.judge(summary, AT_MOST, AT_LEAST, whole=False)


if __name__ == "__main__":
    sys.exit(main())
