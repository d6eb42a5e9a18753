"""All checks by the id of their claim, and what comes of them."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from benchmarks.papers.catalogue import Fact, Facts
from benchmarks.papers.claims import (
    agreements,
    algorithms,
    compression,
    compression_advice,
    compression_tables,
    connections,
    greendataflow,
    http_figures,
    http_sla,
    mobile,
    mobile_figures,
    page_sizes,
)
from benchmarks.papers.finding import Finding
from benchmarks.papers.form import Form
from benchmarks.papers.forms import FORMS
from benchmarks.papers.measuring import Bench
from tradewind.errors import InvalidValue

Check = Callable[[Fact, Facts], Finding]
"""A pure function of a claim and, for what it rests on, of all the others."""

_MODULES = (
    mobile,
    mobile_figures,
    greendataflow,
    agreements,
    algorithms,
    http_sla,
    http_figures,
    compression,
    compression_advice,
    compression_tables,
    connections,
    page_sizes,
)


def every_check() -> Mapping[str, Check]:
    return {id_: check for module in _MODULES for id_, check in module.CHECKS.items()}


def findings(facts: Facts, checks: Mapping[str, Check], bench: Bench | None = None) -> Iterable[tuple[Fact, Finding]]:
    """Every claim with what came of its check, and of its runs on the testbed, in the order of the file.

    Parameters
    ----------
    bench : where runs are kept; without it nothing has been measured.

    Raises
    ------
    InvalidValue : a claim without a check, or a check without a claim.
    """
    require_all(facts, checks)
    for id_, fact in facts.items():
        finding = checks[id_](fact, facts)
        yield fact, finding if id_ not in FORMS else _measured(FORMS[id_], fact, finding, facts, bench)


def _measured(form: Form, fact: Fact, finding: Finding, facts: Facts, bench: Bench | None) -> Finding:
    record = None if bench is None else bench.record(form.runs)
    if record is None:
        return replace(finding, unmeasured=True)
    told = form.judge(fact, facts, record.rows)
    return finding.with_measured(told, machine=record.machine, stands_for=form.stands_for)


def require_all(facts: Iterable[str], checks: Iterable[str]) -> None:
    """Whether claims and checks are the same by id.

    Raises
    ------
    InvalidValue : they are not.
    """
    claimed, checked = set(facts), set(checks)
    if without := sorted(claimed - checked):
        raise InvalidValue("data", f"no check for {', '.join(without)}")
    if gone := sorted(checked - claimed):
        raise InvalidValue("data", f"no claim for the checks {', '.join(gone)}")
