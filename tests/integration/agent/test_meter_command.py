"""Traces and calibration by the command line."""

import threading
import time
from contextlib import contextmanager

import psutil
import pytest

from tests.integration.agent.support.command import PATIENCE_S, environment, run, start
from tests.unit.meters.external.metered_host import serve_documents
from tradewind_agent.cli.commands import meter_calibrate
from tradewind_agent.service.client import Client

IDLE_W, CPU_W = 10.0, 20.0
MOST_IDLE = 0.5
"""The share of processor time that is idle at most where a calibration is refused: alone on a host, half of it is."""


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


BUSY = ("stop what else keeps this host busy", "the power does not follow the load")
"""How a calibration is refused where other programs take the processors: at every step, or in some of them."""


@contextmanager
def power_meter(path):
    """A trace, written meanwhile, of 10 W and up to 20 W more as the processors of this host really are busy."""
    stop = threading.Event()

    def record():
        before = psutil.cpu_times()
        with path.open("a", buffering=1) as trace:
            while not stop.wait(0.04):
                after = psutil.cpu_times()
                idle, whole = (after.idle + after.iowait - before.idle - before.iowait), sum(after) - sum(before)
                if whole:
                    trace.write(f"{time.time()},{IDLE_W + CPU_W * (1 - idle / whole)}\n")
                    before = after

    path.write_text("t,w\n")
    thread = threading.Thread(target=record)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def is_near_full_w(calibrated):
    """Return whether the power of a busy host is that of the trace."""
    return calibrated["idle_w"] + calibrated["component_w"]["cpu"] == pytest.approx(IDLE_W + CPU_W, rel=0.2)


def calibrate(tmp_path, env, *more):
    """Calibrate by that trace, again where other programs kept every processor busy; None where they always do.

    Then there is nothing to calibrate: the meter reads the same power at every step, and the command has to say so. A
    step of 0.3 s is thirty ticks of the processors' clock: where others disturb it, longer ones are tried.
    """
    for attempt in range(1, 4):
        path = tmp_path / f"meter{attempt}.csv"
        before = psutil.cpu_times()
        with power_meter(path):
            done = run(
                *("meter", "--calibrate", "--trace", str(path), "--step", f"{attempt * 300}ms", "--json", *more),
                env=env,
                cwd=tmp_path,
            )
        if done.code == 0 and (attempt == 3 or is_near_full_w(done.document)):
            return done.document
        if done.code == 0:
            continue
        after = psutil.cpu_times()
        idle = after.idle + after.iowait - before.idle - before.iowait
        assert any(reason in done.error for reason in BUSY), done.error
        assert idle < MOST_IDLE * (sum(after) - sum(before)), f"refused though the host was idle for {idle:.1f} s"
    return None


def test_a_host_is_calibrated_by_a_trace_metered_by_it_and_reported_to_the_service(api, tenant, tmp_path):
    env = environment(tmp_path / "home", TRADEWIND_URL=api, TRADEWIND_KEY=tenant.secret)
    if (found := calibrate(tmp_path, env, "--upload", "router")) is None:
        return
    assert (found["steps"], found["uploaded_as"]) == (15, "router")
    assert found["source"].startswith("calibrated by the trace meter")
    full_w = found["idle_w"] + found["component_w"]["cpu"]
    assert is_near_full_w(found), full_w
    assert found["cpu_knots"][-1][1] == pytest.approx(IDLE_W + CPU_W, rel=0.2)
    metered = run("meter", "--duration", "200ms", "--json", env=env)
    assert metered.code == 0, metered.err
    if metered.document["method"] not in ("rapl", "battery"):  # of a host that measures, no model is asked
        assert (metered.document["method"], metered.document["quality"]) == (found["meter_by"], "calibrated")
        assert found["source"] in metered.document["description"]
        assert 0 < metered.document["mean_w"] < 1.3 * full_w
    again = run("meter", "--upload", "the-same", "--json", env=env)
    assert (again.code, again.document["uploaded_as"]) == (0, "the-same"), again.err
    away = run("meter", "--upload", "router", "--json", env=env | {"TRADEWIND_URL": "http://127.0.0.1:9"})
    assert (away.code, away.document["uploaded_as"], away.document["idle_w"]) == (1, None, found["idle_w"])
    assert "`tradewind meter --upload router` does it later" in away.document["upload_failure"]
    with Client(api, tenant.secret) as client:
        assert client.mobile.device("the-same").idle_w.value == found["idle_w"]
        kept = client.mobile.device("router")
    assert kept.own
    assert kept.idle_w.value == found["idle_w"]
    assert {name: each.value for name, each in kept.component_w.items()} == found["component_w"]


