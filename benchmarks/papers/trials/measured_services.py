"""Results of the HTTP paper (002) and of GreenDataFlow (001) about tuners and tools, with those tuners on our engine.

Brute force is each of some numbers of channels by itself; a search counts from where it settled. Paths of a gigabit a
second and more are emulated slower (`grounds.CARRIED_MBPS`). Energies are modelled. Files are of one size, near the
geometric mean of the papers' 150 kB to 250 MB: MinE, which gives its channels to small files, finds none.
"""

from collections.abc import Iterator, Mapping
from statistics import fmean

from benchmarks.papers.catalogue import Fact, Facts
from benchmarks.papers.finding import By, Comparison, measured, no_more, not_shown, property_of
from benchmarks.papers.form import RATIO, Form, Rows, client_j, mbps, measured_share, saved_pct
from benchmarks.papers.grounds import CHICAGO, COASTS, NEAR, VIRGINIA, run_of
from benchmarks.papers.trials.peer_trial import MIN_ENERGY, Tools
from benchmarks.papers.trials.tuner_trials import Agreements, Schemes, Targets
from benchmarks.testbed.peers import TRADEWIND
from benchmarks.wan.runs import Row

COAST_LEVELS = (1, 8, 16, 32)
TARGETS_PCT = (50, 70, 95)
"""Two below, and the one that the paper tells by its number."""

HIGHEST = "95"
Figures = Mapping[str, float]


def _per_joule(figures: Figures) -> float:
    """Throughput over the energy of one data set, T²/P, which the paper ranks by."""
    return figures["bps"] ** 2 / figures["power_w"]


def _per_bit_j(figures: Figures) -> float:
    return figures["power_w"] / figures["bps"]


def _of_best_pct(row: Row, scheme: str) -> float:
    best = max(map(_per_joule, row["brute_force"].values()))
    return 100 * _per_joule(row[scheme]) / best


def _coasts(fact: Fact, _facts: Facts, rows: Rows) -> Iterator[Comparison]:
    ran = {
        cc: rows[run_of(COASTS, "002/image", cc=cc, p=fact.values["p"], pp=fact.values["pp"])] for cc in COAST_LEVELS
    }
    first, last = ran[COAST_LEVELS[0]], ran[COAST_LEVELS[-1]]
    for name, values, at_most, at_least in (
        ("time of one file at a time over that of 32", fact.values["t_s"], mbps(last), mbps(first)),
        ("energy of one file at a time over that of 32", fact.values["E_J"], client_j(first), client_j(last)),
    ):
        yield measured(name, values[0] / values[1], at_most / at_least, relative=RATIO)
    powers = [client_j(row) * mbps(row) for row in (first, last)]
    ratio = fact.values["P_W"][1] / fact.values["P_W"][0]
    yield measured("power with 32 over that of one file at a time", ratio, powers[1] / powers[0], relative=RATIO)
    yield property_of("energy rises again from 16 to 32", client_j(last) > client_j(ran[16]), by=By.TESTBED)


def _ten_gigabits(fact: Fact, _facts: Facts, rows: Rows) -> Iterator[Comparison]:
    row = rows[Schemes(CHICAGO)]
    for scheme in ("ee", "mine"):
        yield measured_share(
            f"{scheme}: throughput over energy, of brute force's best, %",
            fact.values[f"{scheme}_bf_pct"],
            _of_best_pct(row, scheme),
        )
    energy_pct, rate_pct = fact.values["ee_vs_maxthr"]
    ee, most = row["ee"], row["maxthr"]
    yield measured_share("EE's energy less than MaxThr's, %", -energy_pct, saved_pct(_per_bit_j(most), _per_bit_j(ee)))
    yield measured_share("EE's rate less than MaxThr's, %", -rate_pct, saved_pct(most["bps"], ee["bps"]))
    tried = row["brute_force"]
    peak = int(max(tried, key=lambda channels: _per_joule(tried[channels])))
    yield measured("channels of brute force's best", fact.values["bf_peak_about"], peak, relative=RATIO)


