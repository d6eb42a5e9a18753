"""Verdicts on the papers' claims: they follow from numbers, and no claim goes without one."""

import json
import re
from datetime import UTC, datetime

import pytest

from benchmarks.papers.catalogue import read_claims
from benchmarks.papers.checks import check_claims, collect_checks
from benchmarks.papers.claims.connections import check_windows
from benchmarks.papers.finding import (
    ClaimVerdict,
    Finding,
    compare_cases,
    compare_computed,
    compare_gain,
    compare_measured,
    compare_printed,
    compare_range,
    compare_recovered,
    compare_upper_bound,
    make_finding,
    make_finding_elsewhere,
)
from benchmarks.papers.forms import FORMS
from benchmarks.papers.pages import PAGE, render_page
from benchmarks.papers.printed import find_printed_range, pick_closest, read_bytes_both_ways
from benchmarks.papers.summary import describe_missing, judge_findings, summarise
from tests.unit.benchmarks.papers.claims import make_claim
from tradewind.errors import InvalidValue

RATE = compare_measured("a rate", 10.0, 10.0)
FINE, WRONG = compare_computed("a model's", 2.0, 2.0), compare_computed("a model's", 2.0, 3.0)
IMPOSSIBLE = compare_printed("a sum", 43.5, find_printed_range(47.5))


def write_claims(folder, *ids):
    entries = [
        {"id": each, "paper": "004_x.txt", "loc": "p", "kind": "k", "statement": "", "values": {}} for each in ids
    ]
    (folder / "facts.json").write_text(json.dumps({"facts": entries}), encoding="utf-8")


def test_printed_number_covers_all_values_that_round_or_truncate_to_it():
    assert find_printed_range(42).low == 41.5
    assert find_printed_range("2.60").high == pytest.approx(2.61)
    assert find_printed_range(16.7).overlaps(find_printed_range(42) / find_printed_range(2.6)), (
        "41.6 / 2.5 would be 16.7"
    )
    assert not find_printed_range(18.1).overlaps(find_printed_range(42) / find_printed_range(2.6))


def test_sizes_are_read_in_decimal_and_in_binary_units_whichever_suits_the_claim():
    claimed = find_printed_range("196") * 1e6
    assert pick_closest(claimed, [1500 * each for each in read_bytes_both_ways("128 KB")]).overlaps(claimed)
    claimed = find_printed_range("1124") * 1e6
    assert not pick_closest(claimed, [64 * each for each in read_bytes_both_ways("16.4 MB")]).overlaps(claimed)


@pytest.mark.parametrize(
    ("finding", "verdict"),
    [
        (make_finding(FINE), ClaimVerdict.REPRODUCED),
        (make_finding(FINE, WRONG), ClaimVerdict.DIFFERS),
        (make_finding(FINE, WRONG, IMPOSSIBLE), ClaimVerdict.CONTRADICTED),
        (make_finding_elsewhere("a phone", [FINE]), ClaimVerdict.NOT_HERE),
        (make_finding_elsewhere("a phone", [IMPOSSIBLE]), ClaimVerdict.CONTRADICTED),
        (make_finding(compare_upper_bound("a share that is missing, %", 6.0, 0.5)), ClaimVerdict.REPRODUCED),
        (make_finding(compare_cases("cases", 7, 6)), ClaimVerdict.DIFFERS),
        (Finding((FINE,), needs="a phone", unmeasured=True), ClaimVerdict.NOT_MEASURED),
        (Finding((FINE, compare_measured("a rate", 10.0, 20.0, relative=0.5))), ClaimVerdict.DIFFERS),
        (Finding((FINE, compare_measured("a rate", 10.0, 9.0, relative=0.5))), ClaimVerdict.REPRODUCED),
        (
            make_finding_elsewhere("a phone", [FINE, compare_measured("a rate", 10.0, 9.0, relative=0.5)]),
            ClaimVerdict.IN_OUR_FORM,
        ),
        (
            make_finding_elsewhere("a phone", [compare_measured("a rate", 10.0, 20.0, relative=0.5)]),
            ClaimVerdict.DIFFERS,
        ),
        (Finding(), ClaimVerdict.NOT_HERE),
        (make_finding_elsewhere("pages", [FINE, compare_gain("a gain", 0.1, 0.3)]), ClaimVerdict.IN_OUR_FORM),
        (make_finding_elsewhere("pages", [FINE, compare_gain("a gain", -0.1, 0.3)]), ClaimVerdict.NOT_SHOWN),
        (
            make_finding_elsewhere("pages", [compare_gain("a gain", -0.1, 0.3), compare_gain("another", 0.0, 0.0)]),
            ClaimVerdict.NOT_SHOWN,
        ),
        (
            make_finding_elsewhere("pages", [compare_gain("a gain", -0.3, -0.1), compare_gain("another", -0.1, 0.3)]),
            ClaimVerdict.DIFFERS,
        ),
        (make_finding_elsewhere("pages", [IMPOSSIBLE, compare_gain("a gain", -0.1, 0.3)]), ClaimVerdict.CONTRADICTED),
    ],
)
def test_a_verdict_follows_from_the_comparisons(finding, verdict):
    assert finding.verdict is verdict


