"""Importers, traces, messages of the wire and the whole API, fed with damaged input: how much, and what failed."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from benchmarks.fuzz.readers import AT_ONCE, fed, targets
from benchmarks.fuzz.whole_api import Extent, requested
from benchmarks.support import report
from benchmarks.support.command import run_command

MINUTES, QUICK_MINUTES, SMOKE_MINUTES = 20.0, 0.25, 0.001
SMOKE_AT_ONCE = 20
"""Examples that each reader is fed at the least."""


def main(argv: Sequence[str]) -> int:
    """Feed all, print and write ``var/bench/fuzz.json``; 1 if anything failed."""
    parser = report.make_parser(__doc__)
    parser.add_argument(
        "--minutes", type=float, help=f"for the readers, in all; {MINUTES:g}, or {QUICK_MINUTES:g} with --quick"
    )
    options = parser.parse_args(argv)
    started_at = datetime.now(UTC)
    usual = SMOKE_MINUTES if options.smoke else QUICK_MINUTES if options.quick else MINUTES
    extent = Extent.SMOKE if options.smoke else Extent.QUICK if options.quick else Extent.FULL
    at_once = SMOKE_AT_ONCE if options.smoke else AT_ONCE
    found = [*read(options.minutes or usual, options.seed, at_once), *asked(extent, seed=options.seed)]
    summary = {
        "examples": sum(each.examples for each in found),
        "server_errors": sum(each.server_errors for each in found),
        "failures": sum(len(each.failures) for each in found),
    }
    results = [each.row() for each in found]
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
class Fed:
    """``examples`` : that were read or answered; ``failures`` : the distinct ways in which that went wrong."""

    case: str
    examples: int
    failures: Sequence[str]
    server_errors: int = 0

    def row(self) -> dict[str, report.Value]:
        return {
            "case": self.case,
            "examples": self.examples,
            "failures": len(self.failures),
            "server_errors": self.server_errors,
            "first": (*self.failures, "")[0].partition("\n")[0],
        }


def read(minutes: float, seed: int, at_once: int) -> Iterator[Fed]:
    """What each reader made of damaged input."""
    for name, reader in targets().items():
        yield Fed(name, *fed(reader, 60 * minutes / len(targets()), seed, at_once=at_once))


def asked(extent: Extent, *, seed: int) -> Iterator[Fed]:
    """What the API answered, by phase of Schemathesis."""
    for found in requested(extent, seed=seed):
        server_errors = sum(count for status, count in found.answers.items() if status >= 500)
        yield Fed(f"API: {found.phase}", found.answers.total(), list(found.failures), server_errors)


if __name__ == "__main__":
    sys.exit(run_command("fuzz", lambda: main(sys.argv[1:])))
