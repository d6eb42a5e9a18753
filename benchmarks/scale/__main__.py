"""Refresh 10^5 to 10^7 logs: growth, memory, new logs on a few links; workers on hosts, and one host is cut off.

Links grow with the rows, 5,000 rows a link, because that is the harder form: the cost of a fit is bounded, so that a
link that grows costs less a row (`--rows-a-link 50000` shows it). Their ends are shared: eight links have one source,
and all links share eight destinations, so that the transfers of an end grow with the rows.

The cost of a heartbeat, a recommendation and a row is measured as well: `docs/explanation/scale.md` calculates with it.
Rows are stored before the clock starts, see `benchmarks/scale/stored_logs.py`; it stops when the release is current.
The workers are those of `./run serve`, two processes. Databases and figures are in `var/bench/scale`, by their seed:
an interrupted run continues with the size that it had not done, if all is committed. Hosts need root, or permission to
make namespaces.
"""

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial

from benchmarks.scale.costs import LOAD, SMALLEST_LOAD, measure_unit_costs
from benchmarks.scale.growth import measure_growth, summarise
from benchmarks.scale.hosts import LAYOUT, SMALLEST_LAYOUT, measure_cut_off
from benchmarks.scale.stored_logs import FOLDER, Size
from benchmarks.support.command import run_command
from benchmarks.support.report import judge_summary, make_parser, open_scratch_folder, write_report
from benchmarks.support.stored_database import print_now
from benchmarks.testbed.errors import CannotEmulate
from services.processes import NICENESS

ROWS_A_LINK = 5_000
FULL = (100_000, 1_000_000, 10_000_000)
QUICK = (20_000, 50_000, 100_000)
SMOKE = (600,)
AT_MOST = {"growth_exponent": 1.05, "peak_rss_mb": 2_048.0, "incremental_share": 0.05}
"""Bounds of the full sizes; in smaller ones the fixed part of a refresh says more than their rows."""


def main(argv: Sequence[str]) -> int:
    """Measure, print and write ``var/bench/scale.json``; return 1 where a bound was missed or a link lost."""
    parser = make_parser(__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, nargs="+", help="sizes, instead of the usual ones")
    parser.add_argument("--rows-a-link", type=int, default=ROWS_A_LINK)
    parser.add_argument("--minutes", type=float, default=240.0, help="a longer refresh is reported as far as it got")
    options = parser.parse_args(argv)
    started_at = datetime.now(UTC)
    usual = SMOKE if options.smoke else QUICK if options.quick else FULL
    sizes = [Size(rows, max(rows // options.rows_a_link, 1)) for rows in options.rows or usual]
    with open_scratch_folder("scale", FOLDER, is_removed=options.smoke) as folder:
        work = partial(measure_growth, seed=options.seed, patience_s=60 * options.minutes, folder=folder)
        niceness = {} if options.smoke else NICENESS
        results = [work(size, niceness=niceness) for size in sizes]
    hosts = []
    try:
        hosts.append(measure_cut_off(SMALLEST_LAYOUT if options.smoke else LAYOUT, seed=options.seed))
    except CannotEmulate as reason:
        print_now(f"no hosts: {reason}")
    full, new_logs = zip(*results, strict=True)
    found = summarise(full, new_logs)
    cases = [each for both in results for each in both if each is not None]
    costs = measure_unit_costs(SMALLEST_LOAD if options.smoke else LOAD, seed=options.seed)
    write_report(
        "scale",
        quick=options.quick,
        smoke=options.smoke,
        results=[*cases, *hosts, *costs],
        summary=found,
        started_at=started_at,
    )
    is_complete = all(host["published_once"] and host["links_with_model"] == host["links"] for host in hosts)
    bounds = {} if options.quick or options.rows else AT_MOST
    return judge_summary(found, bounds) or int(not is_complete)


if __name__ == "__main__":
    sys.exit(run_command("scale", lambda: main(sys.argv[1:])))
