"""The plan of benchmarks: what is stale, and when a quick form counts as worse."""

import json
import runpy
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.plan import __main__ as plan
from benchmarks.plan import measuring
from benchmarks.plan.catalogue import PLAN, Better, Planned
from benchmarks.plan.checking import compare
from benchmarks.plan.records import Record, RecordStore, digest_sources, list_changed
from benchmarks.support.report import ROOT
from tradewind.errors import InvalidValue

GAIN = Planned(
    name="gain",
    minutes=5,
    measures=("core/tradewind/gain.py",),
    figures={"error": Better.LOWER, "share": Better.HIGHER},
)


def record(*summaries, **changes) -> Record:
    made = Record(
        name="gain",
        commit="0123456789abcdef",
        started_at="2026-03-01T12:00:00+00:00",
        seconds=312.0,
        machine={"cores": 2},
        others_share=0.02,
        stolen_share=0.0,
        sources=digest_sources(GAIN),
        summaries=summaries or [{"error": 0.1, "share": 0.9}],
    )
    return replace(made, **changes)


def test_every_benchmark_with_figures_is_in_the_plan():
    programs = set(runpy.run_path(str(ROOT / "run"))["find_benchmarks"]())
    assert {planned.name for planned in PLAN} == programs - {"testbed"}


def test_all_that_the_plan_measures_is_there():
    assert [path for planned in PLAN for path in planned.measures if not (ROOT / path).exists()] == []


def test_a_record_is_stale_where_what_it_measured_has_changed():
    assert list_changed(GAIN, record()) == []
    assert list_changed(GAIN, record(sources={"core/tradewind/gain.py": "other"})) == ["core/tradewind/gain.py"]
    assert list_changed(GAIN, record(sources={})) == ["core/tradewind/gain.py"]


def test_a_record_comes_back_as_it_was_stored(tmp_path: Path):
    full, quick = RecordStore(quick=False, folder=tmp_path), RecordStore(quick=True, folder=tmp_path)
    full.store(record())
    assert full.find("gain") == record()
    assert quick.find("gain") is None
    (tmp_path / "gain.json").write_text('{"name": "gain"}', encoding="utf-8")
    with pytest.raises(InvalidValue, match=r"gain\.json: is no record"):
        full.find("gain")


@pytest.mark.parametrize(
    ("error", "is_worse"),
    [(0.1, False), (0.02, False), (0.109, False), (0.111, True), (None, True), (float("nan"), True)],
)
def test_a_single_record_bears_a_tenth(error, is_worse):
    found = compare(GAIN, record(), [{"error": error, "share": 0.9}])
    assert [(each.figure, each.is_worse) for each in found] == [("error", is_worse), ("share", False)]


def test_repeats_that_scatter_bear_more():
    scattered = record(*({"share": share} for share in (0.7, 0.9, 1.1)))
    [found] = compare(GAIN, scattered, [{"share": 0.5}])
    assert (found.usual, found.is_worse) == (0.9, False)
    assert found.bound == pytest.approx(0.3)


def test_the_median_of_several_runs_decides():
    runs = [{"error": 0.3, "share": 0.9}, {"error": 0.1, "share": 0.9}, {"error": 0.1, "share": 0.9}]
    assert not any(each.is_worse for each in compare(GAIN, record(), runs))


def test_figures_that_the_record_lacks_are_not_compared():
    assert compare(GAIN, record({"other": 1.0, "error": None, "share": True}), [{"error": 9.0}]) == []


@pytest.fixture
def stores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(RecordStore.__init__, "__kwdefaults__", {"folder": tmp_path})
    monkeypatch.setattr(plan, "PLAN", (GAIN,))
    return tmp_path


def test_the_plan_names_what_is_stale_and_how_long_it_takes(stores: Path, capsys: pytest.CaptureFixture[str]):
    assert plan.main(["--plan", "--json"]) == 0
    [row] = json.loads(capsys.readouterr().out)
    assert (row["measured"], row["minutes"], row["stale because of"]) == (None, 5, "no record")
    RecordStore(quick=False, folder=stores).store(record(seconds=600.0))
    assert plan.main(["--plan"]) == 0
    assert "0 of 1 are stale; they take about 0.0 hours" in capsys.readouterr().out


