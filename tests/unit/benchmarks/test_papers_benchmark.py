"""Verdicts on the papers' claims: they follow from numbers, and no claim goes without one."""

import json
import re
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

from benchmarks.papers.catalogue import Fact, read_facts
from benchmarks.papers.checks import every_check, findings
from benchmarks.papers.claims.connections import windows
from benchmarks.papers.finding import (
    Finding,
    Verdict,
    between,
    compared,
    computed,
    elsewhere,
    gained,
    holds_for_all,
    measured,
    no_more,
    recomputed,
    recovered,
)
from benchmarks.papers.forms import FORMS
from benchmarks.papers.grounds import FRANKFURT, SYDNEY, run_of
from benchmarks.papers.measuring import Bench
from benchmarks.papers.pages import PAGE, page_of
from benchmarks.papers.printed import closest, printed, readings_of_bytes
from benchmarks.papers.summary import judged, summary_of, what_is_missing
from benchmarks.papers.trial import SOURCES
from benchmarks.papers.trials.peer_trial import figures_of
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
    sort = "pages"

    def conditions(self, _facts):
        return "of 1 s"

    def measured(self, _yard):
        return {"disturbed": None}


class Lacking(Steady):
    name = "a trial that lacks something"

    def measured(self, _yard):
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
RATE = measured("a rate", 10.0, 10.0)
FINE, WRONG = computed("a model's", 2.0, 2.0), computed("a model's", 2.0, 3.0)
IMPOSSIBLE = recomputed("a sum", 43.5, printed(47.5))


def claim(values, **words) -> Fact:
    return Fact(
        **{"id": "x-1", "paper": "004", "place": "p", "kind": "result", "statement": "", **words, "values": values}
    )


def write_claims(folder, *ids):
    entries = [
        {"id": each, "paper": "004_x.txt", "loc": "p", "kind": "k", "statement": "", "values": {}} for each in ids
    ]
    (folder / "facts.json").write_text(json.dumps({"facts": entries}), encoding="utf-8")


def test_what_is_printed_stands_for_all_that_is_rounded_to_it_or_cut_off_there():
    assert printed(42).low == 41.5
    assert printed("2.60").high == pytest.approx(2.61)
    assert printed(16.7).meets(printed(42) / printed(2.6)), "41.6 / 2.5 would be 16.7"
    assert not printed(18.1).meets(printed(42) / printed(2.6))


def test_sizes_are_read_in_decimal_and_in_binary_units_whichever_suits_the_claim():
    claimed = printed("196") * 1e6
    assert closest(claimed, [1500 * each for each in readings_of_bytes("128 KB")]).meets(claimed)
    claimed = printed("1124") * 1e6
    assert not closest(claimed, [64 * each for each in readings_of_bytes("16.4 MB")]).meets(claimed)


@pytest.mark.parametrize(
    ("finding", "verdict"),
    [
        (compared(FINE), Verdict.REPRODUCED),
        (compared(FINE, WRONG), Verdict.DIFFERS),
        (compared(FINE, WRONG, IMPOSSIBLE), Verdict.CONTRADICTED),
        (elsewhere("a phone", [FINE]), Verdict.NOT_HERE),
        (elsewhere("a phone", [IMPOSSIBLE]), Verdict.CONTRADICTED),
        (compared(no_more("a share that is missing, %", 6.0, 0.5)), Verdict.REPRODUCED),
        (compared(holds_for_all("cases", 7, 6)), Verdict.DIFFERS),
        (Finding((FINE,), needs="a phone", unmeasured=True), Verdict.NOT_MEASURED),
        (Finding((FINE, measured("a rate", 10.0, 20.0, relative=0.5))), Verdict.DIFFERS),
        (Finding((FINE, measured("a rate", 10.0, 9.0, relative=0.5))), Verdict.REPRODUCED),
        (elsewhere("a phone", [FINE, measured("a rate", 10.0, 9.0, relative=0.5)]), Verdict.IN_OUR_FORM),
        (elsewhere("a phone", [measured("a rate", 10.0, 20.0, relative=0.5)]), Verdict.DIFFERS),
        (Finding(), Verdict.NOT_HERE),
        (elsewhere("pages", [FINE, gained("a gain", 0.1, 0.3)]), Verdict.IN_OUR_FORM),
        (elsewhere("pages", [FINE, gained("a gain", -0.1, 0.3)]), Verdict.NOT_SHOWN),
        (elsewhere("pages", [gained("a gain", -0.1, 0.3), gained("another", 0.0, 0.0)]), Verdict.NOT_SHOWN),
        (elsewhere("pages", [gained("a gain", -0.3, -0.1), gained("another", -0.1, 0.3)]), Verdict.DIFFERS),
        (elsewhere("pages", [IMPOSSIBLE, gained("a gain", -0.1, 0.3)]), Verdict.CONTRADICTED),
    ],
)
def test_a_verdict_follows_from_the_comparisons(finding, verdict):
    assert finding.verdict is verdict


