"""A server's cores by request of its clients: applied while all agree, undone when they are gone."""

import asyncio
import json
import os
import signal
import time
from dataclasses import replace
from uuid import uuid4

import pytest

from tests.conditions import eventually
from tests.integration.agent.support.command import environment, run, start
from tests.integration.agent.support.preparing import prepare
from tests.integration.resources.children import cpus_of, notes
from tests.integration.serve_files.serving import serving
from tests.unit.resources.test_frequencies import INTEL_PSTATE, build_tree, read_caps
from tradewind.parameters import Parameters
from tradewind_agent.copy.options import CopyOptions
from tradewind_agent.copy.run import run as run_copy
from tradewind_agent.resources.host_files import HostFolders, KernelFiles
from tradewind_agent.resources.limiter import ResourceLimiter
from tradewind_agent.resources.limits import NO_LIMITS, Limits
from tradewind_agent.serve.messages import ReceivedRequest
from tradewind_agent.serve.resource_requests import SETTLING_S, ResourceRequests
from tradewind_agent.serve.transfer_meters import LIVENESS_S
from tradewind_agent.session.transfer_naming import format_resources, parse_resources

CPUS = len(os.sched_getaffinity(0))


def build_request(transfer=None, resources="", target="/file"):
    headers = {} if transfer is None else {"tradewind-transfer": str(transfer)}
    if resources:
        headers["tradewind-resources"] = resources
    request = ReceivedRequest.__new__(ReceivedRequest)
    request.headers, request.target = headers, target
    return request


class Requests:
    """The requests of a server's clients, by a clock of the test; nothing runs meanwhile."""

    def __init__(self, tmp_path, *, is_authorised=True) -> None:
        self.now_s = 100.0
        limiter = ResourceLimiter(tmp_path / "ledger")
        self.requests = ResourceRequests(limiter, ("cores",), lambda _: is_authorised, lambda: self.now_s)
        self.requests._task = object()  # nothing is applied here

    def hold(self, transfer=None, resources="", host="198.51.100.1"):
        return self.requests.hold(build_request(transfer, resources), f"{host}:40000")


def test_most_of_what_transfers_request_is_used(tmp_path):
    clients = Requests(tmp_path)
    with clients.hold(uuid4(), "cores=1"):
        assert clients.requests.combine() == Limits(cores=1)
        with clients.hold(uuid4(), "cores=2"):
            assert clients.requests.combine() == Limits(cores=2)
            with clients.hold(uuid4()):
                assert clients.requests.combine() == NO_LIMITS


def test_transfer_counts_until_it_is_silent_for_long(tmp_path):
    clients = Requests(tmp_path)
    with clients.hold(uuid4(), "cores=1"):
        pass
    assert clients.requests.combine() == Limits(cores=1)
    clients.now_s += LIVENESS_S + 0.1
    assert clients.requests.combine() == NO_LIMITS


def test_look_up_without_a_name_lifts_no_limit_but_a_download_does(tmp_path):
    clients = Requests(tmp_path)
    with clients.hold(uuid4(), "cores=1"), clients.hold():
        assert clients.requests.combine() == Limits(cores=1)
        clients.now_s += SETTLING_S
        assert clients.requests.combine() == NO_LIMITS


def test_short_downloads_of_a_host_in_a_row_lift_limits_and_look_ups_now_and_then_do_not(tmp_path):
    clients = Requests(tmp_path)
    with clients.hold(uuid4(), "cores=1"):
        for _ in range(4):
            with clients.hold(host="198.51.100.2"):
                clients.now_s += 0.1
            clients.now_s += 1.0
        assert clients.requests.combine() == Limits(cores=1)
        for _ in range(8):
            with clients.hold(host="198.51.100.2"):
                clients.now_s += 0.1
        assert clients.requests.combine() == NO_LIMITS
        clients.now_s += LIVENESS_S + 0.1
        assert clients.requests.combine() == Limits(cores=1)