@pytest.mark.parametrize(("is_resumable", "minutes"), [(False, 10), (True, 5)])
def test_time_of_the_last_part_is_not_that_of_a_benchmark_that_goes_on(
    stores: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], is_resumable, minutes
):
    monkeypatch.setattr(plan, "PLAN", (replace(GAIN, is_resumable=is_resumable),))
    RecordStore(quick=False, folder=stores).store(record(seconds=600.0))
    assert plan.main(["--plan", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["minutes"] == minutes


def test_only_what_is_stale_is_measured_and_a_failure_does_not_end_the_plan(
    stores: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    other = replace(GAIN, name="surfaces")
    monkeypatch.setattr(plan, "PLAN", (GAIN, other, replace(GAIN, name="api")))
    RecordStore(quick=False, folder=stores).store(record(name="api"))
    started = []

    def measure(planned, arguments):
        started.append(planned.name)
        if planned is GAIN:
            raise measuring.BenchmarkFailed("gain ended with 1 and wrote no report")
        return record(name=planned.name)

    monkeypatch.setattr(plan, "measure", measure)
    assert plan.main(["--plan", "--measure", "--busy"]) == 1
    assert started == ["gain", "surfaces"]
    assert "without a report: gain" in capsys.readouterr().err
    assert RecordStore(quick=False, folder=stores).find("surfaces") is not None


def test_a_worse_figure_is_measured_again_and_decided_by_the_median(
    stores: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    RecordStore(quick=True, folder=stores).store(record())
    errors = iter([0.5, 0.1, 0.1, 0.5, 0.1, 0.5])

    def measure(planned, arguments):
        assert "--quick" in arguments
        return record({"error": next(errors), "share": 0.9})

    monkeypatch.setattr(plan, "measure", measure)
    assert plan.main(["--check", "gain"]) == 0
    assert "WORSE" not in capsys.readouterr().out
    assert plan.main(["--check", "gain"]) == 1
    assert "WORSE" in capsys.readouterr().out


def test_a_figure_that_the_quick_form_lacks_is_named_and_not_recorded(
    stores: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(plan, "measure", lambda planned, arguments: record({"error": 0.1, "share": None}))
    assert plan.main(["--check", "--record", "--busy"]) == 1
    assert "gain: not stored, as its quick form lacks share" in capsys.readouterr().err
    assert RecordStore(quick=True, folder=stores).find("gain") is None


def test_a_figure_that_the_record_lacks_is_named(
    stores: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    RecordStore(quick=True, folder=stores).store(record({"error": 0.1}))
    monkeypatch.setattr(plan, "measure", lambda planned, arguments: record())
    assert plan.main(["--check", "--json"]) == 0
    verdicts = {row["figure"]: row["verdict"] for row in json.loads(capsys.readouterr().out)}
    assert verdicts == {"error": "as before", "share": "not in its record"}


def test_a_quick_form_that_needs_no_data_is_checked_without(stores: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(plan, "PLAN", (replace(GAIN, needs_data=True, is_quick_without_data=True),))
    RecordStore(quick=True, folder=stores).store(record())
    received = []

    def measure(planned, arguments):
        received.append(arguments)
        return record()

    monkeypatch.setattr(plan, "measure", measure)
    assert plan.main(["--check"]) == 0
    assert plan.main(["--check", "--data", str(stores)]) == 0
    assert received == [["--quick"], ["--quick"]]


def test_a_check_that_compares_nothing_fails(stores: Path, capsys: pytest.CaptureFixture[str]):
    assert plan.main(["--check"]) == 1
    said = capsys.readouterr()
    assert "no record; --check --record makes it" in said.out
    assert said.err.startswith("plan: --check: has compared nothing")


def test_a_benchmark_that_needs_data_is_left_out_without(
    stores: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(plan, "PLAN", (replace(GAIN, needs_data=True),))
    RecordStore(quick=True, folder=stores).store(record())
    received = []

    def measure(planned, arguments):
        received.append(arguments)
        return record()

    monkeypatch.setattr(plan, "measure", measure)
    for words in (["--check", "--record"], ["--plan", "--measure", "--busy"]):
        assert plan.main(words) == 0
    assert plan.main(["--check"]) == 1
    said = capsys.readouterr()
    assert "needs --data" in said.out
    assert said.err.count("left out, as it needs --data") == 2
    assert received == []
    assert plan.main(["--check", "--data", str(stores)]) == 0
    assert received == [["--quick", "--data", str(stores)]]


@pytest.mark.parametrize("words", [["--plan", "speed"], ["--check", "--measure"], ["--plan", "--record"]])
def test_mistakes_are_one_line(stores: Path, words, capsys: pytest.CaptureFixture[str]):
    assert plan.main(words) == 1
    said = capsys.readouterr()
    assert said.err.startswith("plan: ")
    assert (said.err.count("\n"), said.out) == (1, "")


def test_a_machine_that_stays_busy_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(measuring, "_measure_others_share", lambda: 0.63)
    with pytest.raises(measuring.MachineIsBusy, match="63% of the processors; --busy"):
        measuring.wait_until_quiet(0.0)
