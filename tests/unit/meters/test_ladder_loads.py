"""The loads of the ladder: memory is really filled and freed again, a file of another host is really received."""

import threading
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from tests.unit.meters.external.metered_host import serve_documents
from tests.unit.meters.made_up import START
from tradewind.energy.measured import EnergyMethod
from tradewind.energy.power_model import FineModel
from tradewind.units import MIB
from tradewind_agent.meters import CalibratedMeter, ladder
from tradewind_agent.meters.calibration import calibrate
from tradewind_agent.meters.ladder import LadderStep, build_host_loads, fill_memory, find_free_memory_bytes
from tradewind_agent.meters.network_load import NetworkLoad

IDLE_W = 20.0
WATTS = {"cpu": 60.0, "disk": 4.0, "memory": 3.0, "nic": 5.0}


def test_memory_is_filled_for_as_long_as_the_step_lasts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ladder, "MOST_MEMORY_BYTES", 256 * MIB)
    own = psutil.Process()
    before = own.memory_info().rss
    with fill_memory(1.0):
        assert own.memory_info().rss - before > 200 * MIB
    with fill_memory(0.0):
        assert own.memory_info().rss - before < 100 * MIB


def test_container_limits_what_is_free(tmp_path: Path) -> None:
    assert find_free_memory_bytes(tmp_path) > 0
    (tmp_path / "memory.max").write_text("300000000\n")
    (tmp_path / "memory.current").write_text("100000000\n")
    assert find_free_memory_bytes(tmp_path) == 200_000_000
    (tmp_path / "memory.max").write_text("max\n")
    assert find_free_memory_bytes(tmp_path) > 200_000_000
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "memory.limit_in_bytes").write_text("50\n")
    (tmp_path / "memory" / "memory.usage_in_bytes").write_text("80\n")
    assert find_free_memory_bytes(tmp_path) == 0


def receive(load: NetworkLoad, times: int) -> None:
    for _ in range(times):
        load.receive()


def test_file_of_another_host_is_received_over_and_over_by_each_thread() -> None:
    with serve_documents({"/large": "x" * 400_000, "/empty": ""}) as documents:
        load = NetworkLoad(f"{documents.url}/large")
        threads = [threading.Thread(target=receive, args=(load, 4)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(documents.requests) == 4, "two blocks a file, so each thread has requested it twice"
        with pytest.raises(OSError, match="is empty"):
            NetworkLoad(f"{documents.url}/empty").receive()
        with pytest.raises(OSError, match="404"):
            NetworkLoad(f"{documents.url}/nowhere").receive()


def test_network_is_loaded_only_with_a_file(tmp_path: Path) -> None:
    assert set(build_host_loads(1, tmp_path)) == {"cpu", "disk", "memory"}
    assert set(build_host_loads(1, tmp_path, "http://127.0.0.1:9/f")) == {"cpu", "disk", "memory", "nic"}


def make_steps() -> list[LadderStep]:
    """Steps of a host whose memory is never empty, and whose power is known."""
    steps: list[LadderStep] = []
    for name in WATTS:
        for level in (0.0, 0.25, 0.5, 0.75, 1.0):
            usage = {"cpu": 0.02, "disk": 0.0, "memory": 0.3, "nic": 0.0}
            usage[name] += 0.5 * level if name == "memory" else 0.9 * level
            power_w = IDLE_W + sum(WATTS[each] * share for each, share in usage.items())
            at_s = float(len(steps))
            steps.append(LadderStep(number=len(steps), started_s=at_s, finished_s=at_s, usage=usage, power_w=power_w))
    return steps


def test_all_four_components_are_fitted_and_reported() -> None:
    found = calibrate(make_steps(), method=EnergyMethod.METER, source="synthetic")
    assert found.component_w == pytest.approx(WATTS, rel=0.02)
    assert found.idle_w == pytest.approx(IDLE_W, rel=0.01)
    assert found.not_measured == ("radio",)
    assert set(found.build_device_profile("Acme", "One").component_w) == set(WATTS)


@pytest.mark.parametrize(
    ("source", "not_measured"),
    [
        ("RAPL counters of package-0", ("disk", "memory", "network", "radio")),
        ("RAPL counters of package-0, dram", ("disk", "network", "radio")),
    ],
)
def test_rapl_sees_memory_where_it_has_a_zone_of_it(source: str, not_measured: tuple[str, ...]) -> None:
    assert calibrate(make_steps(), method=EnergyMethod.RAPL, source=source).not_measured == not_measured


def test_later_transfers_are_metered_by_all_components() -> None:
    meter = CalibratedMeter(FineModel(10.0, {"memory": 4.0, "nic": 6.0}), "made up")
    first = replace(START, sent_bytes={"eth0": 0.0}, received_bytes={"eth0": 0.0}, nic_speed_bps={"eth0": 8e6})
    assert first.memory == START.memory == 0.25
    before_j = meter.read_energy_j(first)
    busy = replace(first, at_s=first.at_s + 2, received_bytes={"eth0": 1e6})
    assert meter.read_energy_j(busy) - before_j == pytest.approx(2 * (10 + 4 * 0.25 + 6 * 0.5))
