"""Checks of single claims, on made values: what agrees, what contradicts, what is judged apart."""

import pytest

from benchmarks.papers.catalogue import Claim
from benchmarks.papers.claims.compression import check_examples
from benchmarks.papers.claims.compression_advice import check_error_sign
from benchmarks.papers.claims.compression_tables import check_downloads, check_platform
from benchmarks.papers.claims.greendataflow import check_labels, check_model_inputs
from benchmarks.papers.claims.http_sla import (
    check_data_sets,
    check_outline,
    check_power_models,
    check_quoted,
    check_setup,
    check_tools,
)
from benchmarks.papers.claims.mobile import check_tail_behaviour
from benchmarks.papers.claims.page_sizes import check_sizes
from benchmarks.papers.claims.slas import check_energy_sla
from benchmarks.papers.finding import ClaimVerdict, Finding, Source, compare_printed, compare_property
from benchmarks.papers.form import compare_measured_share
from benchmarks.papers.summary import summarise
from benchmarks.papers.trials import measured, measured_losses, measured_pages, measured_services
from tradewind.errors import InvalidValue


def make_claim(values=None, **words) -> Claim:
    usual = {"id": "x-1", "paper": "003", "place": "p", "kind": "result", "statement": ""}
    return Claim(**usual | words, values=values or {})


def table(best: str) -> Claim:
    """Two codecs of which gzip is as quick as the path carries, and xz packs better and slowly."""
    rows = [["gzip", 1, 2.0, 1.0, 9.5], ["gzip", 6, 2.1, 1.05, 5.0], ["xz", 9, 4.0, 1.8, 2.0], ["raw", None, 1, 0.5, 5]]
    if best == "raw":
        rows = [[*row[:3], row[3] / 30, row[4] / 30] if row[0] != "raw" else row for row in rows]
    headlines = [max(row[n] for row in rows) / rows[-1][n] for n in (3, 4)]
    usual = [max(row[n] for row in rows) / rows[1][n] for n in (3, 4)]
    return make_claim({"US_MB": 100.0, "rows": rows, "best_raw": headlines, "best_gzip6": usual}, id="003-table3")


CLAIMS = {
    "003-tsc": make_claim({"net_MBps": [0.5, 5.0], "T_SC_s": 0.0}),
    "003-err-up": make_claim({"net5": {"xz": -40}}),
    "003-table2": make_claim({"US_MB": 100.0, "rows": [["xz", 0, 12.9, 6.3, 9.8], ["raw", None, 1, 0.5, 5.0]]}),
    "003-fig5": make_claim({"gzip1": [3.9, 6.2, 5.9], "net": 2.5}),
    "003-fig6": make_claim({"gzip9": [6.19, 7.29, 7.16]}, statement="2.5 MB/s download"),
}


def select_comparisons(finding, words):
    return {each.what: each for each in finding.comparisons if words in each.what}


def test_advice_is_compared_with_the_fastest_codec_of_the_network_that_it_was_not_solved_from():
    found = select_comparisons(check_downloads(table("codecs"), CLAIMS), "our advice")
    assert [(each.what.partition("(")[2], each.agrees) for each in found.values()] == [
        ("xz -9)", True),
    ]
    [rate] = select_comparisons(check_downloads(table("codecs"), CLAIMS), "rate of what we advise").values()
    assert rate.agrees
    assert rate.paper == 1.8


def test_sending_raw_can_be_what_is_advised():
    assert all(each.agrees for each in select_comparisons(check_downloads(table("raw"), CLAIMS), "our advice").values())


def test_an_error_below_zero_is_a_promise_of_more_than_was_measured():
    assert check_error_sign(make_claim(), CLAIMS).verdict is ClaimVerdict.REPRODUCED
    other_way = {**CLAIMS, "003-err-up": make_claim({"net5": {"xz": 40}})}
    assert check_error_sign(make_claim(), other_way).verdict is ClaimVerdict.DIFFERS


def test_an_example_is_estimated_by_the_equation_of_its_direction():
    assert select_comparisons(check_examples(CLAIMS["003-fig5"], CLAIMS), "by equation 20")
    assert select_comparisons(check_examples(CLAIMS["003-fig6"], CLAIMS), "by equation 22")


