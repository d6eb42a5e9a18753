"""Claims of five papers, one by one: our number beside the paper's, what arithmetic contradicts, what is not here.

``--data FOLDER`` holds ``facts.json``: the papers' claims by id, with their numbers; it is no part of the project.
``--markdown`` writes the table to ``docs/results/papers.md``. ``--measure`` first makes the transfers of results that
have not been made on this machine and kernel, on emulated paths with real TCP, and keeps each in
``benchmarks/records/papers.ndjson``; the next start goes on where one was interrupted. It takes about 75 minutes, and
needs root, nginx, Chromium, rclone, GridFTP, and what `tradewind transport install` needs. Where this
machine has not made all that a claim wants, it is judged by what another has, which the summary names.

It ends with 1 while claims are without a verdict or fewer than 20 results are measured, unless ``--quick`` is given.
"""

import argparse
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from benchmarks.papers.catalogue import Fact, read_facts
from benchmarks.papers.checks import every_check, findings
from benchmarks.papers.finding import Finding
from benchmarks.papers.forms import FORMS
from benchmarks.papers.measuring import RECORDS, Bench
from benchmarks.papers.pages import PAGE, page_of
from benchmarks.papers.smoke import smallest_findings
from benchmarks.papers.summary import judged, summary_of
from benchmarks.support.command import run_command
from benchmarks.support.precedence import take_precedence
from benchmarks.support.report import ROOT, Value, make_parser, name_machine, open_scratch_folder, write_report
from benchmarks.testbed.permissions import become_root_of_a_user_namespace, require_permission
from benchmarks.wan.runs import RunLog

CUT_S = 20.0
SCRATCH = ROOT / "var" / "bench"


def main(argv: Sequence[str]) -> int:
    """Check every claim, print the table and write ``var/bench/facts.json``."""
    parser = make_parser(__doc__.partition("\n")[0])
    parser.add_argument("--markdown", action="store_true", help="write docs/results/papers.md too")
    parser.add_argument("--measure", nargs="*", metavar="ID", help="make the transfers of these results, or of all")
    parser.add_argument("--cut", type=float, default=CUT_S, metavar="SECONDS", help="of a run; it stands for its bytes")
    parser.add_argument("--records", type=Path, default=RECORDS, metavar="FILE", help="where transfers are kept")
    options = parser.parse_args(argv)
    if len(options.data) != 1 and not options.smoke:
        parser.error("--data takes the one folder with facts.json")
    if unknown := set(options.measure or ()) - set(FORMS):
        parser.error(f"nothing to measure of {', '.join(sorted(unknown))}; there is of {', '.join(FORMS)}")
    if options.measure is not None or options.smoke:
        become_root_of_a_user_namespace([sys.executable, "-P", "-m", "benchmarks.facts", *argv])
    return run_command("papers", partial(_run, options), is_resumable=True)


def _run(options: argparse.Namespace) -> int:
    started_at, machine = datetime.now(UTC), name_machine()
    findings = _smallest_findings(machine) if options.smoke else _findings(options)
    write_report(
        "papers",
        quick=options.quick,
        smoke=options.smoke,
        results=[_row(*each) for each in findings],
        summary=summary_of(findings, machine),
        started_at=started_at,
    )
    if options.markdown and not options.smoke:
        PAGE.write_text(page_of(findings, started_at), encoding="utf-8")
    return judged(findings, machine, quick=options.quick)


def _smallest_findings(machine: str) -> Sequence[tuple[Fact, Finding]]:
    require_permission()
    with open_scratch_folder("papers", SCRATCH, smoke=True) as folder:
        return smallest_findings(folder, machine)


def _findings(options: argparse.Namespace) -> Sequence[tuple[Fact, Finding]]:
    facts = read_facts(options.data[0])
    bench = Bench(facts=facts, log=RunLog(options.records), folder=SCRATCH, cut_s=options.cut)
    if options.measure is not None:
        require_permission()
        SCRATCH.mkdir(parents=True, exist_ok=True)
        with nullcontext(False) if options.quick else take_precedence() as prioritised:
            asked = options.measure or list(FORMS)
            replace(bench, prioritised=prioritised).measure(run for id_ in asked for run in FORMS[id_].runs)
    return list(findings(facts, every_check(), bench))


def _row(fact: Fact, finding: Finding) -> dict[str, Value]:
    spoken = finding.told
    row: dict[str, Value] = {"case": fact.id, "place": fact.place, "verdict": finding.verdict.value}
    if spoken is not None:
        row |= {"compared": spoken.what, "paper": spoken.paper, "ours": spoken.ours, "deviation": spoken.deviation}
        row |= {"comparisons": len(finding.comparisons), "agree": sum(each.agrees for each in finding.comparisons)}
    return row | {"needs": finding.needs or None}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
