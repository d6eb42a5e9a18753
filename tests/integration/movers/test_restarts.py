"""Tools that cannot change as they run, restarted where that pays: the real tools, each byte of the result."""

import json
import os
import signal
from dataclasses import replace
from random import Random

import httpx
import pytest

from tests.integration.engine.servers.web_servers import nginx
from tests.integration.movers.driving import WAN, arguments_of, connections_to, recommending, tool_process
from tests.integration.movers.test_loop import answer_to
from tests.unit.agent.service.fake_service import Service
from tradewind.transfer import Status
from tradewind_agent.movers.wrap.run import run_wrap
from tradewind_agent.session.logbook import Logbook

pytestmark = pytest.mark.long

TICKING = replace(WAN, tune=True, tick_s=0.5)
FILES, FILE_BYTES = 20, 400_000


class Widening(Service):
    """Recommends and grants two files at once, and asks for ten when bytes have moved."""

    streams = 1

    def handle(self, request):
        if not request.url.path.endswith("/heartbeats"):
            return super().handle(request)
        heartbeat = json.loads(request.content)
        answer = answer_to(heartbeat, 10 if heartbeat["bytes_moved"] else 2)
        answer["chunks"][0]["parameters"]["parallelism"] = self.streams if heartbeat["bytes_moved"] else 1
        return httpx.Response(200, json=answer)


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sources")
    folder.chmod(0o755)
    random = Random(5)
    for number in range(FILES):
        (folder / f"f{number:02}").write_bytes(random.randbytes(FILE_BYTES))
    return folder


@pytest.fixture(scope="module")
def throttled(sources, tmp_path_factory):
    """Each connection gets 80 kB/s: ten of them are five times as fast as two."""
    with nginx(sources, tmp_path_factory.mktemp("nginx"), server="limit_rate 80k;") as server:
        yield server


class Run:
    """One run under the service's tuning, looked at all the while."""

    def __init__(self, drive, line, port=0, service=None, act=lambda _: None, **more):
        service = service or Widening(recommending(2, mean_bps=1.3e6).answers)
        self.prepared = drive.prepare(*line, service=service, **({"copy": TICKING} | more))
        self.said, self.seen = [], []

        def look(run):
            if (process := tool_process()) is not None and (words := arguments_of(process)):
                self.seen.append((words, connections_to(process, port)))
            act(run)

        with service.client() as client:
            logbook = Logbook(spool=drive.spool, client=client)
            self.report = run_wrap(self.prepared, client=client, logbook=logbook, say=self.said.append, on_tick=look)

    def most_connections(self, *words):
        return max(count for seen, count in self.seen if " ".join(words) in " ".join(seen))


def curl(server, to, *words):
    to.mkdir(exist_ok=True)
    return ("curl", "-sS", "--output-dir", to, "--remote-name-all", *words, f"{server.url}f[00-{FILES - 1}]")


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_curl_is_restarted_with_more_simultaneous_files(drive, throttled, sources, tmp_path):
    run = Run(drive, curl(throttled, tmp_path / "to"), throttled.port)
    (restart,) = run.report.restarts
    assert (restart.before.concurrency, restart.after.concurrency) == (2, 10)
    assert run.most_connections("--parallel-max 2") <= 2
    assert run.most_connections("--parallel-max 10") == 10
    assert contents(tmp_path / "to") == contents(sources)
    result = run.report.result
    assert (result.files_done, result.files_failed, result.bytes_moved) == (FILES, 0, FILES * FILE_BYTES)
    assert (run.report.exit_code, run.report.status) == (0, Status.SUCCEEDED)
    assert any("restarted with concurrency 10 in place of concurrency 2" in line for line in run.said)
    assert "restarted once" in run.report.format_line()
    assert run.report.build_document()["restarts"][0]["gain_s"] > run.report.build_document()["restarts"][0]["cost_s"]


def test_curl_failures_count_once_and_done_files_are_not_repeated(drive, throttled, tmp_path):
    line = curl(throttled, tmp_path / "to", "--fail", f"{throttled.url}missing")
    run = Run(drive, line, throttled.port)
    assert len(run.report.restarts) == 1
    assert run.report.exit_code == 22
    result = run.report.result
    assert (result.files_done, result.files_failed, result.bytes_moved) == (FILES, 1, FILES * FILE_BYTES)
    assert not (tmp_path / "to" / "missing").exists()


