"""Claims of the HTTP-services paper (002): its data sets, rules and algorithms."""

import random
import re
from math import ceil
from typing import Any

from benchmarks.papers.catalogue import Claim, Claims
from benchmarks.papers.finding import (
    Comparison,
    Finding,
    Source,
    compare_cases,
    compare_computed,
    compare_printed,
    compare_property,
    compare_recovered,
    make_finding,
    make_finding_elsewhere,
)
from benchmarks.papers.paths import CARRIED_MBPS, CHICAGO, VIRGINIA
from benchmarks.papers.printed import pick_closest, read_bytes_both_ways
from benchmarks.testbed.peers import PEERS
from tradewind.dataset import Chunk, ChunkKind, DataSet, classify_file
from tradewind.energy.power_model import CalibrationSample, FineModel, fit_cpu, fit_fine
from tradewind.errors import InvalidUnit
from tradewind.flags import build_flags_for_tool
from tradewind.heuristics import (
    EFFICIENCY_STEP,
    compute_bits_per_joule,
    compute_flexible_throughput_concurrency,
    compute_pipelining,
    compute_throughput_per_joule,
    deal_channels,
    list_efficiency_levels,
    plan_min_energy,
)
from tradewind.parameters import Parameters
from tradewind.path import Path
from tradewind.units import MBIT, parse_joules

MB = 10**6
ROMAN = ("I", "II", "III", "IV", "V", "VI", "VII")
SEVERAL = 8
SETUPS = {CHICAGO: "Chicago", VIRGINIA: "Virginia"}
"""What stands before the rate and the round trip of a path."""

HOSTS = "its hosts and their power models"
COMPONENT_OF = {"cpu": "cpu", "mem": "memory", "disk": "disk", "nic": "nic"}
SEED = 17
SD_TOLERANCE = 0.1
"""Of a few files drawn evenly, as the paper's were or were not."""


def check_quoted(claim: Claim, _claims: Claims) -> Finding:
    """Check the unit of what it quotes, which alone is ours to judge: an energy has no unit of power."""
    comparisons = []
    if "terawatts of electricity" in claim.note:
        comparisons.append(
            compare_property(
                "terawatts are an energy, as it consumes them in a year", _is_energy("1TW"), source=Source.ARITHMETIC
            )
        )
        comparisons.append(compare_property("terawatt hours are one", _is_energy("1TWh"), source=Source.ARITHMETIC))
    return make_finding_elsewhere(
        "statistics of others, quoted; what devices between the ends take is none of our accounts", comparisons
    )


def _is_energy(text: str) -> bool:
    try:
        return parse_joules(text) > 0
    except InvalidUnit:
        return False


def check_outline(claim: Claim, _claims: Claims) -> Finding:
    """Check that each of its data sets has a number of its own, and that its sixth section is not two at once."""
    items = re.findall(r"\((i+)\)", claim.statement)
    promised = ROMAN.index(claim.find_word_after("Section")) + 1
    return make_finding(
        compare_computed(
            "numbers of its data sets that stand for one each", len(items), len(set(items)), source=Source.ARITHMETIC
        ),
        compare_property(
            f"section {promised} is what its outline promises, and no conclusion",
            promised != claim.find_number_after("but section"),
            source=Source.ARITHMETIC,
        ),
    )


def check_data_sets(claim: Claim, _claims: Claims) -> Finding:
    """Check totals by either reading of the units, and the spread of files drawn evenly between the least and the
    largest.
    """
    comparisons: list[Comparison] = []
    for name, total_mb, files, _, mean, least, most, sd in claim.values["rows"]:
        totals = read_bytes_both_ways(f"{total_mb} MB")
        means = [files * each for each in read_bytes_both_ways(mean)]
        claimed = next((each for each in totals if any(each.overlaps(own) for own in means)), totals[0])
        comparisons.append(
            compare_printed(f"{name}: files times mean size, MB", claimed / MB, pick_closest(claimed, means) / MB)
        )
        low, high, spread = (read_bytes_both_ways(text)[0].value for text in (least, most, sd))
        drawn = DataSet.of_sizes(round(low + (high - low) * (n + 0.5) / files) for n in range(files))
        comparisons.append(
            compare_computed(
                f"{name}: deviation of even sizes, kB",
                spread / 1e3,
                (drawn.sd_file_bytes or 0) / 1e3,
                relative=SD_TOLERANCE,
            )
        )
    fitting_rows = max(map(sum, zip(*map(_check_readings, claim.values["rows"]), strict=True)))
    return make_finding(
        compare_printed(
            "rows whose totals fit their means by one reading of MB", len(claim.values["rows"]), fitting_rows
        ),
        *comparisons,
    )