def test_what_is_not_shown_speaks_for_its_verdict_and_has_no_number():
    finding = elsewhere("pages", [FINE, gained("a gain (1 ms, -2 to 3; 6 pages)", -0.1, 0.3)])
    assert (finding.told.ours, finding.told.deviation) == (None, None)
    told = [(claim({}), finding)]
    assert (summary_of(told, "here")["not_shown"], summary_of(told, "here")["differs"]) == (1, 0)
    page = page_of(told, datetime(2026, 11, 22, tzinfo=UTC))
    assert "| not shown | 1 |" in page
    assert "| *a gain (1 ms, -2 to 3; 6 pages)* | 1 |  |  | none | testbed |" in page


@pytest.mark.parametrize(("ours", "nearest"), [(0.5, 1), (1.0, 1), (2.2, 3), (3.5, 3)])
def test_a_range_of_the_paper_is_told_by_its_nearer_end(ours, nearest):
    found = between("an error", 1, 3, ours, more=0.5)
    assert (found.paper, found.agrees) == (nearest, True)
    assert (found.deviation == 0) is (ours == 1)


def test_the_paper_is_asked_when_the_check_runs():
    told = {"iw": 10, "seg": 1500, "reno_cum": [15000, 45000], "fld_cum": [15000, 60000], "rtts_500kB": [6, 4]}
    assert windows(claim(told), {}).verdict is Verdict.REPRODUCED
    assert windows(claim({**told, "rtts_500kB": [6, 5]}), {}).verdict is Verdict.DIFFERS


def test_a_number_that_only_the_words_have_is_found_or_missed_aloud():
    assert claim({}, statement="grew by nearly 135 % or so").number_after("by nearly") == 135
    with pytest.raises(InvalidValue, match="x-1"):
        claim({}, statement="grew").number_after("by nearly")


def test_a_claim_without_check_and_a_check_without_claim_are_named(tmp_path):
    write_claims(tmp_path, "a-1", "a-2")
    checks = {"a-1": lambda _fact, _facts: compared(FINE), "a-3": lambda _fact, _facts: compared(FINE)}
    with pytest.raises(InvalidValue, match="a-2"):
        list(findings(read_facts(tmp_path), checks))
    write_claims(tmp_path, "a-1")
    with pytest.raises(InvalidValue, match="a-3"):
        list(findings(read_facts(tmp_path), checks))


@pytest.mark.parametrize("text", ["", "{}", '{"facts": 3}', '{"facts": [{"id": "a"}]}'])
def test_a_file_that_holds_no_claims_is_refused(tmp_path, text):
    (tmp_path / "facts.json").write_text(text, encoding="utf-8")
    with pytest.raises(InvalidValue, match=r"facts\.json"):
        read_facts(tmp_path)


def test_the_same_id_twice_is_refused(tmp_path):
    write_claims(tmp_path, "a-1", "a-1")
    with pytest.raises(InvalidValue, match="twice"):
        read_facts(tmp_path)


