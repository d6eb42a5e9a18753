"""Claims of the compressed-transfer paper (003) that its own numbers support or not: tables, bounds, platforms."""

from operator import itemgetter

from benchmarks.papers.catalogue import Fact, Facts
from benchmarks.papers.claims.compression_advice import advised
from benchmarks.papers.finding import By, Comparison, Finding, compared, computed, elsewhere, property_of, recomputed
from benchmarks.papers.printed import printed

PHONES = "its phones and wireless network"
CORES = "Krait 400"


def _headlines(fact: Fact) -> list[Comparison]:
    """The best of each network over sending as it is and over gzip -6."""
    rows = fact.values["rows"]
    raw = next(row for row in rows if row[0] == "raw")
    usual = next(row for row in rows if row[:2] == ["gzip", 6])
    told = []
    for index, network in enumerate(("0.5", "5")):
        best = max(rows, key=itemgetter(3 + index))
        for name, over in (("best_raw", raw), ("best_gzip6", usual)):
            ratio = printed(best[3 + index]) / printed(over[3 + index])
            told.append(
                recomputed(f"{network} MB/s: best over {name.removeprefix('best_')}", fact.values[name][index], ratio)
            )
    return told


def uploads(fact: Fact, facts: Facts) -> Finding:
    """Nothing gets slower on a faster network, nor faster than that carries of what is as it is."""
    rows = fact.values["rows"]
    carried = next([printed(each).high for each in row[3:5]] for row in rows if row[0] == "raw")
    falls = sum(printed(row[4]).high < printed(row[3]).low for row in rows)
    over = sum(
        printed(row[3 + n]).low > printed(row[2]).high * most_mbps
        for row in rows
        for n, most_mbps in enumerate(carried)
    )
    return compared(
        *_headlines(fact),
        computed("codecs that are slower on the faster network", 0, falls, by=By.ARITHMETIC),
        computed("codecs faster than ratio times network", 0, over, by=By.ARITHMETIC),
        *advised(fact, facts),
    )


def downloads(fact: Fact, facts: Facts) -> Finding:
    rows = fact.values["rows"]
    falls = sum(printed(row[4]).high < printed(row[3]).low for row in rows)
    return compared(
        *_headlines(fact),
        computed("codecs that are slower on the faster network", 0, falls, by=By.ARITHMETIC),
        *advised(fact, facts),
    )


def start_up(fact: Fact, facts: Facts) -> Finding:
    """What it fitted beside what its two files give, each as far as it is printed."""
    probe = facts["003-eq6"].values
    (small, large), (slow, quick) = ([printed(each) for each in probe[name]] for name in ("US", "Th"))
    rate = (large - small) / (large / quick - small / slow)
    return elsewhere(
        PHONES, [recomputed("start-up by its two files, s", fact.values["T_SC_s"], small / slow - small / rate)]
    )


CORES_OF = {"APQ8064": "Krait", "MSM8974": "Krait"}
"""By the device trees of Linux: ``qcom-apq8064.dtsi`` and ``qcom-msm8974.dtsi`` say ``compatible = "qcom,krait"``."""


def platform(fact: Fact, facts: Facts) -> Finding:
    """The cores of its chips as Linux knows them, and their clock as the mobile paper has it for the same cores."""
    told = []
    for chip, cores in CORES_OF.items():
        words = fact.statement.partition(chip)[2].partition(";")[0]
        told.append(property_of(f"{chip}: its cores are those of the chip, {cores}", cores in words))
    known = [row[4] for row in facts["000-table1"].values["rows"] if CORES in row[4]]
    clock_ghz = float(known[0].partition(" GHz")[0].split()[-1])
    told.append(recomputed(f"clock of a {CORES} in the mobile paper, GHz", fact.number_after(CORES), clock_ghz))
    return elsewhere(PHONES, told)


CHECKS = {
    "003-table2": uploads,
    "003-table3": downloads,
    "003-tsc": start_up,
    "003-platform": platform,
}
