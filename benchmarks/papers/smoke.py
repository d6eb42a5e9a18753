"""Make the smallest run of the benchmark: two claims of no paper, judged by arithmetic, and one transfer on the
testbed.

The claims that the benchmark judges are no part of the project: these stand for them, with numbers made up for a path
and files that take no time. They show that claims are checked, a transfer is measured, and both are reported.
"""

from collections.abc import Sequence
from pathlib import Path

from benchmarks.papers.catalogue import Claim, Claims, Values
from benchmarks.papers.checks import check_claims, collect_checks
from benchmarks.papers.finding import Finding, Source, compare_property, make_finding_elsewhere
from benchmarks.papers.form import compute_mbps
from benchmarks.papers.paths import SEED, SYDNEY, make_run
from benchmarks.papers.transfers import set_up_on_testbed
from benchmarks.papers.trial import TrialSite

JUDGED = ("000-eq1", "000-eq2")
"""Equations, whose checks need no number of the claim."""

RUN = make_run(SYDNEY, "000/html", cc=2)
RTT_MS, MBPS = 20, 50
GROUND: dict[str, Values] = {
    "000-servers": {"EC2_Sydney": {"rtt_ms": RTT_MS}},
    "000-fig2-cc": {"video": {"thr_Mbps_cc1": MBPS}},
    "000-fig3": {"streams": {"to": MBPS}},
    "000-fig6": {"html_max_Mbps": {}, "Chameleon_max_Mbps": {}},
    "000-table2": {"columns": ["kind", "files", "min", "max"], "rows": [["HTML", 20, "10 KB", "20 KB"]]},
    "002-fig2": {},
    "002-fig3": {},
}
"""Made-up claims for the path and the files of the transfer."""

CUT_S = 120.0
"""It cuts nothing, however busy the machine is."""


def run_smallest(folder: Path, machine: str) -> Sequence[tuple[Claim, Finding]]:
    """Return the findings; what the transfer needs is in ``folder``."""
    checks = collect_checks()
    judged = make_claims({id_: {} for id_ in JUDGED})
    found = list(check_claims(judged, {id_: checks[id_] for id_ in JUDGED}))
    ground = make_claims(GROUND)
    yard = TrialSite(claims=ground, folder=folder, seed=SEED, prioritised=False)
    with set_up_on_testbed(RUN.path, RUN.files, yard, CUT_S) as made:
        row = made(RUN)
    moved = compare_property("a transfer of ours moves bytes", compute_mbps(row) > 0, source=Source.TESTBED)
    measured = make_finding_elsewhere("the paper's hosts").add_measured([moved], machine=machine)
    return [*found, (ground["000-table2"], measured)]


def make_claims(values: dict[str, Values]) -> Claims:
    return {
        id_: Claim(id=id_, paper=id_.partition("-")[0], place="made up", kind="result", statement="", values=each)
        for id_, each in values.items()
    }
