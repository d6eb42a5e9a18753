"""The smallest run of the benchmark: two claims of no paper, judged by arithmetic, and one transfer on the testbed.

The claims that the benchmark judges are no part of the project: these stand for them, with numbers made up for a path
and files that take no time. They show that claims are checked, a transfer is measured, and both are reported.
"""

from collections.abc import Sequence
from pathlib import Path

from benchmarks.papers.catalogue import Fact, Facts, Values
from benchmarks.papers.checks import every_check, findings
from benchmarks.papers.finding import By, Finding, elsewhere, property_of
from benchmarks.papers.form import mbps
from benchmarks.papers.grounds import SEED, SYDNEY, run_of
from benchmarks.papers.transfers import on_testbed
from benchmarks.papers.trial import Yard

JUDGED = ("000-eq1", "000-eq2")
"""Equations, whose checks need no number of the claim."""

RUN = run_of(SYDNEY, "000/html", cc=2)
RTT_MS, MBPS = 20, 50
GROUND: dict[str, Values] = {
    "000-servers": {"EC2_Sydney": {"rtt_ms": RTT_MS}},
    "000-fig3": {"streams": {"to": MBPS}},
    "000-fig6": {"html_max_Mbps": {}, "Chameleon_max_Mbps": {}},
    "000-table2": {"columns": ["kind", "files", "min", "max"], "rows": [["HTML", 20, "10 KB", "20 KB"]]},
    "002-fig2": {},
    "002-fig3": {},
}
"""What the path and the files of the transfer are made from."""

CUT_S = 120.0
"""Which cuts nothing, however busy the machine is."""


def smallest_findings(folder: Path, machine: str) -> Sequence[tuple[Fact, Finding]]:
    """Return the findings; what the transfer needs is in ``folder``."""
    checks = every_check()
    judged = _claims({id_: {} for id_ in JUDGED})
    found = list(findings(judged, {id_: checks[id_] for id_ in JUDGED}))
    ground = _claims(GROUND)
    yard = Yard(facts=ground, folder=folder, seed=SEED, prioritised=False)
    with on_testbed(RUN.path, RUN.files, yard, CUT_S) as made:
        row = made(RUN)
    moved = property_of("a transfer of ours moves bytes", mbps(row) > 0, by=By.TESTBED)
    measured = elsewhere("the paper's hosts").with_measured([moved], machine=machine)
    return [*found, (ground["000-table2"], measured)]


def _claims(values: dict[str, Values]) -> Facts:
    return {
        id_: Fact(id=id_, paper=id_.partition("-")[0], place="made up", kind="result", statement="", values=each)
        for id_, each in values.items()
    }