def test_a_trace_that_ends_with_the_transfer_reports_no_tail_and_one_that_ends_within_it_says_so(tmp_path, env):
    trace = tmp_path / "meter.csv"
    trace.write_text("t,w\n" + "\n".join(f"{n / 10},{1 if n < 50 else 3}" for n in range(101)))
    of_it = ("meter", "--trace", str(trace), "--began", "5", "--moved", "50MB")
    whole = run(*of_it, "--ended", "10", "--json", env=env)
    assert whole.code == 0, whole.err
    assert (whole.document["transfer"]["tail_j"], whole.document["per_gb"]["tail_j"]) == (None, None)
    told = run(*of_it, "--ended", "10", env=env)
    assert "its tail unknown: the trace ends with it" in told.out
    assert "per 100 MB: " in told.out
    cut = run(*of_it, "--ended", "9", "--tail", "5s", env=env)
    assert "of tail in the 1.0 s after it, where the trace ends before 5 s" in cut.out


@pytest.mark.parametrize(
    ("arguments", "message", "code"),
    [
        (["--trace", "{trace}"], "time goes back", 2),
        (["--trace", "/nowhere.csv"], "/nowhere.csv", 1),
        (["--trace", "{trace}", "--began", "1"], "go together", 2),
        (["--began", "1"], "needs --trace", 2),
        (["--calibrate", "--trace", "/nowhere.csv", "--step", "100ms"], "/nowhere.csv", 1),
        (["--trace", "{trace}", "--tail", "3s"], "by --began and --ended", 2),
        (["--tail", "3s"], "needs --trace", 2),
        (["--upload", "router"], "run `tradewind meter --calibrate` first", 1),
        (["--calibrate", "--upload", "Galaxy S5"], "lower case letters", 2),
        (["--trace", "{trace}", "--upload", "router"], "goes with --calibrate", 2),
        (["--step", "1s"], "goes with --calibrate", 2),
        (
            ["--trace", "{sound}", "--began", "0", "--ended", "1.5"],
            "--began: the trace has fewer than two",
            2,
        ),
        (["--trace", "{sound}", "--began", "1.5", "--ended", "1.2"], "--ended: must be after the beginning", 2),
        (["--trace", "{sound}", "--began", "1", "--ended", "9"], "the trace goes from 0.000 s to 3.000 s", 2),
        (["--trace", "{dated}", "--began", "1", "--ended", "9"], "the trace goes from 20", 2),
        (["--trace", "{sound}", "--duration", "3s"], "--duration: cannot be combined with", 2),
        (["--calibrate", "--interval", "3s"], "--interval: cannot be combined with", 2),
        (["--calibrate", "--trace", "{sound}"], "is not being recorded now", 2),
        (["--calibrate", "--trace", "{sound}", "--began", "1", "--ended", "2"], "are of a transfer", 2),
        (["--calibrate", "--trace", "{trace}", "--step", "0s"], "--step", 2),
    ],
)
def test_contradictory_options_are_refused_in_one_line(tmp_path, env, arguments, message, code):
    traces = {name: tmp_path / f"{name}.csv" for name in ("trace", "sound", "dated")}
    traces["trace"].write_text("t,w\n0,1\n1,2\n0.5,2\n")
    traces["sound"].write_text("t,w\n0,1\n1,2\n2,2\n3,1\n")
    traces["dated"].write_text("t,w\n2025-11-01T12:00:00Z,1\n2025-11-01T12:00:01Z,2\n")
    refused = run("meter", *(argument.format(**traces) for argument in arguments), env=env)
    assert refused.code == code
    assert message in " ".join(refused.error.split())


def test_a_row_of_a_trace_that_is_written_by_half_is_waited_for(tmp_path, monkeypatch):
    trace = tmp_path / "meter.csv"
    trace.write_text("t,w\n1,45.2\n2,45.2\n3,4")

    def rest_is_written(_):
        with trace.open("a") as file:
            file.write("5.2\n")

    monkeypatch.setattr(meter_calibrate.time, "sleep", rest_is_written)
    assert meter_calibrate._wait_for_trace(3.0, trace).power_w == (45.2, 45.2, 45.2)


def test_a_meter_ends_when_nobody_reads_it_any_more(env):
    options = ("--duration", "1h", "--interval", "50ms", "--power-profile", "1W,2W", "--base-power", "0s")
    with start("meter", *options, env=env) as process:
        try:
            assert process.stdout.readline()
            process.stdout.close()
            assert process.wait(timeout=PATIENCE_S) == 1
        finally:
            process.kill()


def test_quality_is_that_of_the_energy_and_not_of_the_meter(env):
    """A second is too short for a gauge."""
    options = ("--duration", "1s", "--base-power", "0s", "--power-profile", "1W,2W", "--json")
    with serve_documents({"/metrics": "scaph_host_power_microwatts 50000000\n"}) as documents:
        done = run("meter", "--power-meter", f"scaphandre:{documents.url}", *options, env=env)
    assert done.code == 0, done.err
    assert (done.document["method"], done.document["quality"]) == ("meter", "assumed")
    assert done.document["mean_w"] == pytest.approx(50, rel=0.01)
    assert "needs 12.5 s to measure a transfer" in done.document["notes"][0]
    assert "needs 12.5 s to measure a transfer" in done.err