def test_unshown_comparison_decides_the_verdict_without_a_number():
    finding = make_finding_elsewhere("pages", [FINE, compare_gain("a gain (1 ms, -2 to 3; 6 pages)", -0.1, 0.3)])
    assert (finding.decisive_comparison.ours, finding.decisive_comparison.deviation) == (None, None)
    judged = [(make_claim({}), finding)]
    assert (summarise(judged, "here")["not_shown"], summarise(judged, "here")["differs"]) == (1, 0)
    page = render_page(judged, datetime(2026, 11, 22, tzinfo=UTC))
    assert "| not shown | 1 |" in page
    assert "| *a gain (1 ms, -2 to 3; 6 pages)* | 1 |  |  | none | testbed |" in page


@pytest.mark.parametrize(("ours", "nearest"), [(0.5, 1), (1.0, 1), (2.2, 3), (3.5, 3)])
def test_range_of_the_paper_is_compared_by_its_nearer_end(ours, nearest):
    found = compare_range("an error", 1, 3, ours, more=0.5)
    assert (found.paper, found.agrees) == (nearest, True)
    assert (found.deviation == 0) is (ours == 1)


def test_values_of_the_paper_are_read_when_the_check_runs():
    values = {
        "iw": 10,
        "seg": 1500,
        "reno_cum": [15000, 45000],
        "fld_cum": [15000, 60000],
        "rtts_500kB": [6, 4],
    }
    assert check_windows(make_claim(values), {}).verdict is ClaimVerdict.REPRODUCED
    assert check_windows(make_claim({**values, "rtts_500kB": [6, 5]}), {}).verdict is ClaimVerdict.DIFFERS


def test_a_number_that_only_the_words_have_is_found_or_missed_aloud():
    assert make_claim({}, statement="grew by nearly 135 % or so").find_number_after("by nearly") == 135
    with pytest.raises(InvalidValue, match="x-1"):
        make_claim({}, statement="grew").find_number_after("by nearly")


def test_a_claim_without_check_and_a_check_without_claim_are_named(tmp_path):
    write_claims(tmp_path, "a-1", "a-2")
    checks = {"a-1": lambda _claim, _claims: make_finding(FINE), "a-3": lambda _claim, _claims: make_finding(FINE)}
    with pytest.raises(InvalidValue, match="a-2"):
        list(check_claims(read_claims(tmp_path), checks))
    write_claims(tmp_path, "a-1")
    with pytest.raises(InvalidValue, match="a-3"):
        list(check_claims(read_claims(tmp_path), checks))


@pytest.mark.parametrize("text", ["", "{}", '{"facts": 3}', '{"facts": [{"id": "a"}]}'])
def test_a_file_that_holds_no_claims_is_refused(tmp_path, text):
    (tmp_path / "facts.json").write_text(text, encoding="utf-8")
    with pytest.raises(InvalidValue, match=r"facts\.json"):
        read_claims(tmp_path)


def test_the_same_id_twice_is_refused(tmp_path):
    write_claims(tmp_path, "a-1", "a-1")
    with pytest.raises(InvalidValue, match="twice"):
        read_claims(tmp_path)


