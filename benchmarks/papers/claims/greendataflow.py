"""Claims of the GreenDataFlow paper (001): definitions, agreements, learning and tables."""

import re
from collections.abc import Mapping
from dataclasses import fields
from itertools import pairwise

import numpy as np

from benchmarks.papers.catalogue import Fact, Facts
from benchmarks.papers.finding import (
    By,
    Comparison,
    Finding,
    compared,
    computed,
    elsewhere,
    holds_for_all,
    property_of,
    recomputed,
)
from tradewind.dataset import DataSet, classify_file
from tradewind.energy.measured import EnergyReading
from tradewind.errors import InvalidValue
from tradewind.flags import flags_for_tool
from tradewind.heuristics import parallelism
from tradewind.learning.clustering.micro_clusters import MicroClusters, coordinates
from tradewind.learning.clustering.tiered import find_tiers
from tradewind.learning.load.external import unknown_rate_bps
from tradewind.learning.validation import random_split
from tradewind.parameters import Parameters
from tradewind.path import Path
from tradewind.transfer import ResourceUsage, TransferRecord
from tradewind.tuning.reference import htee
from tradewind.tuning.sample import TickSample
from tradewind.units import BITS_PER_BYTE, GB, MBIT
from tradewind.unknown_path.prior import throughput_model

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


def _in_a_log_row(names: list[str]) -> Comparison:
    known = [name for name in names if name in FIELD_OF and _has(*FIELD_OF[name])]
    return holds_for_all("its fields: a row of our log has them", len(names), len(known))


def _has(kind: type, name: str) -> bool:
    return name in {each.name for each in fields(kind)}


def headlines(fact: Fact, facts: Facts) -> Finding:
    """What the abstract promises "up to" is no less than what section V tells, of files of middle size alone."""
    most, told = fact.values, facts["001-res-guc"].values
    pairs = (
        ("energy saved against the closest rival", "vs_best_energy_pct", "minpow_vs_alan_pct"),
        ("throughput over the closest rival", "vs_best_thr_X", "maxth_vs_alan"),
        ("throughput over the baseline", "vs_base_thr_X", "maxth_vs_guc"),
    )
    return elsewhere(
        "its panels of small and large files; and the energy of its baseline, which section V does not tell",
        [
            property_of(f"{what}: section V tells no more", told[one] <= most[all_], by=By.ARITHMETIC)
            for what, all_, one in pairs
        ],
    )


def parameters(_fact: Fact, _facts: Facts) -> Finding:
    """Without requests ahead each file costs a round trip more: time by our prior less that with many ahead."""
    rtt_s, data = 0.06, DataSet(file_count=1000, total_bytes=100 * MB)
    at = throughput_model(Path(bandwidth_bps=1000 * MBIT, rtt_s=rtt_s), data)

    def seconds(concurrency: int, pipelining: int) -> float:
        setting = Parameters(concurrency=concurrency, parallelism=1, pipelining=pipelining)
        return BITS_PER_BYTE * data.total_bytes / at(setting)

    idle_s = (seconds(1, 1) - seconds(1, 10**9)) / data.file_count
    return compared(
        computed("idle round trips a file without requests ahead", 1, idle_s / rtt_s, relative=1e-5),
        property_of(
            "no less than files times round trip over concurrency", seconds(4, 1) >= data.file_count * rtt_s / 4
        ),
    )


def model_inputs(fact: Fact, _facts: Facts) -> Finding:
    return compared(_in_a_log_row(fact.values["inputs"]))


def log_schema(fact: Fact, _facts: Facts) -> Finding:
    return compared(_in_a_log_row(fact.values["fields"]))


def bandwidth_shares(_fact: Fact, _facts: Facts) -> Finding:
    """Equation 4: what our residual leaves adds up to the bandwidth wherever it is not below 0."""
    rng = np.random.default_rng(SEED)
    bandwidth = np.full(1000, 1e9)
    actual, known, lost = (rng.uniform(0, 4e8, 1000) for _ in range(3))
    unknown = unknown_rate_bps(bandwidth, actual, known, lost)
    left = bandwidth - actual - known - lost
    summed = actual + known + unknown + lost
    return compared(
        computed(
            "sum of the shares over the bandwidth", 1.0, float(np.mean(summed[left >= 0]) / 1e9), relative=ROUNDING
        ),
        computed("residuals below 0", 0, int(np.sum(unknown < 0))),
    )


def tiers(fact: Fact, _facts: Facts) -> Finding:
    """Each leaf of ours in one data set tier, whatever the order of rows; the first tier is the link itself."""
    rng = np.random.default_rng(SEED)
    size = np.exp2(np.concatenate([rng.normal(m, 0.2, 400) for m in (14, 20, 26)]))
    points = coordinates(size, np.full(1200, 64.0), np.tile([0.1, 0.7], 600))
    found = [find_tiers(MicroClusters.of_points(each)).leaves for each in (points, points[rng.permutation(1200)])]
    centres = {(leaf.dataset_tier, leaf.log2_mean_file_bytes, leaf.log2_file_count) for leaf in found[0]}
    return compared(
        computed(
            "tiers below the link",
            len(fact.values["tiers"]) - 1,
            len({"dataset_tier", "load_tier"} & {f.name for f in fields(found[0][0])}),
        ),
        computed(
            "data set tiers that share a leaf with another",
            0,
            len(centres) - len({leaf.dataset_tier for leaf in found[0]}),
        ),
        property_of("the same leaves in another order of rows", found[0] == found[1]),
    )