def _check_readings(row: list[Any]) -> tuple[bool, bool]:
    """Return whether the total, in decimal and in binary MB, fits files times mean size by either reading of that."""
    _, total_mb, files, _, mean, *_ = row
    decimal, binary = read_bytes_both_ways(f"{total_mb} MB")
    means = [files * each for each in read_bytes_both_ways(mean)]
    return any(decimal.overlaps(own) for own in means), any(binary.overlaps(own) for own in means)


def check_power_models(claim: Claim, _claims: Claims) -> Finding:
    """Fit both models to made samples of a host with known coefficients: this recovers them and measures nothing."""
    draw = random.Random(SEED)
    features = claim.values["features_fine"]
    truth = FineModel(12.0, {COMPONENT_OF[name]: 40.0 / (n + 1) for n, name in enumerate(features)})
    usages = [{name: draw.random() for name in truth.component_w} for _ in range(40)]
    samples = [
        CalibrationSample(n, each, truth.predict_power_w(each) * draw.gauss(1, 0.01)) for n, each in enumerate(usages)
    ]
    model = fit_fine(samples)
    alone = FineModel(12.0, {COMPONENT_OF[name]: 40.0 for name in claim.values["features_cpu"]})
    of_cpu = fit_cpu([CalibrationSample(n, each, alone.predict_power_w(each)) for n, each in enumerate(usages)])
    comparisons = (
        compare_computed("components whose power is fitted", len(features), len(model.component_w)),
        *(
            compare_recovered(f"power of {name}, W", watts, model.component_w.get(name, 0.0), relative=SD_TOLERANCE)
            for name, watts in truth.component_w.items()
        ),
        compare_recovered(
            "power of a host at full load by its CPU alone, W", 52.0, of_cpu.full_w, relative=SD_TOLERANCE
        ),
    )
    return make_finding_elsewhere(f"{HOSTS}, and the meter that these were fitted by", comparisons)


def check_tools(_claim: Claim, _claims: Claims) -> Finding:
    """Check whether either tool opens several channels with our flags; the energy that they took cannot be repeated."""
    wget = next(peer for peer in PEERS if peer.name == "wget")
    curl_flags = build_flags_for_tool("curl", Parameters(concurrency=SEVERAL)).flags
    return make_finding_elsewhere(
        f"{HOSTS}, and wget and curl of its time",
        [
            compare_property("wget opens one channel", not wget.axes),
            compare_property("curl opens one channel", not any(str(SEVERAL) in flag.words for flag in curl_flags)),
        ],
    )


def _compute_bdp_bytes(mbps: float, rtt_ms: float) -> float:
    bdp = Path(bandwidth_bps=mbps * MBIT, rtt_s=rtt_ms / 1e3).bdp_bytes
    assert bdp is not None
    return bdp


def _make_chunks(*sizes: tuple[ChunkKind, int, int]) -> tuple[Chunk, ...]:
    return tuple(Chunk(kind, DataSet(file_count=files, total_bytes=total), None) for kind, files, total in sizes)


def check_least_energy(_claim: Claim, claims: Claims) -> Finding:
    """pp = BDP/mean of its own data sets on its path of figure 2, rounded up; most channels for small files."""
    path = claims["002-fig2"].values
    bdp = _compute_bdp_bytes(path["bw_Mbps"], path["rtt_ms"])
    comparisons = []
    for name, _, _, _, mean, *_ in claims["002-table1"].values["rows"]:
        mean_bytes = read_bytes_both_ways(mean)[0].value
        exactly = path["bw_Mbps"] * MBIT * path["rtt_ms"] / 1e3 / 8 / mean_bytes
        comparisons.append(
            compare_property(
                f"{name}: requests ahead are BDP over mean size, rounded up",
                compute_pipelining(bdp, mean_bytes) == ceil(exactly),
            )
        )
    plan = plan_min_energy(
        _make_chunks(
            (ChunkKind.SMALL, 5000, 495 * MB), (ChunkKind.MEDIUM, 500, 5000 * MB), (ChunkKind.LARGE, 20, 4458 * MB)
        ),
        Path(bandwidth_bps=path["bw_Mbps"] * MBIT, rtt_s=path["rtt_ms"] / 1e3),
        16,
    )
    counts = [each.parameters.concurrency or 0 for each in plan]
    return make_finding(
        *comparisons,
        compare_property("small files get the most channels", counts[0] == max(counts)),
        compare_property("large files the least", counts[-1] == min(counts)),
    )