def test_queries_about_energy_lift_no_limits(tmp_path):
    clients = Requests(tmp_path)
    with clients.hold(uuid4(), "cores=1"):
        query = build_request(target="/.tradewind/transfers/x/energy-so-far")
        with clients.requests.hold(query, "198.51.100.2:1"):
            clients.now_s += 2 * SETTLING_S
            assert clients.requests.combine() == Limits(cores=1)


def test_look_ups_before_a_transfer_are_its_own(tmp_path):
    clients = Requests(tmp_path)
    with clients.hold():
        clients.now_s += 2 * SETTLING_S
    with clients.hold(uuid4(), "cores=1"):
        assert clients.requests.combine() == Limits(cores=1)


def test_silent_transfers_are_forgotten(tmp_path):
    clients = Requests(tmp_path)
    for _ in range(1000):
        clients.now_s += LIVENESS_S / 10
        with clients.hold(uuid4()):
            pass
    assert len(clients.requests._transfers) <= 21


@pytest.mark.skipif(CPUS < 2, reason="needs two CPUs")
def test_download_without_a_name_lifts_the_limits_that_are_in_effect(tmp_path):
    async def serve():
        limiter = ResourceLimiter(tmp_path / "ledger")
        requests = ResourceRequests(limiter, ("cores",), lambda _: True, time.monotonic)
        with requests.hold(build_request(uuid4(), "cores=1"), "198.51.100.1:1"):
            await asyncio.sleep(1.2)
            cores = [len(os.sched_getaffinity(0))]
            with requests.hold(build_request(), "198.51.100.2:1"):
                await asyncio.sleep(2.5)
                cores.append(len(os.sched_getaffinity(0)))
        await requests.close()
        return [*cores, len(os.sched_getaffinity(0))]

    assert asyncio.run(serve()) == [1, CPUS, CPUS]


class Slow(KernelFiles):
    def write(self, file, text):
        time.sleep(0.3)
        super().write(file, text)


def test_stop_amid_a_change_leaves_no_cap(tmp_path):
    host = build_tree(tmp_path / "cpus", INTEL_PSTATE)

    async def serve():
        limiter = ResourceLimiter(tmp_path / "ledger", host, Slow())
        requests = ResourceRequests(limiter, ("frequency_hz",), lambda _: True, time.monotonic)
        with requests.hold(build_request(uuid4(), "frequency_hz=1.8e9"), "198.51.100.1:1"):
            await asyncio.sleep(0.1)
        await requests.close()

    asyncio.run(serve())  # waits for its threads
    assert read_caps(host) == {3_800_000}
    assert notes(tmp_path / "ledger") == []


def test_odd_frequency_of_a_client_is_the_lowest_and_the_next_is_applied(tmp_path):
    host = build_tree(tmp_path / "cpus", INTEL_PSTATE)

    async def serve():
        limiter = ResourceLimiter(tmp_path / "ledger", host)
        requests = ResourceRequests(limiter, ("cores", "frequency_hz"), lambda _: True, time.monotonic)
        transfer, caps = uuid4(), []
        for hz in ("1000", "1.8e9"):
            with requests.hold(build_request(transfer, f"frequency_hz={hz}"), "198.51.100.1:1"):
                await asyncio.sleep(1.2)
                caps.append(read_caps(host))
        await requests.close()
        return caps

    assert asyncio.run(serve()) == [{800_000}, {1_800_000}]


def test_refusal_of_the_server_is_logged_once(tmp_path, caplog):
    async def serve():
        limiter = ResourceLimiter(tmp_path / "ledger", HostFolders(cpus=tmp_path))
        requests = ResourceRequests(limiter, ("frequency_hz",), lambda _: True, time.monotonic)
        for hz in ("1.8e9", "1.9e9"):
            with requests.hold(build_request(uuid4(), f"frequency_hz={hz}"), "198.51.100.1:1"):
                await asyncio.sleep(0.7)
        await requests.close()

    asyncio.run(serve())
    assert [each.getMessage().count("no frequency scaling") for each in caplog.records] == [1]


