"""Claims of the compressed-transfer paper (003) that its own numbers support or not: tables, bounds, platforms."""

from operator import itemgetter

from benchmarks.papers.catalogue import Claim, Claims
from benchmarks.papers.claims.compression_advice import compare_advice
from benchmarks.papers.finding import (
    Comparison,
    Finding,
    Source,
    compare_computed,
    compare_printed,
    compare_property,
    make_finding,
    make_finding_elsewhere,
)
from benchmarks.papers.printed import find_printed_range

PHONES = "its phones and wireless network"
CORES = "Krait 400"


def _list_headlines(claim: Claim) -> list[Comparison]:
    """Compare the best of each network with sending the file raw and with gzip -6."""
    rows = claim.values["rows"]
    raw = next(row for row in rows if row[0] == "raw")
    usual = next(row for row in rows if row[:2] == ["gzip", 6])
    comparisons = []
    for index, network in enumerate(("0.5", "5")):
        best = max(rows, key=itemgetter(3 + index))
        for name, over in (("best_raw", raw), ("best_gzip6", usual)):
            ratio = find_printed_range(best[3 + index]) / find_printed_range(over[3 + index])
            comparisons.append(
                compare_printed(
                    f"{network} MB/s: best over {name.removeprefix('best_')}", claim.values[name][index], ratio
                )
            )
    return comparisons


def check_uploads(claim: Claim, claims: Claims) -> Finding:
    """Check that nothing is slower on a faster network, nor faster than that network times the compression ratio."""
    rows = claim.values["rows"]
    carried = next([find_printed_range(each).high for each in row[3:5]] for row in rows if row[0] == "raw")
    falls = sum(find_printed_range(row[4]).high < find_printed_range(row[3]).low for row in rows)
    over = sum(
        find_printed_range(row[3 + n]).low > find_printed_range(row[2]).high * most_mbps
        for row in rows
        for n, most_mbps in enumerate(carried)
    )
    return make_finding(
        *_list_headlines(claim),
        compare_computed("codecs that are slower on the faster network", 0, falls, source=Source.ARITHMETIC),
        compare_computed("codecs faster than ratio times network", 0, over, source=Source.ARITHMETIC),
        *compare_advice(claim, claims),
    )


def check_downloads(claim: Claim, claims: Claims) -> Finding:
    rows = claim.values["rows"]
    falls = sum(find_printed_range(row[4]).high < find_printed_range(row[3]).low for row in rows)
    return make_finding(
        *_list_headlines(claim),
        compare_computed("codecs that are slower on the faster network", 0, falls, source=Source.ARITHMETIC),
        *compare_advice(claim, claims),
    )


def check_start_up(claim: Claim, claims: Claims) -> Finding:
    """Compare what it fitted with what its two files give, each as far as it is printed."""
    probe = claims["003-eq6"].values
    (small, large), (slow, quick) = ([find_printed_range(each) for each in probe[name]] for name in ("US", "Th"))
    rate = (large - small) / (large / quick - small / slow)
    return make_finding_elsewhere(
        PHONES, [compare_printed("start-up by its two files, s", claim.values["T_SC_s"], small / slow - small / rate)]
    )


CORES_OF = {"APQ8064": "Krait", "MSM8974": "Krait"}
"""By the device trees of Linux: ``qcom-apq8064.dtsi`` and ``qcom-msm8974.dtsi`` say ``compatible = "qcom,krait"``."""


def check_platform(claim: Claim, claims: Claims) -> Finding:
    """Compare its chips' cores with those that Linux knows, and their clock with the mobile paper's for these cores."""
    comparisons = []
    for chip, cores in CORES_OF.items():
        words = claim.statement.partition(chip)[2].partition(";")[0]
        comparisons.append(compare_property(f"{chip}: its cores are those of the chip, {cores}", cores in words))
    known = [row[4] for row in claims["000-table1"].values["rows"] if CORES in row[4]]
    clock_ghz = float(known[0].partition(" GHz")[0].split()[-1])
    comparisons.append(
        compare_printed(f"clock of a {CORES} in the mobile paper, GHz", claim.find_number_after(CORES), clock_ghz)
    )
    return make_finding_elsewhere(PHONES, comparisons)


CHECKS = {
    "003-table2": check_uploads,
    "003-table3": check_downloads,
    "003-tsc": check_start_up,
    "003-platform": check_platform,
}
