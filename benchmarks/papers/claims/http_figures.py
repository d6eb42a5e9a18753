"""Claims of the HTTP-services paper (002) that it measured, and its lessons: whether they fit each other and the model.

What the testbed has to say of them is in `measured`.
"""

from dataclasses import replace
from typing import Any

from benchmarks.papers.catalogue import Claim, Claims
from benchmarks.papers.claims.http_sla import HOSTS
from benchmarks.papers.finding import (
    Finding,
    Source,
    compare_cases,
    compare_computed,
    compare_printed,
    compare_property,
    make_finding,
    make_finding_elsewhere,
)
from benchmarks.papers.printed import find_printed_range, read_bytes_both_ways
from tradewind.dataset import DataSet
from tradewind.energy.measured import compute_base_energy_j
from tradewind.heuristics import compute_parallelism, compute_pipelining
from tradewind.parameters import Parameters
from tradewind.path import Path
from tradewind.units import MBIT
from tradewind.unknown_path.prior import build_throughput_model

MB = 10**6
MOST_FILES, PIPELINED, MOST_STREAMS = 16, 32, 8
"""The most that it tries of each."""


def check_figure_2(claim: Claim, _claims: Claims) -> Finding:
    return make_finding_elsewhere(
        HOSTS,
        [
            compare_printed(
                f"{name}: highest rate over that of one file at a time",
                ratio,
                find_printed_range(most) / find_printed_range(least),
            )
            for name, (least, most, ratio) in claim.values["cc"].items()
        ],
    )


def check_figure_3(claim: Claim, claims: Claims) -> Finding:
    """Check whether pipelining gains less on the longer path; by the model it gains more, as it hides round trips."""
    near, far = claims["002-fig2"].values, claim.values
    comparisons = []
    for name, _, files, _, mean, *_ in claims["002-table1"].values["rows"]:
        if name.upper() == "VIDEO":
            continue
        key = next(each for each in far["pp_gain_pct"] if each.lower() == name.lower())
        data = DataSet(file_count=files, total_bytes=round(files * read_bytes_both_ways(mean)[0].value))
        gains = [_compute_pipelining_gain(each["rtt_ms"], near["bw_Mbps"], data) for each in (near, far)]
        comparisons.append(
            compare_property(
                f"{name}: requests ahead gain less on the longer path",
                gains[1] < gains[0],
                claimed=far["pp_gain_pct"][key] < near["pp_gain_pct"][key],
            )
        )
    return make_finding_elsewhere(HOSTS, comparisons)


def _compute_pipelining_gain(rtt_ms: float, mbps: float, data: DataSet) -> float:
    at = build_throughput_model(Path(bandwidth_bps=mbps * MBIT, rtt_s=rtt_ms / 1e3), data)
    one, many = (Parameters(concurrency=1, parallelism=1, pipelining=n) for n in (1, PIPELINED))
    return at(many) / at(one) - 1


def check_figure_4(claim: Claim, claims: Claims) -> Finding:
    """Check that all parameters together gain at least what concurrency alone does in figure 2."""
    single = claims["002-fig2"].values["cc"]
    return make_finding_elsewhere(
        HOSTS,
        [
            compare_property(
                f"{name}: together no less than the best alone",
                find_printed_range(gained).high >= find_printed_range(single[key][2]).low,
                source=Source.ARITHMETIC,
            )
            for name, (gained, _) in claim.values.items()
            for key in single
            if key.lower() == name.lower()
        ],
    )


def check_figure_5(claim: Claim, _claims: Claims) -> Finding:
    values = claim.values
    comparisons = []
    for which, power_w, time_s, energy_j in zip(
        ("one file at a time", "the most at a time"), values["P_W"], values["t_s"], values["E_J"], strict=True
    ):
        comparisons.append(
            compare_printed(
                f"{which}: power times time, J", energy_j, find_printed_range(power_w) * find_printed_range(time_s)
            )
        )
        comparisons.append(
            compare_computed(
                f"{which}: the same by our energy, J", energy_j, compute_base_energy_j(time_s, power_w), relative=0.03
            )
        )
    return make_finding_elsewhere(HOSTS, comparisons)