def test_restart_preserves_bytes_where_the_user_has_curl_continue(drive, throttled, sources, tmp_path):
    run = Run(drive, curl(throttled, tmp_path / "to", "-C", "-"), throttled.port)
    (restart,) = run.report.restarts
    assert restart.case.lost_bytes == 0
    assert contents(tmp_path / "to") == contents(sources)
    assert run.report.result.bytes_moved == FILES * FILE_BYTES


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("-Z", "--parallel-max", "2"), "files at once are set by your own flag or configuration"),
        (("--dump-header", "headers"), "your own --dump-header holds for one run"),
    ],
    ids=["parallel-max", "dump-header"],
)
def test_curl_with_flags_that_forbid_it_runs_once(drive, throttled, sources, tmp_path, monkeypatch, words, told):
    monkeypatch.chdir(tmp_path)
    line = curl(throttled, tmp_path / "to", *words, "--limit-rate", "10m")[:-1]
    run = Run(drive, (*line, f"{throttled.url}f[00-03]"), throttled.port)
    assert run.report.live == f"nothing: {told}"
    assert (len(run.report.commands), run.report.restarts) == (1, ())
    assert contents(tmp_path / "to") == {name: content for name, content in contents(sources).items() if name < "f04"}


def test_a_tool_that_others_kill_after_its_restart_is_not_started_again(drive, throttled, tmp_path):
    def kill(run):
        process = tool_process()
        if process is not None and run.current_parameters.concurrency == 10:
            os.kill(process.pid, signal.SIGKILL)

    run = Run(drive, curl(throttled, tmp_path / "to"), throttled.port, act=kill)
    assert len(run.report.restarts) == 1
    assert (run.report.exit_code, run.report.status) == (128 + signal.SIGKILL, Status.FAILED)
    assert len(run.report.commands) == 2


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A gigabyte in files that are the same at no two places, so that each byte of a copy tells its own."""
    folder = tmp_path_factory.mktemp("large")
    block = Random(7).randbytes(1 << 20)
    for number in range(24):
        with (folder / f"{number:02}").open("wb") as file:
            for part in range(48):
                file.write(bytes([number, part]) + block[2:])
    (folder / "deep").mkdir()
    (folder / "deep" / "a b").write_bytes(b"small")
    return folder


GRID = replace(TICKING, tick_s=0.05, bandwidth_bps=1e11)
"""On the loopback the whole is a matter of seconds."""


def same_files(folder, other):
    names = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    assert names == sorted(str(path.relative_to(other)) for path in other.rglob("*") if path.is_file())
    return all((folder / name).read_bytes() == (other / name).read_bytes() for name in names)


def test_globus_url_copy_is_restarted_with_more_simultaneous_files(drive, grid, large, tmp_path):
    slow = ("-bs", "4096")  # with its usual blocks the whole may be over before it is looked at twice
    line = ("globus-url-copy", *slow, "-cd", "-r", f"{grid.url(large)}/", f"file://{tmp_path}/to/")
    service = Widening(recommending(2, mean_bps=1e9).answers)
    service.streams = 2
    run = Run(drive, line, grid.port, service, copy=GRID)
    (restart, *_) = run.report.restarts
    assert (restart.before.concurrency, restart.after.concurrency) == (2, 10)
    assert (restart.before.parallelism, restart.after.parallelism) == (1, 2)
    assert run.most_connections("-cc 2", "-p 1") == 2
    assert run.most_connections("-cc 10", "-p 2") == 10
    assert same_files(large, tmp_path / "to")
    result = run.report.result
    assert (result.files_done, result.files_failed, result.bytes_moved) == (25, 0, 24 * 48 * (1 << 20) + 5)
    assert (run.report.exit_code, run.report.status) == (0, Status.SUCCEEDED)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("-c",), "-c leaves no list of what is not transferred"),
        (("-cc", "2", "-p", "1"), "files at once and streams are set by your own flags"),
        (("-sync",), "your own -sync holds for one run"),
    ],
    ids=["go on after errors", "cc and p", "sync"],
)
def test_globus_url_copy_with_flags_that_forbid_it_runs_once(drive, grid, large, tmp_path, words, told):
    line = ("globus-url-copy", *words, "-cd", f"{grid.url(large)}/deep/", f"file://{tmp_path}/to/")
    run = Run(drive, line, grid.port, copy=GRID)
    assert run.report.live == f"nothing: {told}"
    assert (len(run.report.commands), run.report.exit_code) == (1, 0)
    assert same_files(large / "deep", tmp_path / "to")


def test_upload_by_globus_url_copy_is_never_interrupted(drive, grid, large, tmp_path):
    prepared = drive.prepare(
        "globus-url-copy", "-cd", "-r", f"file://{large}/", f"{grid.url(tmp_path)}/to/", service=recommending(2)
    )
    assert prepared.task.live == "nothing: how far it is with what it sends cannot be seen here"
    assert len(prepared.workload.sizes_bytes) == 25
