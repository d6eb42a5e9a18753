"""Check the claims of five papers one by one: our number and the paper's, what arithmetic contradicts, what is not
here.

``--data FOLDER`` holds ``facts.json``: the papers' claims by id, with their numbers; it is no part of the project.
``--markdown`` writes the table to ``docs/results/papers.md``. ``--measure`` first makes the transfers of results that
have not been made on this machine and kernel, on emulated paths with real TCP, and stores each in
``benchmarks/records/papers.ndjson``, from which an interrupted run continues. It takes about 75 minutes, and needs
root, nginx, Chromium, rclone, GridFTP, and what `tradewind transport install` needs. A claim whose transfers this
machine has not all made is judged by those of another machine, which the summary names.

The exit status is 1 while claims are without a verdict or fewer than 20 results are measured, unless ``--quick`` is
given.
"""

import argparse
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from benchmarks.papers.catalogue import FILE, Claim, read_claims
from benchmarks.papers.checks import check_claims, collect_checks
from benchmarks.papers.finding import Finding
from benchmarks.papers.forms import FORMS
from benchmarks.papers.measuring import RECORDS, Workbench
from benchmarks.papers.pages import PAGE, render_page
from benchmarks.papers.smoke import run_smallest
from benchmarks.papers.summary import judge_findings, summarise
from benchmarks.support.command import run_command
from benchmarks.support.precedence import take_precedence
from benchmarks.support.report import ROOT, Value, make_parser, name_machine, open_scratch_folder, write_report
from benchmarks.testbed.permissions import become_root_of_a_user_namespace, require_permission
from benchmarks.wan.runs import RunLog

CUT_S = 20.0
SCRATCH = ROOT / "var" / "bench"


def main(argv: Sequence[str]) -> int:
    """Check every claim, print the table and write ``var/bench/papers.json``."""
    parser = make_parser(__doc__.partition("\n")[0])
    parser.add_argument("--markdown", action="store_true", help="write docs/results/papers.md too")
    parser.add_argument("--measure", nargs="*", metavar="ID", help="make the transfers of these results, or of all")
    parser.add_argument(
        "--cut", type=float, default=CUT_S, metavar="SECONDS", help="of a run, which is then scored by its bytes"
    )
    parser.add_argument("--records", type=Path, default=RECORDS, metavar="FILE", help="where transfers are stored")
    options = parser.parse_args(argv)
    if not options.smoke:
        options.data = [folder for folder in options.data if (folder / FILE).is_file()]
        if len(options.data) != 1:
            parser.error(f"--data takes the one folder with {FILE}")
    if unknown := set(options.measure or ()) - set(FORMS):
        parser.error(f"nothing is measured for {', '.join(sorted(unknown))}; there are {', '.join(FORMS)}")
    if options.measure is not None or options.smoke:
        become_root_of_a_user_namespace([sys.executable, "-P", "-m", "benchmarks.papers", *argv])
    return run_command("papers", partial(_run, options), is_resumable=True)


def _run(options: argparse.Namespace) -> int:
    started_at, machine = datetime.now(UTC), name_machine()
    checked = _run_smallest(machine) if options.smoke else _check_claims(options)
    write_report(
        "papers",
        quick=options.quick,
        smoke=options.smoke,
        results=[_make_row(*each) for each in checked],
        summary=summarise(checked, machine),
        started_at=started_at,
    )
    if options.markdown and not options.smoke:
        PAGE.write_text(render_page(checked, started_at), encoding="utf-8")
    return judge_findings(checked, machine, quick=options.quick)


def _run_smallest(machine: str) -> Sequence[tuple[Claim, Finding]]:
    require_permission()
    with open_scratch_folder("papers", SCRATCH, is_removed=True) as folder:
        return run_smallest(folder, machine)


def _check_claims(options: argparse.Namespace) -> Sequence[tuple[Claim, Finding]]:
    claims = read_claims(options.data[0])
    workbench = Workbench(claims=claims, log=RunLog(options.records), folder=SCRATCH, cut_s=options.cut)
    if options.measure is not None:
        require_permission()
        SCRATCH.mkdir(parents=True, exist_ok=True)
        with nullcontext(False) if options.quick else take_precedence() as prioritised:
            ids = options.measure or list(FORMS)
            replace(workbench, prioritised=prioritised).measure(run for id_ in ids for run in FORMS[id_].runs)
    return list(check_claims(claims, collect_checks(), workbench))


def _make_row(claim: Claim, finding: Finding) -> dict[str, Value]:
    decisive = finding.decisive_comparison
    row: dict[str, Value] = {"case": claim.id, "place": claim.place, "verdict": finding.verdict.value}
    if decisive is not None:
        row |= {
            "compared": decisive.what,
            "paper": decisive.paper,
            "ours": decisive.ours,
            "deviation": decisive.deviation,
        }
        row |= {"comparisons": len(finding.comparisons), "agree": sum(each.agrees for each in finding.comparisons)}
    return row | {"needs": finding.needs or None}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