def check_figure_6(claim: Claim, _claims: Claims) -> Finding:
    values = claim.values
    return make_finding_elsewhere(
        "hosts and a path of 10 Gbit/s, which two cores do not emulate",
        [
            compare_property(
                "the peak of brute force is within its range",
                values["bf_peak_about"] <= values["bf_max"],
                source=Source.ARITHMETIC,
            )
        ],
    )


def check_figure_7(claim: Claim, _claims: Claims) -> Finding:
    order = claim.values["bf_pct"]
    nearest = order["EE"] == max(order.values())
    return make_finding_elsewhere(
        HOSTS, [compare_property("EE is nearest to brute force", nearest, source=Source.ARITHMETIC)]
    )


def check_figure_8(claim: Claim, _claims: Claims) -> Finding:
    slow, fast = claim.values["Mbps"]
    return make_finding_elsewhere(
        HOSTS,
        [
            compare_printed(
                "energy saved at best, as in the abstract, %",
                claim.find_number_after("'up to"),
                find_printed_range(-claim.values["mine_pct"]),
            ),
            compare_property("MaxThr's rate rises with channels", fast > slow, source=Source.ARITHMETIC),
        ],
    )


def check_flexible(claim: Claim, _claims: Claims) -> Finding:
    values = claim.values
    share = claim.find_number_after("(10G);")
    return make_finding_elsewhere(
        HOSTS,
        [
            compare_printed(
                "target of 95 % of the highest rate, Mbit/s",
                values["t95_Mbps"],
                find_printed_range(values["max_Mbps"]) * (share / 100),
            )
        ],
    )


def check_rules(_claim: Claim, claims: Claims) -> Finding:
    """Check its rules by our forms: concurrency first, pipelining below the bandwidth-delay product, streams for large
    files.
    """
    values = claims["002-fig2"].values
    path = Path(bandwidth_bps=values["bw_Mbps"] * MBIT, rtt_s=values["rtt_ms"] / 1e3)
    bdp = path.bdp_bytes or 0.0
    small, large = bdp / 50, bdp * 50
    gains = [_list_gains(path, row) for row in claims["002-table1"].values["rows"]]
    return make_finding(
        compare_cases(
            f"data sets: {MOST_FILES} files gain no less than {PIPELINED} requests ahead or {MOST_STREAMS} streams",
            len(gains),
            sum(gain[0] == max(gain) for gain in gains),
        ),
        compare_property(
            "files below the bandwidth-delay product are asked for ahead", compute_pipelining(bdp, small) > 1
        ),
        compare_computed("requests in flight for a file far above it", 1, compute_pipelining(bdp, large)),
        compare_computed("streams for a small file", 1, compute_parallelism(bdp, small, bdp / 8)),
        compare_property("streams for a large file are several", compute_parallelism(bdp, large, bdp / 8) > 1),
    )


def _list_gains(path: Path, row: list[Any]) -> list[float]:
    """Return rates of a data set by our closed form, over that of one file, stream and request at a time."""
    _, total_mb, files, *_ = row
    at = build_throughput_model(path, DataSet(file_count=files, total_bytes=round(total_mb * MB)))
    one = Parameters(concurrency=1, parallelism=1, pipelining=1)
    more = (
        replace(one, concurrency=MOST_FILES),
        replace(one, pipelining=PIPELINED),
        replace(one, parallelism=MOST_STREAMS),
    )
    return [at(each) / at(one) for each in more]


CHECKS = {
    "002-lessons": check_rules,
    "002-fig2": check_figure_2,
    "002-fig3": check_figure_3,
    "002-fig4": check_figure_4,
    "002-fig5": check_figure_5,
    "002-fig6": check_figure_6,
    "002-fig7": check_figure_7,
    "002-fig8": check_figure_8,
    "002-flex-res": check_flexible,
}