def test_the_page_has_each_claim_that_is_checked_and_no_other():
    ids = re.findall(r"^\| (\d{3}-[\w-]+) \|", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert sorted(ids) == sorted(collect_checks())


def test_a_page_says_what_fails_and_what_is_needed():
    page = render_page(
        [(make_claim({}), make_finding_elsewhere("a phone", [IMPOSSIBLE]))], datetime(2026, 11, 22, tzinfo=UTC)
    )
    assert "2026-11-22" in page
    assert re.search(r"x-1 .* contradicted by arithmetic .* \*\*a sum\*\* .* 43\.5 .* 47\.5 .* a phone", page)


def test_the_page_shows_that_a_contradicted_claim_differs_as_well():
    both, only_contradicted = make_finding(IMPOSSIBLE, WRONG), make_finding(IMPOSSIBLE, FINE)
    page = render_page(
        [(make_claim({}), both), (make_claim({}), only_contradicted)], datetime(2026, 11, 22, tzinfo=UTC)
    )
    assert page.count("| contradicted by arithmetic; differs |") == 1
    assert "| contradicted by arithmetic | 2 |" in page
    assert "| differs | 1 |" in page
    assert "| all | 2 | 1 of them are contradicted by arithmetic and differ as well |" in page


def test_recovered_value_is_no_number_of_the_paper():
    found = compare_recovered("power, W", 40.0, 41.0, relative=0.1)
    assert (found.paper, found.agrees, found.deviation) == (None, True, pytest.approx(0.025))
    page = render_page([(make_claim({}), make_finding(found))], datetime(2026, 11, 22, tzinfo=UTC))
    assert re.search(r"power, W, made as 40 \|  \| 41 \| \+2\.5%", page)


def test_measured_finding_keeps_its_needs_and_substitute():
    found = make_finding_elsewhere("a phone", [FINE]).add_measured(
        [RATE], machine="a machine", substitute="ours is made"
    )
    assert (found.needs, found.machine, found.verdict) == (
        "a phone; ours is made",
        "a machine",
        ClaimVerdict.IN_OUR_FORM,
    )
    assert make_finding(FINE).add_measured([RATE], machine="a machine").verdict is ClaimVerdict.REPRODUCED


def test_a_summary_and_a_page_name_the_machines_that_were_measured_on():
    judged = [(make_claim({}), make_finding_elsewhere("a phone").add_measured([RATE], machine="a machine"))]
    assert summarise(judged, "a machine")["measured_on"] == "a machine (1 claims)"
    assert [summarise(judged, each)["measured_here"] for each in ("a machine", "another")] == [1, 0]
    assert "Measured on a machine (1 claims)." in render_page(judged, datetime(2026, 11, 22, tzinfo=UTC))


def test_results_of_the_papers_are_measured_where_the_testbed_can():
    assert set(FORMS) <= set(collect_checks())
    assert len({run.name for form in FORMS.values() for run in form.runs}) > len(FORMS)


@pytest.mark.parametrize(
    ("results", "others", "code"),
    [
        ([Finding((RATE,))] * 20, [make_finding(FINE)], 0),
        ([Finding((RATE,))] * 19, [make_finding(FINE)], 1),
        ([Finding((RATE,))] * 20, [Finding(unmeasured=True)], 1),
        ([Finding((FINE,))] * 20, [], 1),
    ],
)
def test_all_claims_need_a_verdict_and_twenty_results_a_measurement(results, others, code, capsys):
    judged = [(make_claim({}), each) for each in results] + [(make_claim({}, kind="claim"), each) for each in others]
    assert judge_findings(judged, "here", quick=False) == code
    assert ("MISSED" in capsys.readouterr().out) == bool(code)
    assert judge_findings(judged, "here", quick=True) == 0


def test_unmeasured_results_are_named_with_the_command_to_measure_them():
    findings = [
        (make_claim({}, id="000-fig2"), Finding((IMPOSSIBLE,), unmeasured=True)),
        (make_claim({}), make_finding(FINE)),
    ]
    assert re.search(r"1 results \(000-fig2\); --measure", describe_missing(findings))
    assert describe_missing(findings[1:]) == ""
    pages = [render_page(listed, datetime(2026, 11, 22, tzinfo=UTC)) for listed in (findings, findings[1:])]
    assert ["**Not measured yet: 1 results" in page for page in pages] == [True, False]
