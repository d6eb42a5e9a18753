"""Claims of the mobile paper (000) that it measured: whether its own numbers fit one another.

What the testbed has to say of them is in `measured`; phones, radios and the power meter are not here.
"""

from collections.abc import Sequence

from benchmarks.papers.catalogue import Claim, Claims
from benchmarks.papers.claims.mobile import PHONE_AND_METER
from benchmarks.papers.finding import (
    Comparison,
    Finding,
    Source,
    compare_printed,
    compare_property,
    compare_recovered,
    make_finding,
    make_finding_elsewhere,
)
from benchmarks.papers.printed import Range, build_exact_range, find_printed_range, pick_closest, read_bytes_both_ways
from tradewind.mobile.catalogue import load_shipped_catalogue
from tradewind.mobile.energy_split import PAPER_UNIT_BYTES, TransferWork, model_energy_split
from tradewind.path import Path
from tradewind.units import BITS_PER_BYTE, GB, MBIT, MIB

MB = 10**6


def _compute_total_bytes(claim: Claim) -> Range:
    return sum((find_printed_range(row[5]) * MB for row in claim.values["rows"]), build_exact_range(0.0))


def check_data_sets(claim: Claim, _claims: Claims) -> Finding:
    comparisons: list[Comparison] = []
    for name, files, mean, least, most, total_mb in claim.values["rows"]:
        if files is not None:
            claimed = find_printed_range(total_mb)
            sizes: Sequence[Range] = read_bytes_both_ways(mean)
            if least == most:  # all of one size, which is what it says
                sizes = [build_exact_range(size.value) for size in sizes]
            ours = pick_closest(claimed, [files * each / unit for each in sizes for unit in (MB, MIB)])
            comparisons.append(compare_printed(f"{name}: files times mean size, MB", claimed, ours))
    return make_finding(*comparisons)


def check_total_data(claim: Claim, claims: Claims) -> Finding:
    claimed = find_printed_range(claim.values["total_GB"])
    total = _compute_total_bytes(claims["000-table2"])
    ours = pick_closest(claimed, [total / GB, total * (2**20 / MB) / 2**30])
    return make_finding(compare_printed("sum of its table of data sets, GB", claimed, ours))


def check_servers(claim: Claim, _claims: Claims) -> Finding:
    """Compare the bandwidth-delay products of its paths with those that we compute; the hosts are its own."""
    comparisons = [
        compare_recovered(
            f"{name}: bandwidth times round trip, MB",
            each["bw_Gbps"] * each["rtt_ms"] / BITS_PER_BYTE,
            (Path(bandwidth_bps=1e3 * MBIT * each["bw_Gbps"], rtt_s=each["rtt_ms"] / 1e3).bdp_bytes or 0) / MB,
            relative=1e-9,
        )
        for name, each in claim.values.items()
    ]
    return make_finding_elsewhere("its hosts in Texas, Frankfurt and Sydney", comparisons)


def check_concurrency(claim: Claim, _claims: Claims) -> Finding:
    comparisons = []
    for name, each in claim.values.items():
        most = each.get("thr_Mbps_cc16", each.get("thr_Mbps_max"))
        ratio = find_printed_range(most) / find_printed_range(each["thr_Mbps_cc1"])
        comparisons.append(
            compare_printed(f"{name}: highest rate over that of one file at a time", each["ratio_claimed"], ratio)
        )
    return make_finding_elsewhere(PHONE_AND_METER, comparisons)


def check_streams_of_large_files(claim: Claim, _claims: Claims) -> Finding:
    return make_finding_elsewhere(
        PHONE_AND_METER,
        [
            compare_printed(
                f"{name}: rate of 32 streams over that of one",
                each["ratio_claimed"],
                find_printed_range(each["to"]) / find_printed_range(each["from"]),
            )
            for name, each in claim.values.items()
        ],
    )


def check_only_measured(_claim: Claim, _claims: Claims) -> Finding:
    """Check nothing: no number in it can be derived from the paper's other numbers."""
    return make_finding_elsewhere(PHONE_AND_METER)


def check_radios(claim: Claim, claims: Claims) -> Finding:
    """LTE saves the larger share: by our model of both radios, at the rates that the paper had over WiFi.

    Processors are as busy as the rate is high: all of them at the highest rate that the phone reached.
    """
    highest_mbps = max(claims["000-fig6"].values["Chameleon_max_Mbps"].values())
    rates = claims["000-fig2-cc"].values
    comparisons = []
    for name, lte, wifi in zip(rates, claim.values["lte_pct"], claim.values["wifi_pct"], strict=True):
        slow, fast = rates[name]["thr_Mbps_cc1"], rates[name].get("thr_Mbps_cc16", rates[name].get("thr_Mbps_max"))
        ours = _compute_saving("lte", slow, fast, highest_mbps) > _compute_saving("wifi", slow, fast, highest_mbps)
        comparisons.append(compare_property(f"{name}: LTE saves the larger share", ours, claimed=lte > wifi))
    return make_finding_elsewhere(PHONE_AND_METER, comparisons)


def _compute_saving(radio: str, slow_mbps: float, fast_mbps: float, highest_mbps: float) -> float:
    device = load_shipped_catalogue().find_device("galaxy-s5")
    spent_j = [
        model_energy_split(
            device,
            device.find_radio(radio),
            TransferWork(
                duration_s=BITS_PER_BYTE * PAPER_UNIT_BYTES / (mbps * MBIT),
                received_bytes=PAPER_UNIT_BYTES,
                utilisation={"cpu": mbps / highest_mbps},
            ),
        ).dynamic_j
        for mbps in (slow_mbps, fast_mbps)
    ]
    return 1 - spent_j[1] / spent_j[0]


