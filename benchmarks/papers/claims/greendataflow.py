"""Claims of the GreenDataFlow paper (001): definitions, agreements, learning and tables."""

import re
from collections.abc import Mapping
from dataclasses import fields
from itertools import pairwise

import numpy as np

from benchmarks.papers.catalogue import Claim, Claims
from benchmarks.papers.finding import (
    Comparison,
    Finding,
    Source,
    compare_cases,
    compare_computed,
    compare_property,
    make_finding,
    make_finding_elsewhere,
)
from tradewind.dataset import DataSet, classify_file
from tradewind.energy.measured import EnergyReading
from tradewind.errors import InvalidValue
from tradewind.flags import build_flags_for_tool
from tradewind.heuristics import compute_parallelism
from tradewind.learning.clustering.micro_clusters import MicroClusters, compute_coordinates
from tradewind.learning.clustering.tiered import find_tiers
from tradewind.learning.load.external import compute_unknown_rate_bps
from tradewind.learning.validation import split_randomly
from tradewind.parameters import Parameters
from tradewind.path import Path
from tradewind.transfer import ResourceUsage, TransferRecord
from tradewind.tuning.reference import htee
from tradewind.tuning.sample import TickSample
from tradewind.units import BITS_PER_BYTE, GB, MBIT
from tradewind.unknown_path.prior import build_throughput_model

SEED, MB = 11, 10**6
DATA_BYTES = 10**10
ROUNDING = 1e-9
CONFIDENCE = 0.9
FIELD_OF = {
    "rtt": (Path, "rtt_s"),
    "buffer": (Path, "buffer_bytes"),
    "queuing_delay": (Path, "min_rtt_s"),  # the queue is what a round trip takes beyond the least
    "loss": (Path, "loss_rate"),
    "cc": (Parameters, "concurrency"),
    "p": (Parameters, "parallelism"),
    "pp": (Parameters, "pipelining"),
    "cpu_alloc": (Parameters, "cores"),
    "mem_alloc": (Parameters, "memory_bytes"),
    "nic_alloc": (Parameters, "nic_bps"),
    "bytes": (DataSet, "total_bytes"),
    "files": (DataSet, "file_count"),
    "u_cpu": (ResourceUsage, "cpu"),
    "u_mem": (ResourceUsage, "memory"),
    "u_nic": (ResourceUsage, "nic"),
    "u_disk": (ResourceUsage, "disk"),
    "energy": (EnergyReading, "total_j"),
    "data": (TransferRecord, "dataset"),
    "net": (TransferRecord, "path"),
    "mu_cpu": (ResourceUsage, "cpu"),
    "mu_mem": (ResourceUsage, "memory"),
    "mu_disk": (ResourceUsage, "disk"),
    "mu_nic": (ResourceUsage, "nic"),
}


def _compare_log_row(names: list[str]) -> Comparison:
    known = [name for name in names if name in FIELD_OF and _has(*FIELD_OF[name])]
    return compare_cases("its fields: a row of our log has them", len(names), len(known))


def _has(kind: type, name: str) -> bool:
    return name in {each.name for each in fields(kind)}


def check_headlines(claim: Claim, claims: Claims) -> Finding:
    """Check that the "up to" of the abstract is no less than what section V reports, for files of middle size alone."""
    most, section_v = claim.values, claims["001-res-guc"].values
    pairs = (
        ("energy saved against the closest rival", "vs_best_energy_pct", "minpow_vs_alan_pct"),
        ("throughput over the closest rival", "vs_best_thr_X", "maxth_vs_alan"),
        ("throughput over the baseline", "vs_base_thr_X", "maxth_vs_guc"),
    )
    return make_finding_elsewhere(
        "its panels of small and large files; and the energy of its baseline, which section V does not report",
        [
            compare_property(
                f"{what}: section V reports no more", section_v[one] <= most[all_], source=Source.ARITHMETIC
            )
            for what, all_, one in pairs
        ],
    )


