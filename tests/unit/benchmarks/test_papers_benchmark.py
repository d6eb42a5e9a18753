"""Verdicts on the papers' claims: they follow from numbers, and no claim goes without one."""

import json
import re
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

from benchmarks.papers.catalogue import Claim, read_claims
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
from benchmarks.papers.measuring import Workbench
from benchmarks.papers.pages import PAGE, render_page
from benchmarks.papers.paths import FRANKFURT, SYDNEY, make_run
from benchmarks.papers.printed import pick_closest, printed_range, read_bytes_both_ways
from benchmarks.papers.summary import describe_missing, judge_findings, summarise
from benchmarks.papers.trial import SOURCES
from benchmarks.papers.trials.peer_trial import read_metrics
from benchmarks.support.report import ROOT
from benchmarks.support.sources import Sources
from benchmarks.testbed.errors import EmulationBroke, NothingMoved
from benchmarks.testbed.measured_run import MeasuredRun
from benchmarks.wan.runs import RunLog
from tradewind.errors import InvalidValue


@dataclass(frozen=True)
class Steady:
    """A trial that is never made."""

    name = "a trial"
    source_part = "pages"

    def conditions(self, _claims):
        return "of 1 s"

    def measure(self, _yard):
        return {"disturbed": None}


class Lacking(Steady):
    name = "a trial that lacks something"

    def measure(self, _yard):
        raise InvalidValue("kernel", "has no BTF")


@contextmanager
def failing_at_two_files(path, _files, _yard, _cut_s):
    """A path on which two files at once are one too many; none at all to Frankfurt."""
    if path == FRANKFURT:
        raise EmulationBroke("no server")

    def made(run):
        if run.setting.concurrency == 2:
            raise NothingMoved("moved 0 bytes")
        return {"duration_s": 1.0, "bytes_done": 125_000, "disturbed": None}

    yield made


AS_THEY_ARE = Sources.of(dict.fromkeys(("pages", "transfers"), ("benchmarks/papers/trial.py",)))
RATE = compare_measured("a rate", 10.0, 10.0)
FINE, WRONG = compare_computed("a model's", 2.0, 2.0), compare_computed("a model's", 2.0, 3.0)
IMPOSSIBLE = compare_printed("a sum", 43.5, printed_range(47.5))


def make_claim(values, **words) -> Claim:
    return Claim(
        **{"id": "x-1", "paper": "004", "place": "p", "kind": "result", "statement": "", **words, "values": values}
    )


def write_claims(folder, *ids):
    entries = [
        {"id": each, "paper": "004_x.txt", "loc": "p", "kind": "k", "statement": "", "values": {}} for each in ids
    ]
    (folder / "facts.json").write_text(json.dumps({"facts": entries}), encoding="utf-8")


def test_printed_number_covers_all_values_that_round_or_truncate_to_it():
    assert printed_range(42).low == 41.5
    assert printed_range("2.60").high == pytest.approx(2.61)
    assert printed_range(16.7).overlaps(printed_range(42) / printed_range(2.6)), "41.6 / 2.5 would be 16.7"
    assert not printed_range(18.1).overlaps(printed_range(42) / printed_range(2.6))


def test_sizes_are_read_in_decimal_and_in_binary_units_whichever_suits_the_claim():
    claimed = printed_range("196") * 1e6
    assert pick_closest(claimed, [1500 * each for each in read_bytes_both_ways("128 KB")]).overlaps(claimed)
    claimed = printed_range("1124") * 1e6
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


def test_what_is_not_shown_speaks_for_its_verdict_and_has_no_number():
    finding = make_finding_elsewhere("pages", [FINE, compare_gain("a gain (1 ms, -2 to 3; 6 pages)", -0.1, 0.3)])
    assert (finding.decisive_comparison.ours, finding.decisive_comparison.deviation) == (None, None)
    told = [(make_claim({}), finding)]
    assert (summarise(told, "here")["not_shown"], summarise(told, "here")["differs"]) == (1, 0)
    page = render_page(told, datetime(2026, 11, 22, tzinfo=UTC))
    assert "| not shown | 1 |" in page
    assert "| *a gain (1 ms, -2 to 3; 6 pages)* | 1 |  |  | none | testbed |" in page


