"""Claims of the mobile paper (000): energy of transfers on phones, its equations, tables and rules."""

import random
from itertools import accumulate
from math import inf
from statistics import fmean

from benchmarks.papers.catalogue import Claim, Claims
from benchmarks.papers.finding import (
    Comparison,
    Finding,
    Source,
    compare_cases,
    compare_computed,
    compare_property,
    compare_recovered,
    make_finding,
    make_finding_elsewhere,
)
from tradewind.dataset import DataSet
from tradewind.energy.measured import compute_base_energy_j, compute_dynamic_energy_j
from tradewind.heuristics import compute_parallelism
from tradewind.mobile.batching import BatchTerms, plan_batches
from tradewind.mobile.catalogue import load_shipped_catalogue
from tradewind.mobile.energy_split import EnergySplit, saves_energy, split_power_trace
from tradewind.mobile.profiles import DeviceProfile
from tradewind.mobile.queue import QueuedJob
from tradewind.parameters import AXES, Parameters
from tradewind.path import Path
from tradewind.units import MBIT
from tradewind.unknown_path.prior import build_throughput_model

PHONE_AND_METER = "the paper's phones and its power meter"
AXIS_OF = {"cc": "concurrency", "p": "parallelism", "io_request_size": "io_block_bytes"}
DEVICE_OF = {
    "Nexus S": "nexus-s",
    "Galaxy Nexus N3 (L700)": "galaxy-nexus",
    "Galaxy S4": "galaxy-s4",
    "Galaxy S5": "galaxy-s5",
}
SEED = 7
ROUNDING = 1e-9


def check_context(claim: Claim, _claims: Claims) -> Finding:
    low_mw, high_mw = claim.values["smartphone_power_mW"]
    catalogue = load_shipped_catalogue()
    phones = [catalogue.devices[name] for name in DEVICE_OF.values()]
    within = [
        low_mw <= 1e3 * each.compute_base_w(each.find_radio("wifi"), screen_on=True) <= high_mw for each in phones
    ]
    return make_finding_elsewhere(
        "counts of phones and of traffic, quoted from others",
        [compare_cases("profiles of its phones: within the power it gives", len(within), sum(within))],
    )


def check_tuned_parameters(claim: Claim, _claims: Claims) -> Finding:
    known = [AXIS_OF.get(name) in AXES for name in claim.values["params"]]
    return make_finding(
        compare_cases("its parameters: axes of our settings", len(known), sum(known)),
        compare_property(
            "streams are files at once by streams of each", Parameters(concurrency=4, parallelism=8).streams == 4 * 8
        ),
    )


def _make_trace(seconds: float) -> tuple[list[float], list[float]]:
    """Make an irregular trace of a transfer between 10 s and ``seconds`` − 10 s, of the same seed every time."""
    draw = random.Random(SEED)
    steps = [0.0, *(draw.uniform(0.02, 0.3) for _ in range(int(seconds / 0.1)))]
    time_s = [each for each in accumulate(steps) if each < seconds]
    power_w = [0.9 + (1.4 if 10 < at < seconds - 10 else 0.0) + draw.gauss(0, 0.05) for at in time_s]
    return time_s, power_w


def check_total_energy(_claim: Claim, _claims: Claims) -> Finding:
    """Check equation 1: base and dynamic part, each integrated by itself here, against the total of our split."""
    time_s, power_w = _make_trace(60.0)
    base_w = 0.9
    split = split_power_trace(time_s, power_w, started_s=time_s[0], ended_s=time_s[-1], base_power_w=base_w)
    above = sum(
        (t1 - t0) * ((p0 - base_w) + (p1 - base_w)) / 2
        for t0, t1, p0, p1 in zip(time_s, time_s[1:], power_w, power_w[1:], strict=False)
    )
    base_j = base_w * (time_s[-1] - time_s[0])
    return make_finding(compare_recovered("E_b + E_d of a trace, J", base_j + above, split.total_j, relative=ROUNDING))


def check_dynamic_energy(_claim: Claim, _claims: Claims) -> Finding:
    """Check equation 2 on a trace of straight lines, whose integral is known; below the base it counts negative."""
    time_s, power_w = [0.0, 1.0, 4.0, 4.5, 9.0], [1.0, 3.0, 3.0, 0.5, 0.5]
    exact_j = (1 * 1.0) + (3 * 2.0) + 0.5 * (2.0 - 0.5) / 2 + 4.5 * -0.5
    return make_finding(
        compare_recovered(
            "E_d of straight lines, J", exact_j, compute_dynamic_energy_j(time_s, power_w, 1.0), relative=ROUNDING
        )
    )


def check_power_meter(claim: Claim, _claims: Claims) -> Finding:
    """Check readings at its rate: the base from before the transfer, and the mean of as many runs as it made."""
    hz, runs = claim.values["hz"], claim.values["runs_max"]
    base_w, above_w, lead_s, run_s = 0.9, 1.4, 5.0, 20.0
    splits: list[EnergySplit] = []
    for run in range(runs):
        draw = random.Random(f"{SEED} {run}")
        time_s = [n / hz for n in range(int((lead_s + run_s) * hz) + 1)]
        power_w = [base_w + (above_w if at > lead_s else 0.0) + draw.gauss(0, 0.02) for at in time_s]
        splits.append(split_power_trace(time_s, power_w, started_s=lead_s, ended_s=lead_s + run_s))
    base_j, dynamic_j = fmean(each.base_j for each in splits), fmean(each.dynamic_j for each in splits)
    return make_finding_elsewhere(
        PHONE_AND_METER,
        [
            compare_recovered("E_b of readings, J", compute_base_energy_j(run_s, base_w), base_j, relative=0.01),
            compare_recovered("E_d of readings, J", above_w * run_s, dynamic_j, relative=0.01),
        ],
    )