def check_parameters(_claim: Claim, _claims: Claims) -> Finding:
    """Check that without pipelining each file costs one more round trip: time by our prior, less that with deep
    pipelining.
    """
    rtt_s, data = 0.06, DataSet(file_count=1000, total_bytes=100 * MB)
    at = build_throughput_model(Path(bandwidth_bps=1000 * MBIT, rtt_s=rtt_s), data)

    def compute_seconds(concurrency: int, pipelining: int) -> float:
        setting = Parameters(concurrency=concurrency, parallelism=1, pipelining=pipelining)
        return BITS_PER_BYTE * data.total_bytes / at(setting)

    idle_s = (compute_seconds(1, 1) - compute_seconds(1, 10**9)) / data.file_count
    return make_finding(
        compare_computed("idle round trips a file without requests ahead", 1, idle_s / rtt_s, relative=1e-5),
        compare_property(
            "no less than files times round trip over concurrency", compute_seconds(4, 1) >= data.file_count * rtt_s / 4
        ),
    )


def check_model_inputs(claim: Claim, _claims: Claims) -> Finding:
    """Check that our rows have its inputs, which shows no effect of any: its logs varied them, and are not here."""
    return make_finding_elsewhere("its logs, in which all nine vary", [_compare_log_row(claim.values["inputs"])])


def check_log_schema(claim: Claim, _claims: Claims) -> Finding:
    return make_finding(_compare_log_row(claim.values["fields"]))


def check_bandwidth_shares(_claim: Claim, _claims: Claims) -> Finding:
    """Check equation 4: the shares add up to the bandwidth wherever our residual is not below 0."""
    rng = np.random.default_rng(SEED)
    bandwidth = np.full(1000, 1e9)
    actual, known, lost = (rng.uniform(0, 4e8, 1000) for _ in range(3))
    unknown = compute_unknown_rate_bps(bandwidth, actual, known, lost)
    left = bandwidth - actual - known - lost
    summed = actual + known + unknown + lost
    return make_finding(
        compare_computed(
            "sum of the shares over the bandwidth", 1.0, float(np.mean(summed[left >= 0]) / 1e9), relative=ROUNDING
        ),
        compare_computed("residuals below 0", 0, int(np.sum(unknown < 0))),
    )


def check_tiers(claim: Claim, _claims: Claims) -> Finding:
    """Check that each of our leaves is in one data set tier, in any order of rows; the first tier is the link."""
    rng = np.random.default_rng(SEED)
    size = np.exp2(np.concatenate([rng.normal(m, 0.2, 400) for m in (14, 20, 26)]))
    points = compute_coordinates(size, np.full(1200, 64.0), np.tile([0.1, 0.7], 600))
    found = [find_tiers(MicroClusters.of_points(each)).leaves for each in (points, points[rng.permutation(1200)])]
    centres = {(leaf.dataset_tier, leaf.log2_mean_file_bytes, leaf.log2_file_count) for leaf in found[0]}
    return make_finding(
        compare_computed(
            "tiers below the link",
            len(claim.values["tiers"]) - 1,
            len({"dataset_tier", "load_tier"} & {f.name for f in fields(found[0][0])}),
        ),
        compare_computed(
            "data set tiers that share a leaf with another",
            0,
            len(centres) - len({leaf.dataset_tier for leaf in found[0]}),
        ),
        compare_property("the same leaves in another order of rows", found[0] == found[1]),
    )


def check_accuracy(claim: Claim, _claims: Claims) -> Finding:
    train, test = split_randomly(1000, np.random.default_rng(SEED))
    return make_finding_elsewhere(
        "its two weeks of logs, and what it means by accuracy",
        [
            compare_computed("share of rows that are learned from", claim.values["train"], float(train.mean())),
            compare_computed("share of rows held out", claim.values["test"], float(test.mean()), relative=ROUNDING),
        ],
    )


def _compute_bdp_bytes(site: Mapping[str, float]) -> float:
    return Path(bandwidth_bps=site["bw"] * 1e9, rtt_s=site["rtt_ms"] / 1e3).bdp_bytes or 0.0


SUITED_STREAMS = 2
"""Buffers are set to what a path holds: in Gbyte/s its two would take 9 and 13 streams."""


def check_sites(claim: Claim, _claims: Claims) -> Finding:
    """Check that its buffers are near what its paths hold, a few streams' worth at most, if the rates are in Gbit/s."""
    comparisons = []
    for name, site in claim.values.items():
        ours = compute_parallelism(_compute_bdp_bytes(site), 4 * GB, site["buffer_MB"] * MB)
        comparisons.append(
            compare_property(f"{name}: so few streams fill it that its buffers suit Gbit/s", ours <= SUITED_STREAMS)
        )
    return make_finding_elsewhere("its hosts at IBM and XSEDE", comparisons)


