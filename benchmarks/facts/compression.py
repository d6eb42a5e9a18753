"""Claims of the compressed-transfer paper (003) that need models of compressed transfers: not checked yet."""

from benchmarks.facts.catalogue import Fact, Facts
from benchmarks.facts.finding import Finding, awaiting

EQUATIONS = 22
MEASURED = ("err-up", "err-dn")
OTHERS = ("table1", "asym", "fig5", "fig6", "err-def", "history")


def awaited(_fact: Fact, _facts: Facts) -> Finding:
    return awaiting("a check by our models of compressed transfers")


CHECKS = {f"003-{name}": awaited for name in (*(f"eq{n}" for n in range(1, EQUATIONS + 1)), *MEASURED, *OTHERS)}
