"""Traces and calibration by the command line."""

import time

import pytest

from tests.integration.agent.command import run


def test_a_meters_trace_is_split_into_base_dynamic_and_tail(tmp_path, env):
    rows = [(n / 10, 1.0 if n < 50 else 3.0 if n < 100 else 2.0 if n < 150 else 1.0) for n in range(200)]
    (tmp_path / "meter.csv").write_text("time_s;power_w\n" + "\n".join(f"{at};{w}" for at, w in rows).replace(".", ","))
    told = run(
        *(
            "meter",
            "--trace",
            str(tmp_path / "meter.csv"),
            "--began",
            "5",
            "--ended",
            "9.9",
            "--moved",
            "50MB",
            "--json",
        ),
        env=env,
    )
    assert told.code == 0, told.err
    assert told.document["transfer"]["base_j"] == pytest.approx(4.9, rel=0.02)
    assert told.document["transfer"]["dynamic_j"] == pytest.approx(9.8, rel=0.02)
    assert told.document["transfer"]["tail_j"] == pytest.approx(5, rel=0.05)
    assert told.document["per_100_mb"]["dynamic_j"] == pytest.approx(2 * told.document["transfer"]["dynamic_j"])


def test_a_host_is_calibrated_by_a_trace_and_later_metered_by_it(tmp_path, env):
    now_s = time.time()
    (tmp_path / "meter.csv").write_text("t,w\n" + "\n".join(f"{now_s + n / 10 - 60},12.5" for n in range(6000)))
    done = run(
        *("meter", "--calibrate", "--trace", str(tmp_path / "meter.csv"), "--step", "100ms", "--json"),
        env=env,
        cwd=tmp_path,
    )
    if done.code:  # other tests keep every processor busy: its load never varies
        assert "stop what else keeps this host busy" in done.error
        return
    assert done.document["idle_w"] == pytest.approx(12.5)
    assert done.document["steps"] == 10
    assert "trace meter.csv" in done.document["source"]
    metered = run("meter", "--duration", "200ms", "--json", env=env)
    if metered.document["method"] not in ("rapl", "battery"):
        assert (metered.document["method"], metered.document["quality"]) == ("fine_model", "calibrated")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--trace", "{trace}"], "time goes back"),
        (["--trace", "/nowhere.csv"], "/nowhere.csv"),
        (["--trace", "{trace}", "--began", "1"], "go together"),
        (["--began", "1"], "goes with --trace"),
        (["--calibrate", "--trace", "/nowhere.csv", "--step", "100ms"], "/nowhere.csv"),
        (["--upload", "router"], "goes with --calibrate"),
        (["--calibrate", "--trace", "{trace}", "--step", "0s"], "--step"),
    ],
)
def test_what_cannot_be_meant_is_told_in_a_line(tmp_path, env, arguments, told):
    (tmp_path / "meter.csv").write_text("t,w\n0,1\n1,2\n0.5,2\n")
    refused = run("meter", *(each.format(trace=tmp_path / "meter.csv") for each in arguments), env=env)
    assert refused.code in (1, 2)
    assert told in refused.error