def check_data_sets(claim: Claim, claims: Claims) -> Finding:
    """Check that its three classes of files are ours on its path of 10 Gbit/s."""
    bdp = _compute_bdp_bytes(claims["001-table1"].values["XSEDE"])
    units = {"MB": MB, "GB": GB}
    named = {name.split("_")[0]: sum(ends) / 2 * units[name.split("_")[1]] for name, ends in claim.values.items()}
    right = sum(classify_file(size, bdp).value == name for name, size in named.items())
    return make_finding(compare_cases("classes: ours by their middle", len(named), right))


def check_htee_search(claim: Claim, _claims: Claims) -> Finding:
    """Run our search on a made host, whose power rises with the square of its channels: what it tries and what it
    keeps.
    """
    limit, best = 12, 7
    search, _ = (tuner := htee.HTEE((), Path(bandwidth_bps=1e9, rtt_s=0.02), limit)).begin()
    tried = []
    for number in range(1, limit + 1):
        tried.append(search.channels)
        search, _ = tuner.step(search, _make_tick(number, search.channels, power_w=best**2 + search.channels**2))
    levels = list(dict.fromkeys(tried))
    return make_finding(
        compare_computed("channels that it begins with", 1, levels[0]),
        compare_cases(
            "steps: so many channels more",
            len(levels) - 1,
            sum(b - a == claim.values["step"] for a, b in pairwise(levels)),
        ),
        compare_property("it goes up to the limit, not beyond", limit - claim.values["step"] < max(levels) <= limit),
        compare_computed("channels that it keeps", best, tried[-1]),
    )


def _make_tick(number: int, channels: int, *, power_w: float) -> TickSample:
    """Return a tick of a path whose rate is proportional to the number of channels."""
    rate_bps = 1e7 * channels
    return TickSample(
        sequence=number, at_s=5.0 * number, interval_s=5.0, bytes_moved=10**6 * number, throughput_bps=rate_bps,
        remaining_bytes=10**9, remaining_files=100, power_w=power_w,
    )  # fmt: skip


def check_rivals(_claim: Claim, _claims: Claims) -> Finding:
    return make_finding_elsewhere("its hosts at IBM and XSEDE, and their RAPL counters")


def check_rclone(claim: Claim, _claims: Claims) -> Finding:
    """Check its claim that rclone's default counts connections of one file; the flag of that number counts files at
    once.
    """
    count = claim.values["transfers"]
    flag = next(
        each
        for each in build_flags_for_tool("rclone", Parameters(concurrency=count)).flags
        if each.words == ("--transfers", str(count))
    )
    return make_finding(compare_property("rclone's four are streams of one file", flag.parameter == "parallelism"))


def check_labels(claim: Claim, _claims: Claims) -> Finding:
    """Check that text and captions name other panels: a slip of letters, which contradicts no number of the paper."""
    panels = re.search(r"\(([a-z])-([a-z])\).*\(([a-z])\)-\(([a-z])\)", claim.statement)
    if panels is None:
        raise InvalidValue(claim.id, "does not tell the panels of the text and of the captions")
    first, last, first_captioned, last_captioned = (ord(letter) - ord("a") + 1 for letter in panels.groups())
    if (first, last) == (first_captioned, last_captioned):
        return make_finding(compare_property("text and captions name the same panels", holds=True))
    return make_finding_elsewhere("which of its panels are meant: text and captions name others")


def check_violations(_claim: Claim, _claims: Claims) -> Finding:
    return make_finding_elsewhere("its hosts; and it does not say of what the 3 to 6 % are a share")


CHECKS = {
    "001-abstract": check_headlines,
    "001-params": check_parameters,
    "001-eq3": check_model_inputs,
    "001-eq4": check_bandwidth_shares,
    "001-step1": check_log_schema,
    "001-step3": check_tiers,
    "001-step4": check_accuracy,
    "001-table1": check_sites,
    "001-datasets": check_data_sets,
    "001-htee": check_htee_search,
    "001-res-guc": check_rivals,
    "001-rclone": check_rclone,
    "001-fig2-labels": check_labels,
    "001-sla-viol": check_violations,
}
