"""Claims of the GreenDataFlow paper (001) on SLAs: what is solved for each, its ranges and how they are found."""

import random
from itertools import pairwise
from math import exp, isclose, log

from benchmarks.papers.catalogue import Claim, Claims
from benchmarks.papers.finding import Finding, Source, compare_cases, compare_computed, compare_property, make_finding
from tradewind.learning.partition import solve_partitions
from tradewind.parameters import Parameters
from tradewind.prediction import PredictedSetting
from tradewind.sla.kinds import EnergyBasis, Sla, SlaKind
from tradewind.tiers.partitions import find_serving_partition
from tradewind.tiers.selection import choose_setting
from tradewind.tiers.setting_table import SettingTable
from tradewind.units import BITS_PER_BYTE

SEED = 11
DATA_BYTES = 10**10
CONFIDENCE = 0.9


def _build_table() -> SettingTable:
    draw = random.Random(SEED)
    return SettingTable(
        tuple(
            PredictedSetting(
                parameters=Parameters(concurrency=cc, parallelism=p, pipelining=1),
                log_throughput_mean=log(2e8 * cc * p / (cc * p + 8)) + draw.gauss(0, 0.02),
                log_throughput_sd=1e-9,
                log_power_mean=log(60 + 1.5 * cc * p),
                log_power_sd=1e-9,
            )
            for cc in (1, 2, 4, 8, 16)
            for p in (1, 2, 4)
        ),
        base_power_w=50.0,
    )


def _count_solved(kind: SlaKind) -> tuple[int, int]:
    """Count the targets tried, and those for which our choice is that of looking at every setting."""
    table = _build_table()
    each = [(exp(one.log_throughput_mean), exp(one.log_power_mean or 0.0), one.parameters) for one in table.settings]
    right = tried = 0
    for share in (0.2, 0.4, 0.6, 0.8, 0.95):
        if kind is SlaKind.THROUGHPUT_AT_LEAST:
            target = share * max(bps for bps, _, _ in each)
            best = min((one for one in each if one[0] >= target), key=lambda one: one[1] / one[0])
        elif kind is SlaKind.POWER_AT_MOST:
            target = min(w for _, w, _ in each) * (1 + share)
            best = max((one for one in each if one[1] <= target), key=lambda one: one[0])
        else:
            joules = [w * BITS_PER_BYTE * DATA_BYTES / bps for bps, w, _ in each]
            target = min(joules) * (1 + share)
            best = max((one for one, j in zip(each, joules, strict=True) if j <= target), key=lambda one: one[0])
        found = choose_setting(table, Sla(kind=kind, target=target, confidence=CONFIDENCE), dataset_bytes=DATA_BYTES)
        tried += 1
        right += found is not None and found.feasible and found.setting.parameters == best[2]
    return tried, right


def check_throughput_sla(_claim: Claim, _claims: Claims) -> Finding:
    tried, right = _count_solved(SlaKind.THROUGHPUT_AT_LEAST)
    return make_finding(compare_cases("targets: our choice is the least energy that keeps them", tried, right))


def check_energy_sla(claim: Claim, _claims: Claims) -> Finding:
    """Check whether its objective prefers a setting; the integral of T until the end is the data set, and does not."""
    tried, right = _count_solved(SlaKind.ENERGY_AT_MOST)
    rates_bps = [exp(one.log_throughput_mean) for one in _build_table().settings]
    durations_s = [BITS_PER_BYTE * DATA_BYTES / bps for bps in rates_bps]
    printed = "integral" in claim.statement
    objectives = [bps * took_s for bps, took_s in zip(rates_bps, durations_s, strict=True)] if printed else rates_bps
    return make_finding(
        compare_property(
            "its objective distinguishes settings",
            not isclose(min(objectives), max(objectives)),
            source=Source.ARITHMETIC,
        ),
        compare_cases("targets: our choice is the fastest that keeps them", tried, right),
    )


def check_power_sla(_claim: Claim, _claims: Claims) -> Finding:
    """Check the SLA that the paper evaluates and does not define; here: the fastest setting of mean power up to the
    target.
    """
    tried, right = _count_solved(SlaKind.POWER_AT_MOST)
    return make_finding(compare_cases("targets: our choice is the fastest that keeps them", tried, right))


def check_partition(claim: Claim, _claims: Claims) -> Finding:
    """Check that in its example of three ranges, and in ours of a made table, each range begins where the one before
    ends.
    """
    cells = claim.values["J"]
    covered = sum(high - low for low, high in cells)
    joins = [one[1] == other[0] for one, other in pairwise(cells)]
    ours = [
        each
        for each in solve_partitions(_build_table(), confidences=[CONFIDENCE])
        if each.kind is SlaKind.ENERGY_AT_MOST and each.energy_basis is EnergyBasis.TOTAL
    ]
    return make_finding(
        compare_computed(
            "ranges that begin where the one before ends", len(joins), sum(joins), source=Source.ARITHMETIC
        ),
        compare_computed(
            "J covered, of the whole range", cells[-1][1] - cells[0][0], covered, source=Source.ARITHMETIC
        ),
        compare_property("ours join", all(a.upper == b.lower for a, b in pairwise(ours)) and len(ours) > 1),
    )


def check_looked_up(_claim: Claim, _claims: Claims) -> Finding:
    """Check that every target within the range of a made table finds the one range that holds it."""
    parts = [
        each
        for each in solve_partitions(_build_table(), confidences=[CONFIDENCE])
        if each.kind is SlaKind.THROUGHPUT_AT_LEAST and each.energy_basis is EnergyBasis.TOTAL
    ]
    draw = random.Random(SEED)
    targets = [draw.uniform(parts[0].lower, parts[-1].upper) for _ in range(500)]
    found = [
        find_serving_partition(
            parts, Sla(kind=SlaKind.THROUGHPUT_AT_LEAST, target=each, confidence=CONFIDENCE), dataset_bytes=DATA_BYTES
        )
        for each in targets
    ]
    return make_finding(
        compare_cases(
            "targets: their range is found",
            len(targets),
            sum(one is not None and target in one for one, target in zip(found, targets, strict=True)),
        )
    )


CHECKS = {
    "001-sla-T": check_throughput_sla,
    "001-sla-E": check_energy_sla,
    "001-sla-P": check_power_sla,
    "001-partition": check_partition,
    "001-hash": check_looked_up,
}
