"""Resources of a copy: limits of the user hold or are said not to, recommendations wait for a yes, records are true."""

import json
import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from tests.conditions import eventually
from tests.integration.agent.support.command import environment, run, start
from tests.integration.agent.support.preparing import prepare
from tests.integration.serve_files.serving import serving
from tradewind.parameters import Parameters
from tradewind_agent.copy.options import CopyOptions
from tradewind_agent.copy.resources import hold_resources, list_adjustable
from tradewind_agent.copy.run import run as run_copy
from tradewind_agent.engine.http.rate_limit import BURST_S
from tradewind_agent.resources.host_files import HostFolders
from tradewind_agent.resources.limiter import ResourceLimiter
from tradewind_agent.resources.limits import Limits
from tradewind_agent.resources.resource_trials import ResourceTrial, ResourceTrials

SIZE = 600_000
BY_HAND = CopyOptions(by_hand=Parameters(concurrency=2, parallelism=1, pipelining=1))
RATE_BPS = 8e6


@pytest.fixture
def origin(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    for number in range(3):
        (source / f"f{number}").write_bytes(os.urandom(SIZE))
    with serving(source) as server:
        yield f"http://127.0.0.1:{server.port}/"


@pytest.fixture
def limiter(tmp_path):
    return ResourceLimiter(tmp_path / "resources", HostFolders(cpus=tmp_path / "no-scaling"))


def recommending(origin, tmp_path, options, **resources):
    """A copy whose plan recommends resources beside its settings."""
    prepared = prepare([origin], str(tmp_path / "copy"), options=options)
    chunks = tuple(each._replace(parameters=replace(each.parameters, **resources)) for each in prepared.plan.chunks)
    plan = replace(prepared.plan, chunks=chunks)
    return replace(prepared, planned=replace(prepared.planned, plan=plan))


def test_a_rate_of_network_and_disk_is_stored_by_the_engine_and_logged(origin, tmp_path, limiter):
    options = replace(BY_HAND, resources=Limits(nic_bps=2 * RATE_BPS, disk_bps=RATE_BPS))
    report = run_copy(prepare([origin], str(tmp_path / "copy"), options=options), limiter=limiter)
    assert report.succeeded
    assert report.bytes_moved * 8 <= RATE_BPS * (report.duration_s + BURST_S)
    (record,) = report.records
    assert (record.parameters.nic_bps, record.parameters.disk_bps) == (2 * RATE_BPS, RATE_BPS)
    assert [each["resource"] for each in report.build_document()["resources"]["enforced"]] == ["nic_bps", "disk_bps"]
    assert report.notes == ()


def test_a_limit_that_nothing_holds_is_reported_and_not_logged(origin, tmp_path, limiter):
    options = replace(BY_HAND, resources=Limits(frequency_hz=1e9))
    report = run_copy(prepare([origin], str(tmp_path / "copy"), options=options), limiter=limiter)
    assert report.succeeded
    (note,) = report.notes
    assert note.startswith("not limited, only advised, to 1 GHz of processor frequency: ")
    assert report.records[0].parameters.frequency_hz is None
    assert report.build_document()["resources"]["advice"][0]["resource"] == "frequency_hz"


def test_recommended_limits_but_cores_are_reported_and_not_applied_or_logged(origin, tmp_path, limiter):
    report = run_copy(recommending(origin, tmp_path, BY_HAND, cores=1, nic_bps=RATE_BPS), limiter=limiter)
    (note,) = report.notes
    assert note.startswith("not limited, only advised, to 8 Mbit/s of the network: ")
    parameters = report.records[0].parameters
    assert (parameters.cores, parameters.nic_bps) == (1, None)


def test_recommended_limits_that_the_user_refuses_are_reported_alone(origin, tmp_path, limiter):
    refusing = replace(BY_HAND, apply_resources=False)
    prepared = recommending(origin, tmp_path, refusing, cores=1, nic_bps=RATE_BPS)
    report = run_copy(prepared, limiter=limiter)
    assert [note.partition(":")[0] for note in report.notes] == [
        "not limited, only advised, to 1 core",
        "not limited, only advised, to 8 Mbit/s of the network",
    ]
    assert all("--apply-resources" in note for note in report.notes)
    parameters = report.records[0].parameters
    assert (parameters.cores, parameters.nic_bps) == (None, None)
    assert parameters.concurrency == 2


def test_recommended_limits_are_applied_on_request_and_undone(origin, tmp_path, limiter):
    before = os.sched_getaffinity(0)
    during = set()
    prepared = recommending(origin, tmp_path, replace(BY_HAND, apply_resources=True), cores=1)
    report = run_copy(prepared, limiter=limiter, on_snapshot=lambda *_: during.add(frozenset(os.sched_getaffinity(0))))
    assert {len(cpus) for cpus in during} == {1}
    assert os.sched_getaffinity(0) == before
    assert report.records[0].parameters.cores == 1
    assert report.notes == ()


def test_the_limits_of_the_user_win_over_those_recommended(origin, tmp_path, limiter):
    options = replace(BY_HAND, apply_resources=True, resources=Limits(nic_bps=2 * RATE_BPS))
    report = run_copy(recommending(origin, tmp_path, options, nic_bps=RATE_BPS), limiter=limiter)
    assert report.records[0].parameters.nic_bps == 2 * RATE_BPS
    assert report.notes == ()


def test_the_command_takes_limits_and_reports_what_became_of_them(origin, tmp_path):
    env = environment(tmp_path / "home")
    limits = ("--limit-cores", "1", "--limit-rate", "8Mbps", "--limit-disk", "2MB/s", "--limit-memory", "2GiB")
    outcome = run("copy", origin, str(tmp_path / "copy"), *limits, "--base-power", "0s", "--json", env=env)
    assert outcome.code == 0, outcome.err
    resources = outcome.document["resources"]
    told = {each["resource"] for each in (*resources["enforced"], *resources["advice"])}
    assert told == {"cores", "nic_bps", "disk_bps", "memory_bytes"}
    whole = next(row for row in outcome.document["records"] if row["chunk"] == "whole")
    assert {each["resource"] for each in resources["enforced"]} == told & set(whole["parameters"])
    assert whole["parameters"]["nic_bps"] == 8e6
    for each in resources["advice"]:
        assert each["why"] in outcome.err
    assert not list((tmp_path / "home").rglob("resources/*.json"))


@pytest.mark.parametrize(
    ("option", "value"),
    [("--limit-cores", "0"), ("--limit-rate", "0Mbps"), ("--limit-frequency", "fast"), ("--limit-memory", "0")],
)
def test_a_limit_that_cannot_be_is_wrong_usage(tmp_path, option, value):
    outcome = run("copy", "http://127.0.0.1:1/", str(tmp_path), option, value, env=environment(tmp_path))
    assert outcome.code == 2
    assert outcome.error


def test_the_next_command_undoes_what_a_killed_copy_has_left(origin, tmp_path):
    env = environment(tmp_path / "home")
    slow = ("--limit-rate", "80kbps", "--limit-cores", "1", "--limit-memory", "2GiB", "--base-power", "0s")
    process = start("copy", origin, str(tmp_path / "copy"), *slow, env=env)
    state = tmp_path / "home" / ".local/state/tradewind/resources"
    # Where there is one CPU and no control group, nothing is changed and nothing noted.
    expected = len(os.sched_getaffinity(0)) > 1
    eventually(lambda: list(state.glob("*.json")) or not expected)
    eventually(lambda: list((tmp_path / "copy").rglob("*")))  # it is moving: all limits are set
    notes = [json.loads(path.read_bytes()) for path in state.glob("*.json")]
    groups = [Path(claim["group"]) for note in notes for claim in note["groups"]]
    assert all(group.is_dir() for group in groups)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert len(list(state.glob("*.json"))) == len(notes)
    assert run("meter", "--help", env=env).code == 0
    outcome = run("doctor", env=env)
    assert "could not be" not in outcome.err
    assert not list(state.glob("*.json"))
    assert not any(group.exists() for group in groups)


def test_experiment_moves_a_tenth_of_the_bytes_on_fewer_cores_and_records_them(origin, tmp_path, limiter, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    cpus = len(os.sched_getaffinity(0))
    options = replace(BY_HAND, explore_resources=True, source="a", destination="b")
    reports = []
    for number in range(12):
        prepared = prepare([origin], str(tmp_path / f"copy{number}"), options=options)
        reports.append(run_copy(prepared, limiter=limiter))
        assert len(os.sched_getaffinity(0)) == cpus
    cores = [report.records[0].parameters.cores for report in reports]
    tried = [number for number, count in enumerate(cores) if count != cpus]
    assert len(tried) == (1 if cpus > 1 else 0)
    for number in tried:
        assert number >= 9
        assert f"an experiment: {cores[number]} core" in reports[number].notes[0]


def test_experiment_ends_with_a_copy_that_is_killed(origin, tmp_path):
    """Cores are given back by the next command, and the bytes of the copy stay reserved."""
    env = environment(tmp_path / "home")
    state = tmp_path / "home" / ".local/state/tradewind"
    cpus = len(os.sched_getaffinity(0))
    if cpus > 1:
        ResourceTrials(state, cpus).finish(ResourceTrial("a → b", cpus), 10**9)
    slow = (
        "--explore-resources",
        "--limit-rate",
        "80kbps",
        "--source",
        "a",
        "--destination",
        "b",
        "--base-power",
        "0s",
    )
    process = start("copy", origin, str(tmp_path / "copy"), *slow, env=env)
    eventually(lambda: list((tmp_path / "copy").rglob("*")))
    if cpus > 1:
        assert list((state / "resources").glob("*.json"))
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert run("doctor", env=env).code in (0, 1)
    assert not list((state / "resources").glob("*.json"))
    if cpus > 1:
        notes = json.loads((state / "resource-trials.json").read_bytes())
        assert notes["a → b"]["explored_bytes"] == 3 * SIZE


def test_other_movers_try_no_cores(tmp_path):
    outcome = run(
        "copy", "http://127.0.0.1:1/f", str(tmp_path), "--mover", "curl", "--explore-resources",
        env=environment(tmp_path),
    )  # fmt: skip
    assert outcome.code == 2
    assert "tries cores in single copies by tradewind" in outcome.error


def test_cores_follow_the_plan_while_a_copy_runs_and_its_record_has_those_of_most_bytes(origin, tmp_path, limiter):
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("needs two CPUs")
    before = os.sched_getaffinity(0)
    prepared = recommending(origin, tmp_path, replace(BY_HAND, apply_resources=None), cores=1)
    with hold_resources(prepared.plan, prepared.listing, prepared.options, limiter, ("a", "b")) as held:
        assert list_adjustable(prepared.options) == ("cores",)
        assert len(os.sched_getaffinity(0)) == 1
        assert held.state_resources(prepared.plan.chunks)[0].parameters.cores == 1
        wider = tuple(each._replace(parameters=replace(each.parameters, cores=2)) for each in prepared.plan.chunks)
        assert held.adjust(wider)[0].parameters.cores == 2
        assert len(os.sched_getaffinity(0)) == 2
        main = {each.chunk: each.parameters for each in held.state_resources(wider)}
        assert held.apply_to_plan(prepared.plan, main).chunks[0].parameters.cores == 2
        assert held.apply_to_plan(prepared.plan, {}).chunks[0].parameters.cores == 1
    assert os.sched_getaffinity(0) == before


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (BY_HAND, ("cores",)),
        (replace(BY_HAND, apply_resources=True), ("cores", "frequency_hz")),
        (replace(BY_HAND, apply_resources=False), ()),
        (replace(BY_HAND, apply_resources=True, resources=Limits(cores=1)), ("frequency_hz",)),
        (replace(BY_HAND, explore_resources=True), ()),
        (replace(BY_HAND, tune=False), ()),
    ],
)
def test_only_what_is_applied_and_not_set_by_hand_may_change(options, names):
    assert list_adjustable(options) == names
