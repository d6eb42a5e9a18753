"""What a server tells of the energy of transfers that name themselves, over HTTP."""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from tests.integration.serve_files.serving import Wire, ask, serving
from tradewind_agent.meters import CpuModelMeter, HostReader, MeterChoice, build_calibrated_profile
from tradewind_agent.serve import Server
from tradewind_agent.session.metering import HostMeter
from tradewind_agent.session.server_energy import ServerEnergyReport, ServerMeter
from tradewind_agent.session.transfer_naming import TRANSFERS_PATH, format_energy_path, format_energy_so_far_path

WATTS = 100.0
"""Of a host whose power does not depend on what it does: its energy is its time."""

LARGE_BYTES = 32_000_000
STEP_BYTES = 500_000
PAUSE_S = 0.01
"""Between two steps: both transfers last so long that the moments in which one is alone hardly count."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "small").write_bytes(b"x" * 1000)
    (tmp_path / "large").write_bytes(os.urandom(LARGE_BYTES))
    return tmp_path


def constant_meter() -> HostMeter:
    profile = build_calibrated_profile(WATTS, WATTS, source="made up")
    return HostMeter(MeterChoice(CpuModelMeter(profile), ()), HostReader(time.monotonic))


@pytest.fixture
def server(root: Path) -> Iterator[Server]:
    with serving(root, writable=True, meter=constant_meter()) as server:
        yield server


def report(server: Server, transfer_id: UUID) -> ServerEnergyReport:
    answer = ask(server.port, "GET", format_energy_path(transfer_id))
    assert answer.status == 200, answer.body
    return ServerEnergyReport.model_validate_json(answer.body)


def test_metering_server_names_its_meter(server: Server):
    meter = ServerMeter.model_validate_json(ask(server.port, "GET", TRANSFERS_PATH).body)
    assert (meter.method, meter.quality) == ("cpu_model", "calibrated")


def test_a_server_that_does_not_meter_knows_no_such_place(root: Path):
    with serving(root) as plain:
        assert ask(plain.port, "GET", TRANSFERS_PATH).status == 404
        assert ask(plain.port, "GET", "/small", Tradewind_Transfer=str(uuid4())).status == 200


@pytest.mark.parametrize("sendfile", [True, False])
def test_bytes_of_both_directions_are_on_the_account_of_the_transfer_that_names_itself(root: Path, sendfile: bool):
    transfer_id = uuid4()
    with serving(root, writable=True, meter=constant_meter(), sendfile=sendfile) as server:
        with Wire(server.port) as wire:
            for target in ("/small", "/large"):
                assert wire.ask("GET", target, Tradewind_Transfer=str(transfer_id)).status == 200
            assert wire.ask("GET", "/large", Range="bytes=0-999999").status == 206  # somebody else's
            body = bytes(2_000_000)
            assert wire.ask("PUT", "/up", body, Tradewind_Transfer=str(transfer_id)).status == 201
        told = report(server, transfer_id)
    assert told.moved_bytes == 1000 + LARGE_BYTES + 2_000_000
    assert told.total_j == pytest.approx(told.base_w * told.duration_s)
    assert told.dynamic_j == 0


def test_two_transfers_at_once_share_the_host(server: Server):
    one, other = uuid4(), uuid4()
    began_s = time.monotonic()
    with Wire(server.port) as first, Wire(server.port) as second:
        for wire, transfer_id in ((first, one), (second, other)):
            wire.send("GET", "/large", Tradewind_Transfer=str(transfer_id))
            wire.read(STEP_BYTES)
        assert ask(server.port, "GET", format_energy_so_far_path(other)).status == 200  # from now on both are known
        for _ in range(LARGE_BYTES // STEP_BYTES - 1):
            time.sleep(PAUSE_S)
            for wire in (first, second):
                wire.read(STEP_BYTES)
        reports = [report(server, transfer_id) for transfer_id in (one, other)]
        took_s = time.monotonic() - began_s
    for told in reports:
        assert told.moved_bytes == LARGE_BYTES
        assert told.quality == "assumed"
        assert 0.1 * WATTS < told.base_w < 0.9 * WATTS
    assert sum(told.total_j for told in reports) < WATTS * took_s


def test_energy_report_needs_read_access_and_transfer_id(root: Path):
    transfer_id = uuid4()
    with serving(root, meter=constant_meter(), bearer_token="t0k3n") as server:
        path = format_energy_path(transfer_id)
        assert ask(server.port, "GET", path).status == 401
        assert ask(server.port, "GET", TRANSFERS_PATH).status == 401
        token = {"Authorization": "Bearer t0k3n"}
        assert ask(server.port, "GET", "/small", Tradewind_Transfer=str(transfer_id)).status == 401
        assert ask(server.port, "GET", "/small", Tradewind_Transfer=str(transfer_id), **token).status == 200
        assert ask(server.port, "GET", path, **token).status == 200
        assert ask(server.port, "GET", format_energy_path(uuid4()), **token).status == 404


@pytest.mark.parametrize("path", ["/", "/x/energy", "//energy", f"/{UUID(int=7)}", f"/{UUID(int=7)}/energy/x"])
def test_unknown_transfer_is_not_found(server: Server, path: str):
    assert ask(server.port, "GET", "/small", Tradewind_Transfer=str(UUID(int=7))).status == 200
    assert ask(server.port, "GET", TRANSFERS_PATH + path).status == 404


def test_a_flood_of_ids_costs_neither_answers_nor_the_account_of_a_transfer_under_way(server: Server):
    transfer_id = uuid4()
    with Wire(server.port) as wire, Wire(server.port) as flood:
        wire.send("GET", "/large", Tradewind_Transfer=str(transfer_id))
        for _ in range(20):
            for _ in range(50):
                flood.send("GET", "/small", Tradewind_Transfer=str(uuid4()))
            assert {flood.receive().status for _ in range(50)} == {200}
        assert len(wire.receive().body) == LARGE_BYTES
        assert report(server, transfer_id).moved_bytes == LARGE_BYTES
