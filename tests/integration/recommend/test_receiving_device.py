"""The device of a request: its limits hold, and its profile says the power where no log of the path does."""

from typing import Any

import httpx
import pytest

from services.application.access.authenticate import Scope
from tests.stack import Tenant, new_tenant

FIGURE = {"value": 1.5, "origin": "calibrated", "source": "meter.csv, ladder of 2026-11-29"}
REQUEST: dict[str, Any] = {
    "source": "archive",
    "destination": "phone",
    "dataset": {"file_count": 40, "total_bytes": 400_000_000},
    "sla": {"kind": "min_energy"},
    "path": {"bandwidth_bps": 5e7, "rtt_s": 0.06},
}
PROFILE: dict[str, Any] = {
    "producer": "Acme",
    "model": "Camera",
    "idle_w": FIGURE,
    "radios": ["wifi"],
    "limits": {"streams": 3, "concurrency": 2},
}


def recommend(client: httpx.Client, **changes: Any) -> dict[str, Any]:
    answer = client.post("/v1/recommend", json=REQUEST | changes)
    assert answer.status_code == 200, answer.text
    made: dict[str, Any] = answer.json()
    return made


def test_power_of_a_path_without_history_is_that_of_the_device(api: str, tenant: Tenant) -> None:
    with tenant.client(api, Scope.AGENT) as client:
        without, made = recommend(client, network="lte"), recommend(client, network="lte", device="galaxy-s5")
        assert without["predicted"]["power_w"] is None
        predicted, rate = made["predicted"], made["predicted"]["throughput_bps"]
        power_w, energy_j = predicted["power_w"], predicted["energy_j"]
        for bound, rate_bound in (("mean", "mean"), ("low", "high"), ("high", "low")):
            seconds = 8 * REQUEST["dataset"]["total_bytes"] / rate[rate_bound]
            assert energy_j[bound] == pytest.approx(power_w[rate_bound] * seconds)
        assert energy_j["low"] <= energy_j["mean"] < energy_j["high"]
        profile = client.get("/v1/devices/galaxy-s5").json()
        radio = next(each for each in profile["radios"] if each["name"] == "lte")
        assert power_w["low"] > profile["idle_w"]["value"] + radio["active_w"]["value"]
        assert "modelled by the profile of galaxy-s5, lte" in made["rationale"]
        assert made["parameters"] == without["parameters"]
        assert made["sla"]["feasible"] is False


def test_one_of_several_radios_is_not_guessed(api: str, tenant: Tenant) -> None:
    with tenant.client(api, Scope.AGENT) as client:
        made = recommend(client, device="galaxy-s5")
        assert made["predicted"]["power_w"] is None
        assert "needs one of its radios as network: wifi, lte" in made["rationale"]
        assert recommend(client, device="nexus-s")["predicted"]["power_w"]["mean"] > 0


def test_limits_of_a_device_bind_and_a_request_may_only_tighten_them(api: str, tenant: Tenant) -> None:
    with tenant.client(api, Scope.AGENT) as client:
        assert client.put("/v1/devices/camera", json=PROFILE).json()["limits"]["streams"] == 3
        fastest = {"sla": {"kind": "max_throughput"}, "path": {"bandwidth_bps": 1e9, "rtt_s": 0.2}}
        free = recommend(client, **fastest)["parameters"]
        bound = recommend(client, **fastest, device="camera", limits={"streams": 64})["parameters"]
        tighter = recommend(client, **fastest, device="camera", limits={"streams": 1})["parameters"]
    assert free["concurrency"] * free["parallelism"] > 3
    assert bound["concurrency"] <= 2
    assert bound["concurrency"] * bound["parallelism"] <= 3
    assert tighter["concurrency"] * tighter["parallelism"] == 1


def test_limits_of_a_device_bind_while_the_transfer_runs(api: str, tenant: Tenant) -> None:
    beat = {
        "sequence": 0, "at": "2026-11-29T10:00:00Z", "interval_s": 0, "bytes_moved": 0, "throughput_bps": 0,
        "remaining_bytes": 400_000_000, "remaining_files": 40, "parameters": {"concurrency": 1}, "chunks": [],
    }  # fmt: skip
    with tenant.client(api, Scope.AGENT) as client:
        assert client.put("/v1/devices/camera", json=PROFILE).status_code == 200
        enquiry = REQUEST | {"device": "camera", "sla": {"kind": "max_throughput"}}
        transfer_id = recommend(client, **enquiry)["transfer_id"]
        address = f"/v1/transfers/{transfer_id}/heartbeats"
        answers = [client.post(address, json=beat | {"enquiry": enquiry}).json()]
        for sequence in range(1, 8):
            moved = {"sequence": sequence, "interval_s": 5, "bytes_moved": 3_000_000, "throughput_bps": 4_800_000}
            answers.append(client.post(address, json=beat | moved).json())
    chosen = [answer["parameters"] for answer in answers if answer.get("parameters")]
    assert chosen
    assert all(each["concurrency"] * (each.get("parallelism") or 1) <= 3 for each in chosen)


def test_a_device_that_the_caller_does_not_know_is_named(
    api: str, tenant: Tenant, parts: Any, database_url: str
) -> None:
    other = new_tenant(parts, database_url)
    with tenant.client(api, Scope.AGENT) as client, other.client(api, Scope.AGENT) as foreign:
        assert client.put("/v1/devices/hidden", json=PROFILE).status_code == 200
        for named in ("hidden", "nothing", "Not A Name"):
            answer = foreign.post("/v1/recommend", json=REQUEST | {"device": named})
            assert answer.status_code == 422, answer.text
            assert answer.json()["errors"][0]["field"] == "device"