def _one_gigabit(fact: Fact, _facts: Facts, rows: Rows) -> Iterator[Comparison]:
    row = rows[Schemes(VIRGINIA)]
    for scheme, name in (("ee", "EE"), ("maxthr", "MaxThr"), ("mine", "MinE")):
        yield measured_share(
            f"{name}: throughput over energy, of brute force's best, %",
            fact.values["bf_pct"][name],
            _of_best_pct(row, scheme),
        )
    one = row["brute_force"]["1"]
    energy_pct, ratio = fact.values["mine"]
    yield measured(
        "MinE's rate over that of one channel, files of 4 MB alone",
        ratio,
        row["mine"]["bps"] / one["bps"],
        relative=RATIO,
    )
    yield measured_share(
        "MinE's energy less than that of one channel, files of 4 MB alone, %",
        -energy_pct,
        saved_pct(_per_bit_j(one), _per_bit_j(row["mine"])),
    )


_TARGETS = Targets(NEAR, TARGETS_PCT)


def _most_channels(fact: Fact, _facts: Facts, rows: Rows) -> Iterator[Comparison]:
    row = rows[_TARGETS]
    slow, fast = fact.values["Mbps"]
    ours = row["maxthr"]["bps"] / row["one"]["bps"]
    yield measured("MaxThr's rate over that of one channel", fast / slow, ours, relative=RATIO)
    yield measured_share(
        "MinE's energy less than that of one channel, files of 4 MB alone, %",
        -fact.values["mine_pct"],
        saved_pct(_per_bit_j(row["one"]), _per_bit_j(row["mine"])),
    )


def _flexible(fact: Fact, _facts: Facts, rows: Rows) -> Iterator[Comparison]:
    row, most_pct = rows[_TARGETS], fact.values["dev_pct"]
    for share, reached in row["reached"].items():
        off_pct = 100 * (reached["bps"] / (int(share) / 100 * row["maxthr"]["bps"]) - 1)
        # The highest is one that the paper itself missed on one of its paths.
        off_pct = -off_pct if share == HIGHEST else abs(off_pct)
        yield no_more(f"target of {share} %: off by, %", most_pct, off_pct)
    least = min(row["reached"].values(), key=_per_bit_j)
    yield measured_share(
        "energy saved against MaxThr at best, %",
        fact.values["saving_pct"]["DIDCLab"],
        saved_pct(_per_bit_j(row["maxthr"]), _per_bit_j(least)),
    )


def _rivals(fact: Fact, _facts: Facts, rows: Rows) -> Iterator[Comparison]:
    row = rows[Tools()]
    ours, frugal = row[TRADEWIND.name], row[MIN_ENERGY]
    guc, rclone = row["globus-url-copy"], row["rclone"]
    yield measured(
        "our rate over globus-url-copy's at its defaults",
        fact.values["maxth_vs_guc"],
        ours["bps"] / guc["bps"],
        relative=RATIO,
    )
    yield measured(
        "rclone's energy over that of ours for least energy",
        fact.values["minpow_vs_rclone_factor"],
        rclone["j_per_gb"] / frugal["j_per_gb"],
        relative=RATIO,
    )
    yield property_of("ours is faster than both", ours["bps"] > max(guc["bps"], rclone["bps"]), by=By.TESTBED)


def _violations(fact: Fact, _facts: Facts, rows: Rows) -> Iterator[Comparison]:
    reached = rows[Agreements()]["reached"]
    for share, ticks in reached.items():
        missing_pct = 100 * max(0.0, 1 - fmean(ticks))
        what, most_pct = f"{float(share):.0%} of the path agreed: missing, %", max(fact.values["violation_pct"])
        # Where every look found more than was agreed, any setting keeps it.
        yield no_more(what, most_pct, missing_pct) if min(ticks) < 1 else not_shown(what, most_pct, allowed="no more")


FORMS: Mapping[str, Form] = {
    "002-fig5": Form([run_of(COASTS, "002/image", cc=cc, p=2, pp=16) for cc in COAST_LEVELS], _coasts),
    "002-fig6": Form([Schemes(CHICAGO)], _ten_gigabits),
    "002-fig7": Form([Schemes(VIRGINIA)], _one_gigabit),
    "002-fig8": Form([_TARGETS], _most_channels),
    "002-flex-res": Form([_TARGETS], _flexible),
    "001-res-guc": Form([Tools()], _rivals),
    "001-sla-viol": Form([Agreements()], _violations),
}