def test_letters_of_panels_that_differ_contradict_no_number():
    named = "Text: 'Figure 2 (d-f) contain performance for medium files'; extracted captions label ({})-({}) as medium."
    assert check_labels(make_claim(statement=named.format("a", "c")), {}).verdict is ClaimVerdict.NOT_HERE
    assert check_labels(make_claim(statement=named.format("d", "f")), {}).verdict is ClaimVerdict.REPRODUCED
    with pytest.raises(InvalidValue, match="x-1"):
        check_labels(make_claim(statement="no labels"), {})


def test_power_in_place_of_an_energy_is_reported():
    assert check_quoted(make_claim(note="and 'terawatts of electricity'"), {}).verdict is ClaimVerdict.CONTRADICTED
    assert check_quoted(make_claim(), {}).verdict is ClaimVerdict.NOT_HERE


def test_an_outline_counts_as_it_is_numbered():
    said = "promises 'Section VI studies effect' but section {} is the conclusion; items numbered (i),({}),({})"
    assert check_outline(make_claim(statement=said.format(6, "ii", "i")), {}).verdict is ClaimVerdict.CONTRADICTED
    assert check_outline(make_claim(statement=said.format(7, "ii", "iii")), {}).verdict is ClaimVerdict.REPRODUCED


def test_curl_opens_several_channels_and_wget_does_not():
    assert [each.agrees for each in check_tools(make_claim(), {}).comparisons] == [True, False]


def test_files_of_the_set_up_are_below_and_above_what_its_paths_hold():
    said = "Chameleon Austin->Chicago 10 Gbps 40 ms; AWS Frankfurt-Virginia 1 Gbps 90 ms"
    for largest_kb, agree in ((250_000, True), (250, False)):
        judged = check_setup(make_claim({"file_KB": [150, largest_kb]}, statement=said), {}).comparisons
        assert [each.agrees for each in judged] == [agree, agree]


def test_a_column_that_fits_by_no_one_reading_contradicts_itself():
    html = ["HTML", 495, 5000, "HTML", "102 KB", "50 KB", "150 KB", "29.14 KB"]
    image = ["Image", 1258, 500, "JPEG", "2.4 MB", "2 MB", "3 MB", "0.28 MB"]
    assert check_data_sets(make_claim({"rows": [html]}), {}).verdict is ClaimVerdict.REPRODUCED
    assert check_data_sets(make_claim({"rows": [html, image]}), {}).verdict is ClaimVerdict.CONTRADICTED


def test_the_cores_of_a_chip_are_those_that_linux_knows():
    claims = {"000-table1": make_claim({"rows": [["", "", "", 21, "quad-core 2.5 GHz Krait 400"]]})}
    said = "APQ8064 quad-core '{}'; 801 MSM8974AC quad Krait 400 2.5 GHz"
    assert [
        each.agrees for each in check_platform(make_claim(statement=said.format("Cortex A15")), claims).comparisons
    ] == [
        False,
        True,
        True,
    ]
    assert check_platform(make_claim(statement=said.format("Krait")), claims).verdict is ClaimVerdict.NOT_HERE


def test_our_pages_have_the_two_shares_of_the_connections_of_the_paper():
    assert check_sizes(make_claim({"p85_B": 50_000, "p99_B": 500_000}), {}).verdict is ClaimVerdict.NOT_HERE
    assert check_sizes(make_claim({"p70_B": 50_000}), {}).verdict is ClaimVerdict.DIFFERS


def page_rows(saved_s: float, concurrency: float = 1.5, *, apart_s: float = 0.01) -> dict:
    """Loads by CUBIC of 1 s, and by FLD_TCP so much quicker, half of it over LTE; pages differ by ``apart_s`` so."""
    rows = {}
    for page in measured_pages.FORMS["004-fig6"].runs:
        quicker_s = saved_s * (1 if page.network == "3G" else 0.5) + apart_s * (page.number % 3 - 1)
        rows[page] = {"cubic_concurrency": concurrency, "cubic_idle_share": 0.1, "fld_tcp_idle_share": 0.1}
        for figure in ("net_s", "connection_s", "concurrency"):
            rows[page] |= {f"cubic_{figure}_each": [1.0, 1.0], f"fld_tcp_{figure}_each": [1.0 - quicker_s] * 2}
        rows[page] |= {"cubic_idle_share_each": [1.0, 1.0], "fld_tcp_idle_share_each": [1.0 + quicker_s] * 2}
    return rows