def test_requests_of_clients_without_the_token_do_not_count(tmp_path):
    clients = Requests(tmp_path, is_authorised=False)
    with clients.hold(uuid4(), "cores=1"):
        assert clients.requests.combine() == NO_LIMITS


def test_only_what_the_server_accepts_is_limited(tmp_path):
    clients = Requests(tmp_path)
    with clients.hold(uuid4(), "cores=1, frequency_hz=1e9, memory_bytes=1"):
        assert clients.requests.combine() == Limits(cores=1)


@pytest.mark.parametrize(
    "text", ["cores", "cores=", "cores=0", "cores=0.1", "cores=nan", "beans=3", "cores=1,,", "é=1"]
)
def test_resources_that_cannot_be_read_are_no_request(text):
    assert parse_resources(text) == NO_LIMITS


def test_resources_are_read_as_they_are_written():
    limits = Limits(cores=2, frequency_hz=1.8e9)
    assert parse_resources(format_resources(limits)) == limits


@pytest.mark.skipif(CPUS < 2, reason="needs two CPUs")
def test_copy_limits_both_ends_and_both_are_restored(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    source = tmp_path / "source"
    source.mkdir()
    for number in range(40):
        (source / f"f{number}").write_bytes(os.urandom(50_000))
    env = environment(tmp_path / "home")
    server = start(
        "serve-files", str(source), "--port", "0", "--accept-limits", "cores", "--json", "--no-meter", env=env
    )
    try:
        url = json.loads(server.stdout.readline())["url"]
        options = CopyOptions(
            by_hand=Parameters(concurrency=2, parallelism=1, pipelining=1),
            resources=Limits(cores=1, nic_bps=4e6),
            limit_both_ends=True,
        )
        seen = set()
        prepared = prepare([url], str(tmp_path / "copy"), options=options)
        report = run_copy(prepared, on_snapshot=lambda *_: seen.add(len(cpus_of(server.pid))))
        assert report.succeeded
        assert not any("the other end" in note for note in report.notes)
        assert 1 in seen
        assert len(os.sched_getaffinity(0)) == CPUS
        eventually(lambda: len(cpus_of(server.pid)) == CPUS)
        eventually(lambda: not list((tmp_path / "home").rglob("resources/*.json")))
        # Without the option nothing is requested.
        seen.clear()
        again = prepare([url], str(tmp_path / "again"), options=replace(options, limit_both_ends=False))
        assert run_copy(again, on_snapshot=lambda *_: seen.add(len(cpus_of(server.pid)))).succeeded
        assert seen == {CPUS}
    finally:
        server.send_signal(signal.SIGINT)
        server.communicate()


def test_server_that_accepts_nothing_is_not_limited(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    source = tmp_path / "source"
    source.mkdir()
    (source / "f").write_bytes(os.urandom(400_000))
    with serving(source) as server:
        options = CopyOptions(resources=Limits(cores=1, nic_bps=4e6), limit_both_ends=True)
        report = run_copy(prepare([f"http://127.0.0.1:{server.port}/"], str(tmp_path / "copy"), options=options))
        assert report.succeeded
        notes = [note for note in report.notes if "the other end is not limited to 1 core: " in note]
        assert len(notes) == (1 if CPUS > 1 else 0)


def test_limits_are_accepted_of_authorised_clients_alone(tmp_path):
    env = environment(tmp_path / "home")
    outcome = run("serve-files", str(tmp_path), "--host", "0.0.0.0", "--accept-limits", "cores", env=env)
    assert outcome.code == 2
    assert "TRADEWIND_SERVE_TOKEN" in outcome.error
    assert run("serve-files", str(tmp_path), "--accept-limits", "disk", env=env).code == 2