def check_most_throughput(claim: Claim, _claims: Claims) -> Finding:
    """Compare channels dealt in turn, in the printed order, with ours."""
    kinds = (ChunkKind.SMALL, ChunkKind.MEDIUM, ChunkKind.LARGE)
    chunks = _make_chunks(*((kind, 100, 100 * MB) for kind in kinds))
    comparisons: list[Comparison] = []
    for channels in (5, 7, 32):
        dealt_kinds = [claim.values["order"][n % len(kinds)].lower() for n in range(channels)]
        ours = dict(zip(kinds, deal_channels(chunks, channels), strict=True))
        comparisons.extend(
            compare_computed(f"{kind} channels of {channels}", dealt_kinds.count(kind), ours[kind]) for kind in kinds
        )
    return make_finding(*comparisons)


def check_energy_efficiency(claim: Claim, _claims: Claims) -> Finding:
    levels = claim.values["levels_for_32"]
    most = 32
    ours = list_efficiency_levels(most)
    comparisons = [
        compare_computed("channels added at a time", claim.values["step"], EFFICIENCY_STEP),
        compare_computed("levels that are tried up to 32", len(levels), len(ours)),
        compare_property("the same levels", list(ours) == levels),
    ]
    if "halves the search" in claim.note:
        comparisons.append(
            compare_computed(
                "share of all levels that such steps leave", 1 / 2, len(levels) / most, source=Source.ARITHMETIC
            )
        )
    return make_finding(*comparisons)


def check_efficiency_metrics(_claim: Claim, _claims: Claims) -> Finding:
    """Check whether bits a joule and throughput over energy are one measure: they differ where the rate saturates."""
    data_bits, levels = 1e11, range(1, 33)
    rate_bps = {n: 1e9 * n / (n + 8) for n in levels}
    power_w = {n: 60.0 + 5.0 * n for n in levels}
    per_bit = max(levels, key=lambda n: compute_bits_per_joule(rate_bps[n], power_w[n]))
    by_energy = min(levels, key=lambda n: power_w[n] * data_bits / rate_bps[n])
    ratio = max(levels, key=lambda n: compute_throughput_per_joule(rate_bps[n], power_w[n] * data_bits / rate_bps[n]))
    return make_finding(
        compare_property("most bits a joule are at the level of least energy", by_energy == per_bit),
        compare_property(
            "most throughput a joule of the whole is at the same level", per_bit == ratio, source=Source.ARITHMETIC
        ),
    )


def check_flexible(_claim: Claim, _claims: Claims) -> Finding:
    """Check that one jump reaches the target and passes it by less than a channel, where each channel adds the same."""
    one_bps, reached, passed = 37e6, 0, 0
    targets = [one_bps * 32 * share / 20 for share in range(2, 21)]
    for target in targets:
        channels = compute_flexible_throughput_concurrency(target, one_bps, 1)
        reached += channels * one_bps >= target
        passed += channels * one_bps - target >= one_bps
    return make_finding(
        compare_cases("targets: one jump reaches them", len(targets), reached),
        compare_computed("targets that it passes by a channel or more", 0, passed),
    )


def check_setup(claim: Claim, _claims: Claims) -> Finding:
    """Check that files of these sizes are both below and above what each of its paths holds."""
    comparisons = []
    for name, words in SETUPS.items():
        gbps, rtt_ms = (
            claim.find_number_after(words),
            claim.find_number_after(f"{words} {claim.find_number_after(words):g} Gbps"),
        )
        bdp = _compute_bdp_bytes(1e3 * gbps, rtt_ms)
        kinds = [classify_file(1e3 * kb, bdp) for kb in claim.values["file_KB"]]
        comparisons.append(
            compare_property(
                f"{name}: its smallest files are small there, its largest are not",
                [kind is ChunkKind.SMALL for kind in kinds] == [True, False],
            )
        )
    carried = f"a path of a gigabit a second and more is emulated with {CARRIED_MBPS:g} Mbit/s"
    return make_finding_elsewhere(f"its hosts at Chameleon, AWS and DIDCLab; {carried}", comparisons)


CHECKS = {
    "002-context": check_quoted,
    "002-table1": check_data_sets,
    "002-power-models": check_power_models,
    "002-cli": check_tools,
    "002-mine": check_least_energy,
    "002-maxthr": check_most_throughput,
    "002-ee": check_energy_efficiency,
    "002-ee-metric": check_efficiency_metrics,
    "002-flex": check_flexible,
    "002-missing": check_outline,
    "002-setup5": check_setup,
}