@pytest.mark.parametrize(("saved_s", "shown"), [(0.1, True), (0.001, False), (-0.1, False)])
@pytest.mark.parametrize("name", ["004-fig6", "004-fig9-10"])
def test_gain_within_the_spread_of_pages_is_no_difference(name, saved_s, shown):
    found = list(measured_pages.FORMS[name].judge(make_claim(), {}, page_rows(saved_s)))
    grounds, more_on_3g = found[:6], found[6:]
    assert {comparison.agrees for comparison in grounds} == {shown}
    assert all(comparison.agrees is (saved_s > 0) for comparison in more_on_3g), "it is as much more of every page"
    assert all(comparison.source is Source.TESTBED for comparison in found)


def test_pages_that_disagree_show_nothing_however_steady_the_loads_of_each_are():
    judge = measured_pages.FORMS["004-fig9-10"].judge
    assert not any(each.agrees for each in judge(make_claim(), {}, page_rows(0.1, apart_s=0.5)))


def test_claims_about_pages_say_that_ours_are_drawn():
    for name in ("004-fig6", "004-fig7", "004-fig8", "004-fig9-10"):
        assert "drawn at random" in measured_pages.FORMS[name].substitute


@pytest.mark.parametrize(("concurrency", "fewer"), [(1.5, True), (5.0, False)])
def test_the_concurrency_of_most_pages_is_compared_with_the_papers(concurrency, fewer):
    judge = measured_pages.FORMS["004-fig8"].judge
    for saved, shown in ((0.1, True), (0.0, False)):
        most, less = judge(make_claim({"most_pages_below": 2}), {}, page_rows(saved, concurrency))
        assert (most.agrees, less.agrees) == (fewer, shown)


@pytest.mark.parametrize(("saved_s", "shown"), [(0.1, True), (0.001, False), (-0.1, False)])
def test_more_idle_time_is_shown_by_an_interval_alone(saved_s, shown):
    judge = measured_pages.FORMS["004-fig7"].judge
    usual, more = judge(make_claim({"median_idle_frac": 0.1}), {}, page_rows(saved_s))
    assert (usual.agrees, more.agrees) == (True, shown)


@pytest.mark.parametrize(
    ("objective", "verdict"),
    [("maximise integral of T", ClaimVerdict.CONTRADICTED), ("maximise mean throughput", ClaimVerdict.REPRODUCED)],
)
def test_an_objective_that_is_the_data_set_is_contradicted_and_a_rate_is_not(objective, verdict):
    assert check_energy_sla(make_claim(statement=objective), {}).verdict is verdict


@pytest.mark.parametrize(
    ("mbps_of", "cpu_s", "ours"),
    [
        ({1: 60, 4: 70, 16: 72, 64: 71}, 0.9, [1, 1, 71 / 72]),
        ({1: 80, 4: 73, 16: 72, 64: 71}, 0.9, [0, 1, 71 / 72]),  # the smallest block is the fastest
        ({1: 72, 4: 73, 16: 72.5, 64: 72.5}, 0.1, [None, None, 1]),  # as far apart as two runs of one block
        ({1: 60, 4: 70, 16: 72, 64: 60}, 0.01, [1, 1, 60 / 72]),  # not flat beyond, and dearer as it is slower
        ({1: 60, 4: 70, 16: 72, 64: 73}, 0.01, [1, 0, 73 / 72]),  # less of the processor
    ],
)
def test_difference_within_the_spread_of_runs_is_not_shown(mbps_of, cpu_s, ours):
    form = measured.FORMS["000-fig2-io"]
    rows = {
        run: {"bytes_done": rate * 1e6 / 8, "total_bytes": 1e9, "duration_s": 1.0, "cpu_s": cpu_s if kb == 64 else 0.1}
        for run, (kb, rate) in zip(form.runs, mbps_of.items(), strict=True)
    }
    comparisons = list(form.judge(make_claim({"knee_KB": [8, 16]}), {}, rows))
    assert [comparison.ours for comparison in comparisons] == pytest.approx(ours)
    assert comparisons[-1].agrees is (ours[-1] > 0.9)


def test_sla_that_never_bound_is_not_counted_as_met():
    form = measured_services.FORMS["001-sla-viol"]
    (run,) = form.runs
    ticks = {"0.5": [1.7, 1.9], "0.7": [0.9, 1.2], "0.9": [0.8, 0.8]}
    judged = form.judge(make_claim({"violation_pct": [3, 6]}), {}, {run: {"reached": ticks}})
    assert [(each.is_shown, each.fails) for each in judged] == [(False, False), (True, False), (True, True)]


