"""Claims of the mobile paper (000) that it measured: whether its own numbers fit one another.

What the testbed has to say of them is in `measured`; phones, radios and the power meter are not here.
"""

from collections.abc import Sequence

from benchmarks.papers.catalogue import Fact, Facts
from benchmarks.papers.claims.mobile import PHONE_AND_METER
from benchmarks.papers.finding import (
    By,
    Comparison,
    Finding,
    compared,
    elsewhere,
    property_of,
    recomputed,
    recovered,
)
from benchmarks.papers.printed import Range, closest, exact, printed, readings_of_bytes
from tradewind.mobile.catalogue import load_shipped_catalogue
from tradewind.mobile.energy_split import PAPER_UNIT_BYTES, TransferWork, model_energy_split
from tradewind.path import Path
from tradewind.units import BITS_PER_BYTE, GB, MBIT, MIB

MB = 10**6


def _total_bytes(fact: Fact) -> Range:
    return sum((printed(row[5]) * MB for row in fact.values["rows"]), exact(0.0))


def data_sets(fact: Fact, _facts: Facts) -> Finding:
    comparisons: list[Comparison] = []
    for name, files, mean, least, most, total_mb in fact.values["rows"]:
        if files is not None:
            claim = printed(total_mb)
            sizes: Sequence[Range] = readings_of_bytes(mean)
            if least == most:  # all of one size, which is what it says
                sizes = [exact(size.value) for size in sizes]
            ours = closest(claim, [files * each / unit for each in sizes for unit in (MB, MIB)])
            comparisons.append(recomputed(f"{name}: files times mean size, MB", claim, ours))
    return compared(*comparisons)


def total_data(fact: Fact, facts: Facts) -> Finding:
    claim = printed(fact.values["total_GB"])
    total = _total_bytes(facts["000-table2"])
    ours = closest(claim, [total / GB, total * (2**20 / MB) / 2**30])
    return compared(recomputed("sum of its table of data sets, GB", claim, ours))


def servers(fact: Fact, _facts: Facts) -> Finding:
    """The paths as ours: their bandwidth-delay products; the hosts are its own."""
    told = [
        recovered(
            f"{name}: bandwidth times round trip, MB",
            each["bw_Gbps"] * each["rtt_ms"] / BITS_PER_BYTE,
            (Path(bandwidth_bps=1e3 * MBIT * each["bw_Gbps"], rtt_s=each["rtt_ms"] / 1e3).bdp_bytes or 0) / MB,
            relative=1e-9,
        )
        for name, each in fact.values.items()
    ]
    return elsewhere("its hosts in Texas, Frankfurt and Sydney", told)


def concurrency(fact: Fact, _facts: Facts) -> Finding:
    told = []
    for name, each in fact.values.items():
        most = each.get("thr_Mbps_cc16", each.get("thr_Mbps_max"))
        ratio = printed(most) / printed(each["thr_Mbps_cc1"])
        told.append(recomputed(f"{name}: highest rate over that of one file at a time", each["ratio_claimed"], ratio))
    return elsewhere(PHONE_AND_METER, told)


def streams_of_large_files(fact: Fact, _facts: Facts) -> Finding:
    return elsewhere(
        PHONE_AND_METER,
        [
            recomputed(
                f"{name}: rate of 32 streams over that of one",
                each["ratio_claimed"],
                printed(each["to"]) / printed(each["from"]),
            )
            for name, each in fact.values.items()
        ],
    )


def only_measured(_fact: Fact, _facts: Facts) -> Finding:
    """Nothing in it can be derived from the paper's other numbers."""
    return elsewhere(PHONE_AND_METER)


def radios(fact: Fact, facts: Facts) -> Finding:
    """LTE saves the larger share: by our model of both radios, at the rates that the paper had over WiFi."""
    rates = facts["000-fig2-cc"].values
    told = []
    for name, lte, wifi in zip(rates, fact.values["lte_pct"], fact.values["wifi_pct"], strict=True):
        slow, fast = rates[name]["thr_Mbps_cc1"], rates[name].get("thr_Mbps_cc16", rates[name].get("thr_Mbps_max"))
        ours = _saved("lte", slow, fast) > _saved("wifi", slow, fast)
        told.append(property_of(f"{name}: LTE saves the larger share", ours, claimed=lte > wifi))
    return elsewhere(PHONE_AND_METER, told)


def _saved(radio: str, slow_mbps: float, fast_mbps: float) -> float:
    device = load_shipped_catalogue().device("galaxy-s5")
    spent_j = [
        model_energy_split(
            device,
            device.radio(radio),
            TransferWork(duration_s=BITS_PER_BYTE * PAPER_UNIT_BYTES / (mbps * MBIT), received_bytes=PAPER_UNIT_BYTES),
        ).dynamic_j
        for mbps in (slow_mbps, fast_mbps)
    ]
    return 1 - spent_j[1] / spent_j[0]