def accuracy(fact: Fact, _facts: Facts) -> Finding:
    train, test = random_split(1000, np.random.default_rng(SEED))
    return elsewhere(
        "its two weeks of logs, and what it means by accuracy",
        [
            computed("share of rows that are learned from", fact.values["train"], float(train.mean())),
            computed("share of rows held out", fact.values["test"], float(test.mean()), relative=ROUNDING),
        ],
    )


def _bdp_bytes(site: Mapping[str, float]) -> float:
    return Path(bandwidth_bps=site["bw"] * 1e9, rtt_s=site["rtt_ms"] / 1e3).bdp_bytes or 0.0


SUITED_STREAMS = 2
"""Buffers are set to what a path holds: in Gbyte/s its two would take 9 and 13 streams."""


def sites(fact: Fact, _facts: Facts) -> Finding:
    """Its buffers are near what its paths hold, a few streams' worth at most, if the rates are in Gbit/s."""
    told = []
    for name, site in fact.values.items():
        ours = parallelism(_bdp_bytes(site), 4 * GB, site["buffer_MB"] * MB)
        told.append(property_of(f"{name}: so few streams fill it that its buffers suit Gbit/s", ours <= SUITED_STREAMS))
    return elsewhere("its hosts at IBM and XSEDE", told)


def data_sets(fact: Fact, facts: Facts) -> Finding:
    """Its three classes of files are ours on its path of 10 Gbit/s."""
    bdp = _bdp_bytes(facts["001-table1"].values["XSEDE"])
    units = {"MB": MB, "GB": GB}
    named = {name.split("_")[0]: sum(ends) / 2 * units[name.split("_")[1]] for name, ends in fact.values.items()}
    right = sum(classify_file(size, bdp).value == name for name, size in named.items())
    return compared(holds_for_all("classes: ours by their middle", len(named), right))


def htee_search(fact: Fact, _facts: Facts) -> Finding:
    """Ours on a made host, whose power rises with the square of its channels: what it tries, and what it keeps."""
    limit, best = 12, 7
    search, _ = (tuner := htee.HTEE((), Path(bandwidth_bps=1e9, rtt_s=0.02), limit)).begin()
    tried = []
    for number in range(1, limit + 1):
        tried.append(search.channels)
        search, _ = tuner.step(search, _tick(number, search.channels, power_w=best**2 + search.channels**2))
    levels = list(dict.fromkeys(tried))
    return compared(
        computed("channels that it begins with", 1, levels[0]),
        holds_for_all(
            "steps: so many channels more",
            len(levels) - 1,
            sum(b - a == fact.values["step"] for a, b in pairwise(levels)),
        ),
        property_of("it goes up to the limit, not beyond", limit - fact.values["step"] < max(levels) <= limit),
        computed("channels that it keeps", best, tried[-1]),
    )


def _tick(number: int, channels: int, *, power_w: float) -> TickSample:
    """Of a path that carries as much more as there are channels."""
    rate_bps = 1e7 * channels
    return TickSample(
        sequence=number, at_s=5.0 * number, interval_s=5.0, bytes_moved=10**6 * number, throughput_bps=rate_bps,
        remaining_bytes=10**9, remaining_files=100, power_w=power_w,
    )  # fmt: skip


def rivals(_fact: Fact, _facts: Facts) -> Finding:
    return elsewhere("its hosts at IBM and XSEDE, and their RAPL counters")


def rclone(fact: Fact, _facts: Facts) -> Finding:
    """Its default is said to be connections of a single file; the flag of that number counts files at once."""
    count = fact.values["transfers"]
    flag = next(
        each
        for each in flags_for_tool("rclone", Parameters(concurrency=count)).flags
        if each.words == ("--transfers", str(count))
    )
    return compared(property_of("rclone's four are streams of one file", flag.parameter == "parallelism"))


def labels(fact: Fact, _facts: Facts) -> Finding:
    """Panels of medium files by their letters, a as 1: what the text says beside what the captions say."""
    panels = re.search(r"\(([a-z])-([a-z])\).*\(([a-z])\)-\(([a-z])\)", fact.statement)
    if panels is None:
        raise InvalidValue(fact.id, "does not tell the panels of the text and of the captions")
    first, last, first_captioned, last_captioned = (ord(letter) - ord("a") + 1 for letter in panels.groups())
    return compared(
        recomputed("first panel of medium files: text beside captions", first, first_captioned),
        recomputed("last panel of medium files: text beside captions", last, last_captioned),
        recomputed(
            "panels of medium files: text beside captions", last - first + 1, last_captioned - first_captioned + 1
        ),
    )


def violations(_fact: Fact, _facts: Facts) -> Finding:
    return elsewhere("its hosts; and it does not say of what the 3 to 6 % are a share")


CHECKS = {
    "001-abstract": headlines,
    "001-params": parameters,
    "001-eq3": model_inputs,
    "001-eq4": bandwidth_shares,
    "001-step1": log_schema,
    "001-step3": tiers,
    "001-step4": accuracy,
    "001-table1": sites,
    "001-datasets": data_sets,
    "001-htee": htee_search,
    "001-res-guc": rivals,
    "001-rclone": rclone,
    "001-fig2-labels": labels,
    "001-sla-viol": violations,
}