def test_estimate_from_bounds_must_be_closer_than_the_nearer_bound():
    def compare_with_measured(*bounds_and_measured: float) -> list[bool]:
        claims = {"003-fig5": make_claim({"net": 2.5})}
        found = check_examples(make_claim({"codec": list(bounds_and_measured)}), claims)
        return [each.agrees for each in found.comparisons]

    assert compare_with_measured(6.19, 7.29, 7.16) == [True, True]
    assert compare_with_measured(6.19, 7.29, 6.25) == [True, False], "it was near sending one after the other"
    assert compare_with_measured(6.19, 7.29, 8.0) == [False, False]


@pytest.mark.parametrize(("together", "agrees"), [(0.9, True), (1.0, True), (1.1, False)])
def test_files_and_streams_together_are_compared_with_either_alone(together, agrees):
    form = measured.FORMS["000-fig7"]
    rows = {}
    for run in form.runs:
        alone = 1 in (run.setting.concurrency, run.setting.parallelism)
        duration_s = 100.0 if alone else 100.0 * together
        rows[run] = {"bytes_done": 10**8, "total_bytes": 10**8, "cpu_s": 0.0, "duration_s": duration_s}
    *both, _ = form.judge(make_claim({"best_saving_pct": 81}), {}, rows)
    assert [each.agrees for each in both] == [agrees] * 2


@pytest.mark.parametrize(
    ("paper_pct", "ours_pct", "agrees"),
    [(70, 56, True), (70, 54, False), (6, 3.1, True), (6, 0.4, False), (6, -1, False), (-1, -1.4, True)],
)
def test_share_agrees_within_fifteen_points_and_half_of_the_papers_value(paper_pct, ours_pct, agrees):
    assert compare_measured_share("saved, %", paper_pct, ours_pct).agrees is agrees


@pytest.mark.parametrize(
    ("windows", "after_short", "after_long", "sent_again", "agree"),
    [
        ([30, 90], 89, 30, 1, [True] * 8),
        ([20, 40], 39, 30, 1, [False, False, *[True] * 6]),  # doubles
        ([30, 90], 45, 30, 1, [*[True] * 3, False, *[True] * 4]),  # halves short flows as well
        ([30, 90], 89, 59, 1, [*[True] * 4, False, *[True] * 3]),  # is Relentless beyond 2 MB
        ([30, 90], 89, 30, 2, [*[True] * 7, False]),  # sends what was not lost
    ],
)
def test_the_kernels_windows_and_what_losses_leave_of_them_are_compared_with_the_papers(
    windows, after_short, after_long, sent_again, agree
):
    form = measured_losses.FORMS["004-fld"]
    judged = [(windows, 40_000, windows[-1], after_short, 1), ([30, 60], 2_600_000, 60, after_long, 1)]
    judged += [([20, 40], 30_000, 40, 20, 1), ([20, 40], 1_950_000, 40, 20, sent_again)]
    names = ("windows", "acknowledged_bytes", "before", "after", "sent_again")
    rows = {run: dict(zip(names, each, strict=True)) for run, each in zip(form.runs, judged, strict=True)}
    found = list(form.judge(make_claim({"iw": 10, "ss_factor": 3, "threshold_B": 2_000_000}), {}, rows))
    assert [each.agrees for each in found] == agree


def test_own_profiles_models_and_fields_reproduce_no_measurement():
    claims = {
        "000-fig8": (check_tail_behaviour, {"tail_const_per_radio": True, "tail_lte_gt_wifi": True}),
        "001-eq3": (check_model_inputs, {"inputs": ["data", "net", "cc", "p", "pp"]}),
        "002-power-models": (
            check_power_models,
            {"features_fine": ["cpu", "mem", "disk", "nic"], "features_cpu": ["cpu"]},
        ),
        "003-fig5": (check_examples, {"gzip1": [3.9, 6.2, 5.9], "net": 2.5}),
    }
    claims["000-fig8"][1]["n_transfers_back_to_back_tails"] = 1
    for name, (check, values) in claims.items():
        finding = check(make_claim(values), CLAIMS)
        assert finding.verdict is ClaimVerdict.NOT_HERE, name
        assert not any(each.fails for each in finding.comparisons), name


def test_error_of_a_paper_hides_no_failing_comparison():
    both = Finding((compare_printed("sum", 1.0, 2.0), compare_property("ours", holds=False)))
    counted = summarise([(make_claim(), both)], "here")
    assert (counted["errata"], counted["differs"]) == (1, 1)