def check_device_table(claim: Claim, _claims: Claims) -> Finding:
    columns = claim.values["columns"]
    catalogue = load_shipped_catalogue()
    comparisons: list[Comparison] = []
    for row in claim.values["rows"]:
        printed_fields = dict(zip(columns, row, strict=True))
        device = catalogue.devices.get(DEVICE_OF.get(printed_fields["model"], ""))
        same = 0 if device is None else _count_same_facts(printed_fields, device)
        comparisons.append(compare_cases(f"{printed_fields['model']}: fields as in our catalogue", len(columns), same))
    return make_finding(*comparisons)


def _count_same_facts(printed_fields: dict[str, object], device: DeviceProfile) -> int:
    ours = {
        "producer": device.producer,
        "model": device.model,
        "os": device.facts["system"],
        "api": device.facts["api_level"],
        "cpu": device.facts["processor"],
        "wifi": device.facts["wifi"],
        "storage_GB": device.facts["storage"].removesuffix(" GB"),
        "memory_MB": device.facts["memory"].removesuffix(" MB"),
    }
    return sum(str(printed_fields[column]) == ours.get(column) for column in printed_fields)


def check_tail_behaviour(claim: Claim, _claims: Claims) -> Finding:
    """Check tails by our profiles and plans: as long whatever was sent, longer for LTE, paid once by transfers in a
    row.

    The profiles are published constants of other phones, and the plans assume such tails: neither measures its phone.
    """
    catalogue = load_shipped_catalogue()
    lte, wifi = catalogue.find_radio("lte"), catalogue.find_radio("wifi")
    jobs = [
        QueuedJob(name=str(n), total_bytes=size, throughput_bps=20e6) for n, size in enumerate((10**6, 10**7, 10**8))
    ]
    plan = plan_batches(jobs, BatchTerms(radio=lte))
    full_tail_j = lte.compute_tail_energy_j(inf)
    ends = [plan_batches([job], BatchTerms(radio=lte)).tail_j for job in jobs]
    comparisons = (
        compare_property(
            "one tail whatever the size", len(set(ends)) == 1, claimed=claim.values["tail_const_per_radio"]
        ),
        compare_property(
            "LTE's tail is longer than WiFi's",
            lte.tail_s.value > wifi.tail_s.value,
            claimed=claim.values["tail_lte_gt_wifi"],
        ),
        compare_computed(
            "tails of three jobs on end",
            claim.values["n_transfers_back_to_back_tails"],
            plan.tail_j / full_tail_j,
            relative=ROUNDING,
        ),
        compare_recovered("tails of jobs apart", len(jobs), plan.separate_tail_j / full_tail_j, relative=ROUNDING),
    )
    return make_finding_elsewhere(PHONE_AND_METER, comparisons)


def check_break_even(_claim: Claim, _claims: Claims) -> Finding:
    """Compare the rule with the energies themselves, E = P · t, for many pairs of power and time for the same bytes."""
    draw = random.Random(SEED)
    pairs = [tuple(draw.uniform(0.5, 5.0) for _ in range(4)) for _ in range(1000)]
    right = sum(
        saves_energy(p2 / p1, t2 / t1) == (compute_base_energy_j(1 / t2, p2) < compute_base_energy_j(1 / t1, p1))
        for p1, p2, t1, t2 in pairs
    )
    return make_finding(compare_cases("pairs: the rule finds which takes less energy", len(pairs), right))


def check_lessons(_claim: Claim, claims: Claims) -> Finding:
    """Compare its rules with our closed forms on its longest path, and its figures with each other."""
    servers = claims["000-servers"].values
    saved = claims["000-fig6"].values
    sydney = Path(bandwidth_bps=104 * MBIT, rtt_s=servers["EC2_Sydney"]["rtt_ms"] / 1e3, buffer_bytes=256 * 1024)
    assert sydney.bdp_bytes is not None
    small, large = DataSet(file_count=1500, total_bytes=192 * 10**6), DataSet(file_count=32, total_bytes=32 * 2**30)
    on_small = build_throughput_model(sydney, small)
    rates = [on_small(Parameters(concurrency=n, parallelism=1, pipelining=1)) for n in (1, 2, 4, 8, 16)]
    streams = [compute_parallelism(sydney.bdp_bytes, each.mean_file_bytes, 256 * 1024) for each in (small, large)]
    order = sorted(servers, key=lambda name: servers[name]["rtt_ms"])
    by_rtt = [name.split("_")[-1] if name.startswith("EC2") else name.split("_")[0] for name in order]
    comparisons = [
        compare_property("concurrency speeds small files up", rates == sorted(set(rates))),
        compare_computed("streams for a small file", 1, streams[0]),
        compare_property("streams for a large file are several", streams[1] > 1),
        compare_property(
            "the longer the path the more is saved, in its own figures",
            [saved["html_saving_pct"][name] for name in by_rtt] == sorted(saved["html_saving_pct"].values()),
            source=Source.ARITHMETIC,
        ),
        compare_property(
            "and the lower the highest rate",
            [saved["html_max_Mbps"][name] for name in by_rtt] == sorted(saved["html_max_Mbps"].values(), reverse=True),
            source=Source.ARITHMETIC,
        ),
    ]
    return make_finding_elsewhere(PHONE_AND_METER, comparisons)


CHECKS = {
    "000-intro-context": check_context,
    "000-params": check_tuned_parameters,
    "000-eq1": check_total_energy,
    "000-eq2": check_dynamic_energy,
    "000-meter": check_power_meter,
    "000-table1": check_device_table,
    "000-fig8": check_tail_behaviour,
    "000-breakeven": check_break_even,
    "000-lessons": check_lessons,
}
