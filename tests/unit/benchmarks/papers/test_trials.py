"""Trials of the papers' claims: those that fail, lack something or were disturbed leave the others be."""

from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from benchmarks.papers.measuring import Workbench
from benchmarks.papers.paths import FAR, FRANKFURT, NEAR, SYDNEY, find_window_bytes, make_run
from benchmarks.papers.trial import SOURCES
from benchmarks.papers.trials.peer_trial import read_metrics
from benchmarks.support.report import ROOT
from benchmarks.support.sources import Sources
from benchmarks.testbed.errors import EmulationBroke, NothingMoved
from benchmarks.testbed.measured_run import MeasuredRun
from benchmarks.wan.runs import RunLog
from tests.unit.benchmarks.papers.claims import make_claim
from tradewind.errors import InvalidValue


@dataclass(frozen=True)
class Steady:
    """A trial that is never made."""

    name = "a trial"
    source_part = "pages"

    def describe_conditions(self, _claims):
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


def test_a_run_that_other_programs_disturbed_does_not_count(tmp_path):
    trial = Steady()
    bench = Workbench(claims={}, log=RunLog(tmp_path / "rows"), folder=tmp_path, cut_s=1.0, sources=AS_THEY_ARE)
    key = bench.build_key(trial, {"pages": "digest"}, "a kernel, a processor, 2 cores")
    assert key == "a trial; of 1 s; digest; a kernel, a processor, 2 cores"
    bench.log.add(bench.build_current_key(trial), {"disturbed": "packets left late"})
    assert bench.find_rows([trial]) == {}
    bench.log.add(bench.build_current_key(trial), {"disturbed": None})
    assert list(bench.find_rows([trial])) == [trial]


def test_a_trial_that_lacks_something_here_leaves_the_others_be(tmp_path, capsys):
    bench = Workbench(claims={}, log=RunLog(tmp_path / "rows"), folder=tmp_path, cut_s=1.0, sources=AS_THEY_ARE)
    lacking, steady = Lacking(), Steady()
    bench.measure([lacking, steady])
    assert list(bench.find_rows([lacking, steady])) == [steady]
    assert "a trial that lacks something: cannot be measured here: " in capsys.readouterr().err


def test_a_run_that_fails_and_a_path_that_breaks_leave_the_others_be(tmp_path, capsys):
    claims = {
        "000-servers": make_claim({"EC2_Sydney": {"rtt_ms": 290}, "EC2_Frankfurt": {"rtt_ms": 115}}),
        "000-fig2-cc": make_claim({"video": {"thr_Mbps_cc1": 13}}),
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
    printed = capsys.readouterr().err
    assert "Sydney, 000/html, concurrency 2, parallelism 1, pipelining 1: cannot be measured here: moved 0" in printed
    assert "Frankfurt, 000/html: 3 runs cannot be made here: no server" in printed


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
def test_changed_source_makes_its_measurement_stale(source_part, part):
    assert (ROOT / part).is_file()
    assert any((ROOT / part).is_relative_to(ROOT / source) for source in SOURCES[source_part])


def test_window_gives_one_stream_the_rate_that_the_paper_prints():
    claims = {
        "000-servers": make_claim({"EC2_Sydney": {"rtt_ms": 290}, "EC2_Frankfurt": {"rtt_ms": 115}}),
        "000-fig2-cc": make_claim({"video": {"thr_Mbps_cc1": 13}}),
        "000-fig3": make_claim({"3GB": {"from": 24, "to": 104}}),
        "000-fig6": make_claim({"html_max_Mbps": {"Frankfurt": 55}}),
        "002-fig2": make_claim({"max_Mbps": 280, "video_cc_gain_X_1to8": 7.0, "rtt_ms": 60}),
        "002-fig3": make_claim({"rtt_ms": 240}),
    }
    windows = [
        find_window_bytes(make_run(path, files), claims)
        for path, files in (
            (SYDNEY, "000/video"), (SYDNEY, "000/3gb"), (FRANKFURT, "000/html"), (NEAR, "002/html"), (FAR, "002/html")
        )
    ]  # fmt: skip
    assert windows == [471_250, 870_000, None, 300_000, 600_000]
