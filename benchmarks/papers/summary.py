"""All findings in a few numbers, and the bounds that these are judged by."""

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from benchmarks.papers.catalogue import Fact
from benchmarks.papers.finding import Finding, Verdict
from benchmarks.support.report import Value, judge_summary

Told = Sequence[tuple[Fact, Finding]]

AT_MOST: Mapping[str, float] = MappingProxyType({"without_verdict": 0})
AT_LEAST: Mapping[str, float] = MappingProxyType({"results_measured": 20})


def summary_of(told: Told, machine: str) -> dict[str, Value]:
    """``machine`` : this one and its kernel, of which it is told how many claims were measured on it."""
    counts = Counter(finding.verdict for _, finding in told)
    return {
        "claims": len(told),
        "reproduced": counts[Verdict.REPRODUCED],
        "errata": counts[Verdict.CONTRADICTED],
        "differs": counts[Verdict.DIFFERS],
        "not_shown": counts[Verdict.NOT_SHOWN],
        "agrees_in_our_form": counts[Verdict.IN_OUR_FORM],
        "not_reproducible": counts[Verdict.NOT_HERE],
        "without_verdict": counts[Verdict.NOT_MEASURED],
        "comparisons": sum(len(finding.comparisons) for _, finding in told),
        "results_measured": sum(fact.kind == "result" and finding.is_measured for fact, finding in told),
        "measured_here": sum(finding.machine == machine for _, finding in told),
        "measured_on": "; and ".join(machines_of(told)),
    }


def machines_of(told: Told) -> list[str]:
    """The machines on which claims were measured, each with how many of them."""
    counts = Counter(finding.machine for _, finding in told if finding.machine)
    return [f"{machine} ({count} claims)" for machine, count in sorted(counts.items())]


def what_is_missing(told: Told) -> str:
    """Which results can be measured here and are not, and how to; empty if there are none."""
    left = [fact.id for fact, finding in told if finding.unmeasured]
    if not left:
        return ""
    return (
        f"not measured yet, or not since what they measure changed: {len(left)} results ({', '.join(left)}); "
        "--measure makes the transfers that are missing, --measure ID … those of some"
    )


def judged(told: Told, machine: str, *, quick: bool) -> int:
    """Tell what is missing and which bounds are missed: an exit code, that of a quick run always 0."""
    if missing := what_is_missing(told):
        print(f"\n{missing}")
    return 0 if quick else judge_summary(summary_of(told, machine), AT_MOST, AT_LEAST)