def devices(fact: Fact, facts: Facts) -> Finding:
    rows = {name: each for name, each in fact.values.items() if isinstance(each, list)}
    told = [
        recomputed(f"{name}: highest rate over that of one file at a time", claim, printed(most) / printed(least))
        for name, (least, most, claim) in rows.items()
    ]
    catalogue = facts["000-fig2-cc"].values
    told.extend(
        recomputed(
            f"{kind}: ratio of the Galaxy S5 as in figure 2",
            fact.values[f"{kind}_ratio"]["S5"],
            printed(catalogue[kind]["ratio_claimed"]),
        )
        for kind in ("image", "video")
    )
    twice = fact.values["video_ratio"]
    told.append(
        recomputed("video: ratio of the Galaxy S5, printed twice", twice["S4_printed_as_S5"], printed(twice["S5"]))
    )
    return elsewhere(PHONE_AND_METER, told)


def weak_devices(fact: Fact, facts: Facts) -> Finding:
    """Growth up to four files at a time is part of the growth up to the best number, which figure 5 tells."""
    most = max(facts["000-fig5"].values["video_ratio"][name] for name in ("NexusS", "N3"))
    claim_pct = fact.number_after("increased throughput by nearly")
    return elsewhere(
        PHONE_AND_METER,
        [
            recomputed(
                "video: rate of four files at a time over that of one, at most", 1 + claim_pct / 100, printed(most)
            ),
            *(
                property_of(
                    f"{kind}: most of what 16 files save, four do",
                    all(
                        four > sixteen / 2
                        for four, sixteen in zip(
                            fact.values[f"{kind}_saving_cc4"], fact.values[f"{kind}_saving_cc16"], strict=True
                        )
                    ),
                    by=By.ARITHMETIC,
                )
                for kind in ("image", "video")
            ),
        ],
    )


def paths(fact: Fact, facts: Facts) -> Finding:
    html = fact.values["Chameleon_max_Mbps"]["html"]
    saved, figure2 = fact.values["html_saving_pct"], facts["000-fig2-cc"].values["html"]
    return elsewhere(
        PHONE_AND_METER,
        [
            recomputed(
                "Chameleon, html: highest rate, told twice, Mbit/s",
                html,
                printed(fact.values["html_max_Mbps"]["Chameleon"]),
            ),
            recomputed(
                "Sydney, html: energy saved as in figure 2, %",
                saved["Sydney"],
                printed(figure2["energy_saving_pct_cc16"]),
            ),
            recomputed(
                "Sydney, html: highest rate as in figure 2, Mbit/s",
                fact.values["html_max_Mbps"]["Sydney"],
                printed(figure2["thr_Mbps_cc16"]),
            ),
        ],
    )


def both_parameters(fact: Fact, facts: Facts) -> Finding:
    single = max(
        each["energy_saving_pct_cc16"]
        for each in facts["000-fig2-cc"].values.values()
        if "energy_saving_pct_cc16" in each
    )
    lessons = facts["000-lessons"].values
    return elsewhere(
        PHONE_AND_METER,
        [
            recomputed(
                "both together: energy saved as in the lessons, %",
                fact.values["best_saving_pct"],
                printed(lessons["combined_pct"]),
            ),
            recomputed("the best of one alone in figure 2, %", lessons["single_pct"], printed(single)),
        ],
    )


def energy_break(fact: Fact, facts: Facts) -> Finding:
    """Where energy stops to fall, one stream a file, beside the setting of least energy of all in figure 7."""
    combined = facts["000-fig7"].values["argmin_energy"]["video"]["cc"]
    return elsewhere(
        PHONE_AND_METER,
        [
            recomputed(
                "video: files at a time of the least energy, in figure 7",
                fact.values["energy_break_cc"],
                printed(combined),
            )
        ],
    )


def conclusion(fact: Fact, facts: Facts) -> Finding:
    most = max(each["ratio_claimed"] for each in facts["000-fig2-cc"].values.values())
    return compared(
        recomputed(
            "energy saved at best, %", fact.values["energy_pct"], printed(facts["000-fig7"].values["best_saving_pct"])
        ),
        recomputed("throughput gained at best, in its figure 2", fact.values["thr_X"], printed(most)),
    )


CHECKS = {
    "000-table2": data_sets,
    "000-total": total_data,
    "000-servers": servers,
    "000-fig2-cc": concurrency,
    "000-fig2-p": only_measured,
    "000-fig2-io": only_measured,
    "000-fig3": streams_of_large_files,
    "000-fig4": radios,
    "000-fig5": devices,
    "000-fig5-b": weak_devices,
    "000-fig6": paths,
    "000-fig7": both_parameters,
    "000-fig9": energy_break,
    "000-conclusion": conclusion,
}