def check_devices(claim: Claim, claims: Claims) -> Finding:
    rows = {name: each for name, each in claim.values.items() if isinstance(each, list)}
    comparisons = [
        compare_printed(
            f"{name}: highest rate over that of one file at a time",
            claimed,
            find_printed_range(most) / find_printed_range(least),
        )
        for name, (least, most, claimed) in rows.items()
    ]
    catalogue = claims["000-fig2-cc"].values
    comparisons.extend(
        compare_printed(
            f"{kind}: ratio of the Galaxy S5 as in figure 2",
            claim.values[f"{kind}_ratio"]["S5"],
            find_printed_range(catalogue[kind]["ratio_claimed"]),
        )
        for kind in ("image", "video")
    )
    twice = claim.values["video_ratio"]
    comparisons.append(
        compare_printed(
            "video: ratio of the Galaxy S5, printed twice", twice["S4_printed_as_S5"], find_printed_range(twice["S5"])
        )
    )
    return make_finding_elsewhere(PHONE_AND_METER, comparisons)


def check_weak_devices(claim: Claim, claims: Claims) -> Finding:
    """Check that growth up to four files at a time is part of that up to the best number, which figure 5 shows."""
    most = max(claims["000-fig5"].values["video_ratio"][name] for name in ("NexusS", "N3"))
    claim_pct = claim.find_number_after("increased throughput by nearly")
    return make_finding_elsewhere(
        PHONE_AND_METER,
        [
            compare_printed(
                "video: rate of four files at a time over that of one, at most",
                1 + claim_pct / 100,
                find_printed_range(most),
            ),
            *(
                compare_property(
                    f"{kind}: most of what 16 files save, four do",
                    all(
                        four > sixteen / 2
                        for four, sixteen in zip(
                            claim.values[f"{kind}_saving_cc4"], claim.values[f"{kind}_saving_cc16"], strict=True
                        )
                    ),
                    source=Source.ARITHMETIC,
                )
                for kind in ("image", "video")
            ),
        ],
    )


def check_paths(claim: Claim, claims: Claims) -> Finding:
    html = claim.values["Chameleon_max_Mbps"]["html"]
    saved, figure2 = claim.values["html_saving_pct"], claims["000-fig2-cc"].values["html"]
    return make_finding_elsewhere(
        PHONE_AND_METER,
        [
            compare_printed(
                "Chameleon, html: highest rate, printed twice, Mbit/s",
                html,
                find_printed_range(claim.values["html_max_Mbps"]["Chameleon"]),
            ),
            compare_printed(
                "Sydney, html: energy saved as in figure 2, %",
                saved["Sydney"],
                find_printed_range(figure2["energy_saving_pct_cc16"]),
            ),
            compare_printed(
                "Sydney, html: highest rate as in figure 2, Mbit/s",
                claim.values["html_max_Mbps"]["Sydney"],
                find_printed_range(figure2["thr_Mbps_cc16"]),
            ),
        ],
    )


def check_both_parameters(claim: Claim, claims: Claims) -> Finding:
    single = max(
        each["energy_saving_pct_cc16"]
        for each in claims["000-fig2-cc"].values.values()
        if "energy_saving_pct_cc16" in each
    )
    lessons = claims["000-lessons"].values
    return make_finding_elsewhere(
        PHONE_AND_METER,
        [
            compare_printed(
                "both together: energy saved as in the lessons, %",
                claim.values["best_saving_pct"],
                find_printed_range(lessons["combined_pct"]),
            ),
            compare_printed("the best of one alone in figure 2, %", lessons["single_pct"], find_printed_range(single)),
        ],
    )


def check_energy_break(claim: Claim, claims: Claims) -> Finding:
    """Compare where energy stops falling, one stream a file, with the setting of least energy in figure 7."""
    combined = claims["000-fig7"].values["argmin_energy"]["video"]["cc"]
    return make_finding_elsewhere(
        PHONE_AND_METER,
        [
            compare_printed(
                "video: files at a time of the least energy, in figure 7",
                claim.values["energy_break_cc"],
                find_printed_range(combined),
            )
        ],
    )


def check_conclusion(claim: Claim, claims: Claims) -> Finding:
    most = max(each["ratio_claimed"] for each in claims["000-fig2-cc"].values.values())
    return make_finding(
        compare_printed(
            "energy saved at best, %",
            claim.values["energy_pct"],
            find_printed_range(claims["000-fig7"].values["best_saving_pct"]),
        ),
        compare_printed("throughput gained at best, in its figure 2", claim.values["thr_X"], find_printed_range(most)),
    )


CHECKS = {
    "000-table2": check_data_sets,
    "000-total": check_total_data,
    "000-servers": check_servers,
    "000-fig2-cc": check_concurrency,
    "000-fig2-p": check_only_measured,
    "000-fig2-io": check_only_measured,
    "000-fig3": check_streams_of_large_files,
    "000-fig4": check_radios,
    "000-fig5": check_devices,
    "000-fig5-b": check_weak_devices,
    "000-fig6": check_paths,
    "000-fig7": check_both_parameters,
    "000-fig9": check_energy_break,
    "000-conclusion": check_conclusion,
}