@pytest.mark.parametrize(("ours", "nearest"), [(0.5, 1), (1.0, 1), (2.2, 3), (3.5, 3)])
def test_range_of_the_paper_is_compared_by_its_nearer_end(ours, nearest):
    found = compare_range("an error", 1, 3, ours, more=0.5)
    assert (found.paper, found.agrees) == (nearest, True)
    assert (found.deviation == 0) is (ours == 1)


def test_values_of_the_paper_are_read_when_the_check_runs():
    told = {"iw": 10, "seg": 1500, "reno_cum": [15000, 45000], "fld_cum": [15000, 60000], "rtts_500kB": [6, 4]}
    assert check_windows(make_claim(told), {}).verdict is ClaimVerdict.REPRODUCED
    assert check_windows(make_claim({**told, "rtts_500kB": [6, 5]}), {}).verdict is ClaimVerdict.DIFFERS


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


def test_what_data_were_made_with_is_no_number_of_the_paper():
    found = compare_recovered("power, W", 40.0, 41.0, relative=0.1)
    assert (found.paper, found.agrees, found.deviation) == (None, True, pytest.approx(0.025))
    page = render_page([(make_claim({}), make_finding(found))], datetime(2026, 11, 22, tzinfo=UTC))
    assert re.search(r"power, W, made as 40 \|  \| 41 \| \+2\.5%", page)


def test_a_run_that_other_programs_disturbed_does_not_count(tmp_path):
    trial = Steady()
    bench = Workbench(claims={}, log=RunLog(tmp_path / "rows"), folder=tmp_path, cut_s=1.0, sources=AS_THEY_ARE)
    key = bench.key(trial, {"pages": "digest"}, "a kernel, a processor, 2 cores")
    assert key == "a trial; of 1 s; digest; a kernel, a processor, 2 cores"
    bench.log.add(bench.current_key(trial), {"disturbed": "packets left late"})
    assert bench.find_rows([trial]) == {}
    bench.log.add(bench.current_key(trial), {"disturbed": None})
    assert list(bench.find_rows([trial])) == [trial]


def test_what_was_measured_keeps_what_a_fuller_answer_takes_and_what_stood_for_it():
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
    told = [(make_claim({}), make_finding_elsewhere("a phone").add_measured([RATE], machine="a machine"))]
    assert summarise(told, "a machine")["measured_on"] == "a machine (1 claims)"
    assert [summarise(told, each)["measured_here"] for each in ("a machine", "another")] == [1, 0]
    assert "Measured on a machine (1 claims)." in render_page(told, datetime(2026, 11, 22, tzinfo=UTC))


def test_results_of_the_papers_are_measured_where_the_testbed_can():
    assert set(FORMS) <= set(collect_checks())
    assert len({run.name for form in FORMS.values() for run in form.runs}) > len(FORMS)


def test_a_trial_that_lacks_something_here_leaves_the_others_be(tmp_path, capsys):
    bench = Workbench(claims={}, log=RunLog(tmp_path / "rows"), folder=tmp_path, cut_s=1.0, sources=AS_THEY_ARE)
    lacking, steady = Lacking(), Steady()
    bench.measure([lacking, steady])
    assert list(bench.find_rows([lacking, steady])) == [steady]
    assert "a trial that lacks something: cannot be measured here: " in capsys.readouterr().err


