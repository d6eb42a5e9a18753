import json
from datetime import UTC, datetime

import pytest

from benchmarks.support.report import format_table, judge_summary, make_parser, write_report

BEGAN = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)


def test_a_report_has_the_shape_that_others_read(tmp_path, capsys):
    path = write_report(
        "echo",
        quick=True,
        results=[{"case": "a", "rps": 12.5}],
        summary={"ratio": 0.75},
        started_at=BEGAN,
        folder=tmp_path,
    )
    document = json.loads(path.read_text())
    assert list(document) == ["name", "commit", "started_at", "machine", "quick", "results", "summary"]
    assert document["name"] == path.stem == "echo"
    assert document["started_at"] == "2026-01-02T03:04:00+00:00"
    assert document["quick"] is True
    assert document["results"] == [{"case": "a", "rps": 12.5}]
    assert document["summary"] == {"ratio": 0.75}
    assert document["machine"]["cores"] >= 1
    assert "ratio" in capsys.readouterr().out
    assert [found.name for found in tmp_path.iterdir()] == ["echo.json"]


def test_smoke_run_is_quick_and_its_report_is_a_separate_file(tmp_path):
    options = make_parser("compares").parse_args(["--smoke"])
    assert (options.smoke, options.quick) == (True, True)
    assert make_parser("compares").parse_args(["--quick"]).smoke is False
    record = write_report("echo", quick=False, results=[], summary={"ratio": 1.0}, started_at=BEGAN, folder=tmp_path)
    smoke = write_report("echo", quick=True, smoke=True, results=[], summary={}, started_at=BEGAN, folder=tmp_path)
    assert (record.name, smoke.name) == ("echo.json", "echo-smoke.json")
    assert json.loads(smoke.read_text())["smoke"] is True
    assert "smoke" not in json.loads(record.read_text())


def test_a_figure_that_is_no_number_is_refused_and_the_last_report_stays(tmp_path):
    write_report("echo", quick=True, results=[], summary={"ratio": 1.0}, started_at=BEGAN, folder=tmp_path)
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_report("echo", quick=True, results=[], summary={"ratio": float("nan")}, started_at=BEGAN, folder=tmp_path)
    assert json.loads((tmp_path / "echo.json").read_text())["summary"] == {"ratio": 1.0}


def test_a_table_aligns_numbers_and_marks_what_a_case_lacks():
    assert format_table([{"case": "a", "rows": 1000}, {"case": "long", "seconds": 0.123456}]).splitlines() == [
        "case   rows  seconds",
        "----  -----  -------",
        "a     1,000        –",
        "long      –   0.1235",
    ]


def test_missing_data_folder_is_reported_at_once(capsys):
    with pytest.raises(SystemExit):
        make_parser("compares").parse_args(["--data", "no-such-folder"])
    assert "no-such-folder is no folder" in capsys.readouterr().err


def test_several_data_folders_may_be_given(tmp_path):
    parsed = make_parser("compares").parse_args(["--quick", "--data", str(tmp_path), str(tmp_path), "--seed", "7"])
    assert (parsed.quick, parsed.data, parsed.seed) == (True, [tmp_path, tmp_path], 7)


def test_metrics_above_their_bounds_and_unmeasured_ones_are_reported(capsys):
    bounds = {"p99_ms": 50.0, "error_rate": 0.0, "growth_exponent": 1.05}
    assert judge_summary({"p99_ms": 50.0, "error_rate": 0, "growth_exponent": 0.88}, bounds) == 0
    assert capsys.readouterr().out == ""
    assert judge_summary({"p99_ms": 50.1, "error_rate": 0.0}, bounds) == 1
    assert capsys.readouterr().out == "MISSED  p99_ms 50.1, 50 at most\nMISSED  growth_exponent –, 1.05 at most\n"


def test_metrics_below_their_bounds_are_reported_and_a_partial_run_is_judged_by_its_own(capsys):
    least = {"jain": 0.95, "vs_best_default_min": 0.98}
    assert judge_summary({"jain": 0.95}, {}, least, is_complete=False) == 0
    assert capsys.readouterr().out == ""
    assert judge_summary({"jain": 0.94}, {}, least) == 1
    assert capsys.readouterr().out == "MISSED  jain 0.94, 0.95 at least\nMISSED  vs_best_default_min –, 0.98 at least\n"


def test_nested_metrics_are_reported_one_by_one(tmp_path, capsys):
    write_report(
        "echo", quick=True, results=[], summary={"others": {"slow": {"ratio": 0.5}}}, started_at=BEGAN, folder=tmp_path
    )
    assert "others slow ratio" in capsys.readouterr().out
