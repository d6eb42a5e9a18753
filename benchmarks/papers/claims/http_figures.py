"""Claims of the HTTP-services paper (002) that it measured, and its lessons: whether they fit each other and the model.

What the testbed has to say of them is in `measured`.
"""

from dataclasses import replace
from typing import Any

from benchmarks.papers.catalogue import Fact, Facts
from benchmarks.papers.claims.http_sla import HOSTS
from benchmarks.papers.finding import By, Finding, compared, computed, elsewhere, holds_for_all, property_of, recomputed
from benchmarks.papers.printed import printed, readings_of_bytes
from tradewind.dataset import DataSet
from tradewind.energy.measured import base_energy_j
from tradewind.heuristics import parallelism, pipelining
from tradewind.parameters import Parameters
from tradewind.path import Path
from tradewind.units import MBIT
from tradewind.unknown_path.prior import throughput_model

MB = 10**6
MOST_FILES, PIPELINED, MOST_STREAMS = 16, 32, 8
"""The most that it tries of each."""


def figure_2(fact: Fact, _facts: Facts) -> Finding:
    return elsewhere(
        HOSTS,
        [
            recomputed(f"{name}: highest rate over that of one file at a time", ratio, printed(most) / printed(least))
            for name, (least, most, ratio) in fact.values["cc"].items()
        ],
    )


def figure_3(fact: Fact, facts: Facts) -> Finding:
    """Requests ahead are said to gain less on the longer path; by the model they gain more, since they hide trips."""
    near, far = facts["002-fig2"].values, fact.values
    told = []
    for name, _, files, _, mean, *_ in facts["002-table1"].values["rows"]:
        if name.upper() == "VIDEO":
            continue
        key = next(each for each in far["pp_gain_pct"] if each.lower() == name.lower())
        data = DataSet(file_count=files, total_bytes=round(files * readings_of_bytes(mean)[0].value))
        gains = [_pipelining_gain(each["rtt_ms"], near["bw_Mbps"], data) for each in (near, far)]
        told.append(
            property_of(
                f"{name}: requests ahead gain less on the longer path",
                gains[1] < gains[0],
                claimed=far["pp_gain_pct"][key] < near["pp_gain_pct"][key],
            )
        )
    return elsewhere(HOSTS, told)


def _pipelining_gain(rtt_ms: float, mbps: float, data: DataSet) -> float:
    at = throughput_model(Path(bandwidth_bps=mbps * MBIT, rtt_s=rtt_ms / 1e3), data)
    one, many = (Parameters(concurrency=1, parallelism=1, pipelining=n) for n in (1, PIPELINED))
    return at(many) / at(one) - 1


def figure_4(fact: Fact, facts: Facts) -> Finding:
    """All parameters together gain at least what concurrency alone does in figure 2."""
    single = facts["002-fig2"].values["cc"]
    return elsewhere(
        HOSTS,
        [
            property_of(
                f"{name}: together no less than the best alone",
                printed(gained).high >= printed(single[key][2]).low,
                by=By.ARITHMETIC,
            )
            for name, (gained, _) in fact.values.items()
            for key in single
            if key.lower() == name.lower()
        ],
    )


def figure_5(fact: Fact, _facts: Facts) -> Finding:
    values = fact.values
    told = []
    for which, power_w, time_s, energy_j in zip(
        ("one file at a time", "the most at a time"), values["P_W"], values["t_s"], values["E_J"], strict=True
    ):
        told.append(recomputed(f"{which}: power times time, J", energy_j, printed(power_w) * printed(time_s)))
        told.append(
            computed(f"{which}: the same by our energy, J", energy_j, base_energy_j(time_s, power_w), relative=0.03)
        )
    return elsewhere(HOSTS, told)


def figure_6(fact: Fact, _facts: Facts) -> Finding:
    values = fact.values
    return elsewhere(
        "hosts and a path of 10 Gbit/s, which two cores do not emulate",
        [
            property_of(
                "the peak of brute force is within its range",
                values["bf_peak_about"] <= values["bf_max"],
                by=By.ARITHMETIC,
            )
        ],
    )


def figure_7(fact: Fact, _facts: Facts) -> Finding:
    order = fact.values["bf_pct"]
    nearest = order["EE"] == max(order.values())
    return elsewhere(HOSTS, [property_of("EE is nearest to brute force", nearest, by=By.ARITHMETIC)])


def figure_8(fact: Fact, _facts: Facts) -> Finding:
    slow, fast = fact.values["Mbps"]
    return elsewhere(
        HOSTS,
        [
            recomputed(
                "energy saved at best, as in the abstract, %",
                fact.number_after("'up to"),
                printed(-fact.values["mine_pct"]),
            ),
            property_of("MaxThr's rate rises with channels", fast > slow, by=By.ARITHMETIC),
        ],
    )


def flexible(fact: Fact, _facts: Facts) -> Finding:
    values = fact.values
    share = fact.number_after("(10G);")
    return elsewhere(
        HOSTS,
        [
            recomputed(
                "target of 95 % of the highest rate, Mbit/s",
                values["t95_Mbps"],
                printed(values["max_Mbps"]) * (share / 100),
            )
        ],
    )


def rules(_fact: Fact, facts: Facts) -> Finding:
    """Files at once first, requests ahead below the bandwidth-delay product, streams for large files: by our forms."""
    values = facts["002-fig2"].values
    path = Path(bandwidth_bps=values["bw_Mbps"] * MBIT, rtt_s=values["rtt_ms"] / 1e3)
    bdp = path.bdp_bytes or 0.0
    small, large = bdp / 50, bdp * 50
    gains = [_gains(path, row) for row in facts["002-table1"].values["rows"]]
    return compared(
        holds_for_all(
            f"data sets: {MOST_FILES} files gain no less than {PIPELINED} requests ahead or {MOST_STREAMS} streams",
            len(gains),
            sum(gain[0] == max(gain) for gain in gains),
        ),
        property_of("files below the bandwidth-delay product are asked for ahead", pipelining(bdp, small) > 1),
        computed("requests in flight for a file far above it", 1, pipelining(bdp, large)),
        computed("streams for a small file", 1, parallelism(bdp, small, bdp / 8)),
        property_of("streams for a large file are several", parallelism(bdp, large, bdp / 8) > 1),
    )


def _gains(path: Path, row: list[Any]) -> list[float]:
    """Rates of a data set by our closed form, over that of one file, stream and request at a time."""
    _, total_mb, files, *_ = row
    at = throughput_model(path, DataSet(file_count=files, total_bytes=round(total_mb * MB)))
    one = Parameters(concurrency=1, parallelism=1, pipelining=1)
    more = (
        replace(one, concurrency=MOST_FILES),
        replace(one, pipelining=PIPELINED),
        replace(one, parallelism=MOST_STREAMS),
    )
    return [at(each) / at(one) for each in more]


CHECKS = {
    "002-lessons": rules,
    "002-fig2": figure_2,
    "002-fig3": figure_3,
    "002-fig4": figure_4,
    "002-fig5": figure_5,
    "002-fig6": figure_6,
    "002-fig7": figure_7,
    "002-fig8": figure_8,
    "002-flex-res": flexible,
}
