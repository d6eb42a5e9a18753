"""Summarise all findings in a few numbers, and judge these by their bounds."""

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from benchmarks.papers.catalogue import Claim
from benchmarks.papers.finding import ClaimVerdict, Finding
from benchmarks.support.report import Value, judge_summary

Findings = Sequence[tuple[Claim, Finding]]

AT_MOST: Mapping[str, float] = MappingProxyType({"without_verdict": 0})
AT_LEAST: Mapping[str, float] = MappingProxyType({"results_measured": 20})


def summarise(findings: Findings, machine: str) -> dict[str, Value]:
    """Return the figures; ``machine`` : this one and its kernel, on which measured claims are counted.

    A claim that arithmetic contradicts and that differs from ours as well counts as both: an error of the paper hides
    no failing comparison.
    """
    counts = Counter(verdict for _, finding in findings for verdict in finding.verdicts)
    return {
        "claims": len(findings),
        "reproduced": counts[ClaimVerdict.REPRODUCED],
        "errata": counts[ClaimVerdict.CONTRADICTED],
        "differs": counts[ClaimVerdict.DIFFERS],
        "not_shown": counts[ClaimVerdict.NOT_SHOWN],
        "agrees_in_our_form": counts[ClaimVerdict.IN_OUR_FORM],
        "not_reproducible": counts[ClaimVerdict.NOT_HERE],
        "without_verdict": counts[ClaimVerdict.NOT_MEASURED],
        "comparisons": sum(len(finding.comparisons) for _, finding in findings),
        "results_measured": sum(claim.kind == "result" and finding.is_measured for claim, finding in findings),
        "measured_with_earlier_sources": sum(not finding.is_current for _, finding in findings),
        "measured_here": sum(finding.machine == machine for _, finding in findings),
        "measured_on": "; and ".join(list_machines(findings)),
    }


def list_machines(findings: Findings) -> list[str]:
    """Return the machines on which claims were measured, each with the number of claims."""
    counts = Counter(finding.machine for _, finding in findings if finding.machine)
    return [f"{machine} ({count} claims)" for machine, count in sorted(counts.items())]


def describe_missing(findings: Findings) -> str:
    """Describe which results were not measured yet, or not since the sources changed, and how to; empty if there are
    none.
    """
    unmeasured = [claim.id for claim, finding in findings if finding.unmeasured]
    earlier = [claim.id for claim, finding in findings if not finding.is_current]
    parts = [
        f"{what}: {len(ids)} results ({', '.join(ids)})"
        for what, ids in (("not measured yet", unmeasured), ("measured before the sources changed", earlier))
        if ids
    ]
    if not parts:
        return ""
    return "; ".join([*parts, "--measure makes the transfers that are missing, --measure ID … those of some"])


def judge_findings(findings: Findings, machine: str, *, quick: bool) -> int:
    """Print what is missing and which bounds are missed; return the exit code, 0 for a quick run."""
    if missing := describe_missing(findings):
        print(f"\n{missing}")
    return 0 if quick else judge_summary(summarise(findings, machine), AT_MOST, AT_LEAST)
