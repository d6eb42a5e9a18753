"""Run all checks by the id of their claim."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from benchmarks.papers.catalogue import Claim, Claims
from benchmarks.papers.claims import (
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
    slas,
)
from benchmarks.papers.finding import Finding
from benchmarks.papers.form import Form
from benchmarks.papers.forms import FORMS
from benchmarks.papers.measuring import Workbench
from tradewind.errors import InvalidValue

Check = Callable[[Claim, Claims], Finding]
"""A pure function of a claim and of all the others, on which it may depend."""

_MODULES = (
    mobile,
    mobile_figures,
    greendataflow,
    slas,
    algorithms,
    http_sla,
    http_figures,
    compression,
    compression_advice,
    compression_tables,
    connections,
    page_sizes,
)


def collect_checks() -> Mapping[str, Check]:
    return {id_: check for module in _MODULES for id_, check in module.CHECKS.items()}


def check_claims(
    claims: Claims, checks: Mapping[str, Check], workbench: Workbench | None = None
) -> Iterable[tuple[Claim, Finding]]:
    """Yield every claim with the finding of its check and of its runs on the testbed, in the order of the file.

    Parameters
    ----------
    workbench : where runs are stored; without it nothing has been measured.

    Raises
    ------
    InvalidValue : a claim without a check, or a check without a claim.
    """
    require_same_ids(claims, checks)
    for id_, claim in claims.items():
        finding = checks[id_](claim, claims)
        yield claim, finding if id_ not in FORMS else _add_measured(FORMS[id_], claim, finding, claims, workbench)


def _add_measured(form: Form, claim: Claim, finding: Finding, claims: Claims, workbench: Workbench | None) -> Finding:
    record = None if workbench is None else workbench.find_record(form.runs)
    if record is None:
        return replace(finding, unmeasured=True)
    comparisons = form.judge(claim, claims, record.rows)
    found = finding.add_measured(comparisons, machine=record.machine, substitute=form.substitute)
    return replace(found, is_current=record.is_current)


def require_same_ids(claims: Iterable[str], checks: Iterable[str]) -> None:
    """Check that claims and checks have the same ids.

    Raises
    ------
    InvalidValue : they differ.
    """
    claimed, checked = set(claims), set(checks)
    if unchecked := sorted(claimed - checked):
        raise InvalidValue("data", f"no check for {', '.join(unchecked)}")
    if unclaimed := sorted(checked - claimed):
        raise InvalidValue("data", f"no claim for the checks {', '.join(unclaimed)}")
