"""Feed importers, the wire and the entire API with damaged input, and the engine with random servers: what failed."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from benchmarks.fuzz.entire_api import Extent, request_api
from benchmarks.fuzz.log_round_trips import FORMATS, run_round_trips
from benchmarks.fuzz.readers import BATCH_SIZE, feed_reader, list_readers
from benchmarks.fuzz.transfer_runs import run_transfers
from benchmarks.support import report
from benchmarks.support.command import run_command

MINUTES, QUICK_MINUTES, SMOKE_MINUTES = 20.0, 0.25, 0.001
LOGS, QUICK_LOGS, SMOKE_LOGS = 36_000, 3_600, 36
"""Logs that are written and read; their formats take turns."""

TRANSFERS, QUICK_TRANSFERS, SMOKE_TRANSFERS = 10_000, 500, 20
SMOKE_AT_ONCE = 20
"""Examples that each reader gets at least."""
LOG_CASE = "written logs of"
MOST_SHOWN = 100
"""Failures of a target that are printed in full."""


def main(argv: Sequence[str]) -> int:
    """Feed all, print and write ``var/bench/fuzz.json``; return 1 if anything failed."""
    parser = report.make_parser(__doc__)
    parser.add_argument(
        "--minutes", type=float, help=f"for all readers together; {MINUTES:g}, or {QUICK_MINUTES:g} with --quick"
    )
    parser.add_argument(
        "--transfers", type=int, help=f"from random servers; {TRANSFERS}, or {QUICK_TRANSFERS} with --quick"
    )
    parser.add_argument("--logs", type=int, help=f"to write and read; {LOGS}, or {QUICK_LOGS} with --quick")
    options = parser.parse_args(argv)
    started_at = datetime.now(UTC)
    usual = SMOKE_MINUTES if options.smoke else QUICK_MINUTES if options.quick else MINUTES
    extent = Extent.SMOKE if options.smoke else Extent.QUICK if options.quick else Extent.FULL
    batch_size = SMOKE_AT_ONCE if options.smoke else BATCH_SIZE
    transfers = SMOKE_TRANSFERS if options.smoke else QUICK_TRANSFERS if options.quick else TRANSFERS
    logs = SMOKE_LOGS if options.smoke else QUICK_LOGS if options.quick else LOGS
    found = [
        *read_written_logs(options.logs or logs, seed=options.seed),
        fetch_from_random_servers(options.transfers or transfers, seed=options.seed),
        *feed_readers(options.minutes or usual, options.seed, batch_size),
        *feed_api(extent, seed=options.seed),
    ]
    summary = {
        "examples": sum(each.examples for each in found),
        "server_errors": sum(each.server_errors for each in found),
        "failures": sum(len(each.failures) for each in found),
        "logs": sum(each.examples for each in found if each.case.startswith(LOG_CASE)),
        "logs_refused": sum(each.refused for each in found),
        "logs_silently_wrong": sum(len(each.failures) for each in found if each.case.startswith(LOG_CASE)),
    }
    results = [each.to_row() for each in found]
    for each in found:
        for failure in each.failures[:MOST_SHOWN]:
            print(f"{each.case}: {failure}")
    report.write_report(
        "fuzz",
        quick=options.quick,
        smoke=options.smoke,
        results=results,
        summary=summary,
        started_at=started_at,
    )
    return 1 if summary["failures"] else 0


@dataclass(frozen=True, slots=True)
class TargetResult:
    """The result of a target.

    ``examples`` : number of inputs that were read or answered; ``failures`` : the distinct ways in which that went
    wrong; ``refused`` : logs that were refused, as a whole or in part.
    """

    case: str
    examples: int
    failures: Sequence[str]
    server_errors: int = 0
    refused: int = 0

    def to_row(self) -> dict[str, report.Value]:
        return {
            "case": self.case,
            "examples": self.examples,
            "failures": len(self.failures),
            "server_errors": self.server_errors,
            "refused": self.refused,
            "first": (*self.failures, "")[0].partition("\n")[0],
        }


def read_written_logs(count: int, *, seed: int) -> Iterator[TargetResult]:
    """Write logs of known transfers and read them; yield a result for each format."""
    tally = run_round_trips(count, seed)
    for name in sorted(FORMATS):
        wrong = [each for each in tally.wrong if each.startswith(f"{name} {seed}/")]
        examples = tally.read[name] + tally.refused[name] + len(wrong)
        yield TargetResult(f"{LOG_CASE} {name}", examples, wrong, refused=tally.refused[name])


def fetch_from_random_servers(count: int, *, seed: int) -> TargetResult:
    """Let the engine fetch files from ``count`` servers that behave as drawn."""
    return TargetResult("transfers from random servers", count, run_transfers(count, seed))


def feed_readers(minutes: float, seed: int, batch_size: int) -> Iterator[TargetResult]:
    """Feed each reader with damaged input; yield its result."""
    for name, reader in list_readers().items():
        yield TargetResult(name, *feed_reader(reader, 60 * minutes / len(list_readers()), seed, batch_size=batch_size))


def feed_api(extent: Extent, *, seed: int) -> Iterator[TargetResult]:
    """Send requests to the API; yield a result for each phase of Schemathesis."""
    for found in request_api(extent, seed=seed):
        server_errors = sum(count for status, count in found.answers.items() if status >= 500)
        yield TargetResult(f"API: {found.phase}", found.answers.total(), list(found.failures), server_errors)


if __name__ == "__main__":
    sys.exit(run_command("fuzz", lambda: main(sys.argv[1:])))