def test_the_page_has_each_claim_that_is_checked_and_no_other():
    ids = re.findall(r"^\| (\d{3}-[\w-]+) \|", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert sorted(ids) == sorted(every_check())


def test_a_page_says_what_fails_and_what_is_needed():
    page = page_of([(claim({}), elsewhere("a phone", [IMPOSSIBLE]))], datetime(2026, 11, 22, tzinfo=UTC))
    assert "2026-11-22" in page
    assert re.search(r"x-1 .* contradicted by arithmetic .* \*\*a sum\*\* .* 43\.5 .* 47\.5 .* a phone", page)


def test_what_data_were_made_with_is_no_number_of_the_paper():
    found = recovered("power, W", 40.0, 41.0, relative=0.1)
    assert (found.paper, found.agrees, found.deviation) == (None, True, pytest.approx(0.025))
    page = page_of([(claim({}), compared(found))], datetime(2026, 11, 22, tzinfo=UTC))
    assert re.search(r"power, W, made as 40 \|  \| 41 \| \+2\.5%", page)


def test_a_run_that_other_programs_disturbed_does_not_count(tmp_path):
    trial = Steady()
    bench = Bench(facts={}, log=RunLog(tmp_path / "rows"), folder=tmp_path, cut_s=1.0, sources=AS_THEY_ARE)
    key = bench.key(trial, {"pages": "digest"}, "a kernel, a processor, 2 cores")
    assert key == "a trial; of 1 s; digest; a kernel, a processor, 2 cores"
    bench.log.add(bench.current_key(trial), {"disturbed": "packets left late"})
    assert bench.rows([trial]) == {}
    bench.log.add(bench.current_key(trial), {"disturbed": None})
    assert list(bench.rows([trial])) == [trial]


def test_what_was_measured_keeps_what_a_fuller_answer_takes_and_what_stood_for_it():
    found = elsewhere("a phone", [FINE]).with_measured([RATE], machine="a machine", stands_for="ours is made")
    assert (found.needs, found.machine, found.verdict) == ("a phone; ours is made", "a machine", Verdict.IN_OUR_FORM)
    assert compared(FINE).with_measured([RATE], machine="a machine").verdict is Verdict.REPRODUCED


def test_a_summary_and_a_page_name_the_machines_that_were_measured_on():
    told = [(claim({}), elsewhere("a phone").with_measured([RATE], machine="a machine"))]
    assert summary_of(told, "a machine")["measured_on"] == "a machine (1 claims)"
    assert [summary_of(told, each)["measured_here"] for each in ("a machine", "another")] == [1, 0]
    assert "Measured on a machine (1 claims)." in page_of(told, datetime(2026, 11, 22, tzinfo=UTC))


def test_results_of_the_papers_are_measured_where_the_testbed_can():
    assert set(FORMS) <= set(every_check())
    assert len({run.name for form in FORMS.values() for run in form.runs}) > len(FORMS)


def test_a_trial_that_lacks_something_here_leaves_the_others_be(tmp_path, capsys):
    bench = Bench(facts={}, log=RunLog(tmp_path / "rows"), folder=tmp_path, cut_s=1.0, sources=AS_THEY_ARE)
    lacking, steady = Lacking(), Steady()
    bench.measure([lacking, steady])
    assert list(bench.rows([lacking, steady])) == [steady]
    assert "a trial that lacks something: cannot be measured here: " in capsys.readouterr().err


def test_a_run_that_fails_and_a_path_that_breaks_leave_the_others_be(tmp_path, capsys):
    facts = {
        "000-servers": claim({"EC2_Sydney": {"rtt_ms": 290}, "EC2_Frankfurt": {"rtt_ms": 115}}),
        "000-fig3": claim({"3GB": {"to": 86}}),
        "000-fig6": claim({"html_max_Mbps": {"Frankfurt": 55}}),
        **{id_: claim({}) for id_ in ("002-fig2", "002-fig3")},
    }
    log = RunLog(tmp_path / "rows")
    bench = Bench(facts=facts, log=log, folder=tmp_path, cut_s=1.0, ground=failing_at_two_files, sources=AS_THEY_ARE)
    runs = [run_of(path, "000/html", cc=cc) for path in (FRANKFURT, SYDNEY) for cc in (1, 2, 4)]
    bench.measure([*runs, trial := Steady()])
    assert set(bench.rows([*runs, trial])) == {runs[3], runs[5], trial}
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
        figures_of("rclone", ran(**failed), log)


@pytest.mark.parametrize("fine", [{}, {"cut": True, "exit_code": None}])
def test_a_tool_that_was_cut_stands_for_its_bytes(tmp_path, fine):
    assert figures_of("rclone", ran(**fine), tmp_path / "none")["bps"] == 4e6


@pytest.mark.parametrize(
    ("sort", "part"),
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
        *((sort, "clients/python/tradewind_agent/meters/cpu_model.py") for sort in SOURCES if sort != "losses"),
        *((sort, "benchmarks/papers/grounds.py") for sort in SOURCES if sort != "losses"),
    ],
)
def test_what_was_measured_counts_no_longer_than_what_it_measured(sort, part):
    assert (ROOT / part).is_file()
    assert any((ROOT / part).is_relative_to(ROOT / source) for source in SOURCES[sort])


@pytest.mark.parametrize(
    ("results", "others", "code"),
    [
        ([Finding((RATE,))] * 20, [compared(FINE)], 0),
        ([Finding((RATE,))] * 19, [compared(FINE)], 1),
        ([Finding((RATE,))] * 20, [Finding(unmeasured=True)], 1),
        ([Finding((FINE,))] * 20, [], 1),
    ],
)
def test_all_claims_need_a_verdict_and_twenty_results_a_measurement(results, others, code, capsys):
    told = [(claim({}), each) for each in results] + [(claim({}, kind="claim"), each) for each in others]
    assert judged(told, "here", quick=False) == code
    assert ("MISSED" in capsys.readouterr().out) == bool(code)
    assert judged(told, "here", quick=True) == 0


def test_what_is_not_measured_is_named_with_how_to_measure_it():
    told = [(claim({}, id="000-fig2"), Finding((IMPOSSIBLE,), unmeasured=True)), (claim({}), compared(FINE))]
    assert re.search(r"1 results \(000-fig2\); --measure", what_is_missing(told))
    assert what_is_missing(told[1:]) == ""
    pages = [page_of(each, datetime(2026, 11, 22, tzinfo=UTC)) for each in (told, told[1:])]
    assert ["**Not measured yet, or not since" in page for page in pages] == [True, False]