def test_a_run_that_fails_and_a_path_that_breaks_leave_the_others_be(tmp_path, capsys):
    claims = {
        "000-servers": make_claim({"EC2_Sydney": {"rtt_ms": 290}, "EC2_Frankfurt": {"rtt_ms": 115}}),
        "000-fig3": make_claim({"3GB": {"to": 86}}),
        "000-fig6": make_claim({"html_max_Mbps": {"Frankfurt": 55}}),
        **{id_: make_claim({}) for id_ in ("002-fig2", "002-fig3")},
    }
    log = RunLog(tmp_path / "rows")
    bench = Workbench(
        claims=claims, log=log, folder=tmp_path, cut_s=1.0, set_up=failing_at_two_files, sources=AS_THEY_ARE
    )
    runs = [make_run(path, "000/html", cc=cc) for path in (FRANKFURT, SYDNEY) for cc in (1, 2, 4)]
    bench.measure([*runs, trial := Steady()])
    assert set(bench.find_rows([*runs, trial])) == {runs[3], runs[5], trial}
    told = capsys.readouterr().err
    assert "Sydney, 000/html, concurrency 2, parallelism 1, pipelining 1: cannot be measured here: moved 0" in told
    assert "Frankfurt, 000/html: 3 runs cannot be made here: no server" in told


def ran(**words):
    as_usual = {"duration_s": 2.0, "bytes_done": 10**6, "cpu_s": 0.1, "cut": False, "exit_code": 0}
    nothing_else = {"path": None, "share": None}
    return MeasuredRun(**as_usual | nothing_else | words)


@pytest.mark.parametrize(
    "failed", [{"bytes_done": 0}, {"bytes_done": 0, "cut": True, "exit_code": None}, {"exit_code": 1}]
)
def test_a_tool_that_moved_nothing_or_failed_has_no_figures_and_says_why(tmp_path, failed):
    log = tmp_path / "log"
    log.write_text("no such host", encoding="utf-8")
    with pytest.raises(NothingMoved, match=r"rclone .*no such host"):
        read_metrics("rclone", ran(**failed), log)


@pytest.mark.parametrize("fine", [{}, {"cut": True, "exit_code": None}])
def test_cut_off_tool_is_credited_with_its_bytes(tmp_path, fine):
    assert read_metrics("rclone", ran(**fine), tmp_path / "none")["bps"] == 4e6


@pytest.mark.parametrize(
    ("source_part", "part"),
    [
        ("pages", "clients/bpf/fld_tcp.bpf.c"),
        ("pages", "clients/python/tradewind_agent/transport/installation.py"),
        ("peers", "clients/python/tradewind_agent/session/planning.py"),
        ("peers", "core/tradewind/unknown_path/rules.py"),
        ("peers", "core/tradewind/tiers/selection.py"),
        ("peers", "core/tradewind/tuning/controller.py"),
        ("tuners", "benchmarks/tuning/history.py"),
        ("tuners", "core/tradewind/learning/link.py"),
        ("tuners", "core/tradewind/tiers/selection.py"),
        ("losses", "benchmarks/transport/scripted_receiver.py"),
        ("losses", "clients/bpf/fld_tcp.bpf.c"),
        *(
            (source_part, "clients/python/tradewind_agent/meters/cpu_model.py")
            for source_part in SOURCES
            if source_part != "losses"
        ),
        *((source_part, "benchmarks/papers/paths.py") for source_part in SOURCES if source_part != "losses"),
    ],
)
def test_what_was_measured_counts_no_longer_than_what_it_measured(source_part, part):
    assert (ROOT / part).is_file()
    assert any((ROOT / part).is_relative_to(ROOT / source) for source in SOURCES[source_part])


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
    told = [(make_claim({}), each) for each in results] + [(make_claim({}, kind="claim"), each) for each in others]
    assert judge_findings(told, "here", quick=False) == code
    assert ("MISSED" in capsys.readouterr().out) == bool(code)
    assert judge_findings(told, "here", quick=True) == 0


def test_what_is_not_measured_is_named_with_how_to_measure_it():
    told = [
        (make_claim({}, id="000-fig2"), Finding((IMPOSSIBLE,), unmeasured=True)),
        (make_claim({}), make_finding(FINE)),
    ]
    assert re.search(r"1 results \(000-fig2\); --measure", describe_missing(told))
    assert describe_missing(told[1:]) == ""
    pages = [render_page(each, datetime(2026, 11, 22, tzinfo=UTC)) for each in (told, told[1:])]
    assert ["**Not measured yet, or not since" in page for page in pages] == [True, False]
