"""Device profiles and batching over HTTP: listed, uploaded, each tenant its own, audited; and what is refused."""

from typing import Any

import psycopg
import pytest

from services.application.access.authenticate import Scope
from tests.stack import Tenant, new_tenant

FIGURE = {"value": 1.5, "origin": "calibrated", "source": "meter.csv, ladder of 2026-11-22"}
PROFILE: dict[str, Any] = {
    "producer": "Acme",
    "model": "Router",
    "idle_w": FIGURE,
    "component_w": {"cpu": FIGURE},
    "radios": ["lte"],
}
QUEUE: dict[str, Any] = {
    "radio": "lte",
    "jobs": [
        {"name": "photos", "total_bytes": 4_000_000, "throughput_bps": 8e6},
        {"name": "backup", "total_bytes": 4_000_000, "throughput_bps": 8e6, "ready_s": 30, "deadline_s": 60},
    ],
}


def test_a_profile_is_uploaded_used_replaced_audited_and_removed(
    api: str, tenant: Tenant, admin_database_url: str
) -> None:
    with tenant.client(api, Scope.AGENT) as client:
        assert "galaxy-s5" in {each["name"] for each in client.get("/v1/devices").json()["devices"]}
        own = client.put("/v1/devices/galaxy-s5", json=PROFILE)
        assert own.status_code == 200, own.text
        listed = client.get("/v1/devices").json()["devices"]
        assert [each["own"] for each in listed if each["name"] == "galaxy-s5"] == [True]
        read = client.get("/v1/devices/galaxy-s5").json()
        assert (read["model"], read["radios"][0]["tail_s"]["value"]) == ("Router", 11.576)
        advice = client.post("/v1/batching/advise", json=QUEUE | {"device": "galaxy-s5"}).json()
        assert len(advice["bursts"]) == 1
        assert client.delete("/v1/devices/galaxy-s5").status_code == 204
        assert client.get("/v1/devices/galaxy-s5").json()["own"] is False
        assert client.delete("/v1/devices/galaxy-s5").status_code == 404
    with psycopg.connect(admin_database_url) as admin:
        rows = admin.execute("SELECT action FROM audit_log WHERE tenant_id = %s ORDER BY id", [tenant.id]).fetchall()
    noted = [action for (action,) in rows if action.startswith("device_profile")]
    assert noted == ["device_profile.uploaded", "device_profile.removed"]


def test_calibrated_profile_without_radios_has_those_of_the_package(api: str, tenant: Tenant) -> None:
    calibrated = {name: told for name, told in PROFILE.items() if name != "radios"}
    with tenant.client(api, Scope.AGENT) as client:
        read = client.put("/v1/devices/galaxy-s5", json=calibrated).json()
        assert {"wifi", "lte"} <= {each["name"] for each in read["radios"]}
        answer = client.post("/v1/batching/advise", json=QUEUE | {"device": "galaxy-s5"})
        assert answer.status_code == 200, answer.text
        assert client.delete("/v1/devices/galaxy-s5").status_code == 204


def test_a_profile_is_seen_by_its_own_tenant_alone(api: str, tenant: Tenant, database_url: str) -> None:
    other = new_tenant(tenant.parts, database_url)
    with tenant.client(api) as client, other.client(api) as stranger:
        assert client.put("/v1/devices/router-1", json=PROFILE).status_code == 200
        assert stranger.get("/v1/devices/router-1").status_code == 404
        assert stranger.delete("/v1/devices/router-1").status_code == 404
        assert stranger.post("/v1/batching/advise", json=QUEUE | {"device": "router-1"}).status_code == 404
        assert client.get("/v1/devices/router-1").status_code == 200


def test_batching_advice_says_when_and_what_it_saves(api: str, tenant: Tenant) -> None:
    with tenant.client(api, Scope.AGENT) as client:
        advice = client.post("/v1/batching/advise", json=QUEUE).json()
    (burst,) = advice["bursts"]
    assert [each["name"] for each in burst["jobs"]] == ["photos", "backup"]
    assert all(each["meets_deadline"] for each in burst["jobs"])
    assert advice["saved_j"] == pytest.approx(advice["on_their_own"]["tail_j"] / 2)
    assert "modelled" in advice["rationale"]


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "message"),
    [
        ("POST", "/v1/batching/advise", QUEUE | {"radio": "smoke"}, 404, "there are"),
        ("POST", "/v1/batching/advise", QUEUE | {"device": "galaxy-s99"}, 404, "GET /v1/devices"),
        ("POST", "/v1/batching/advise", QUEUE | {"device": "nexus-s"}, 404, "nexus-s has no radio 'lte'"),
        ("POST", "/v1/batching/advise", QUEUE | {"jobs": []}, 422, "jobs"),
        ("POST", "/v1/batching/advise", QUEUE | {"jobs": [QUEUE["jobs"][0]] * 2}, 422, "two are named"),
        ("POST", "/v1/batching/advise", QUEUE | {"jobs": [QUEUE["jobs"][0] | {"throughput_bps": 1}]}, 422, "370 days"),
        ("POST", "/v1/batching/advise", QUEUE | {"jobs": [QUEUE["jobs"][0] | {"ready_s": 1e9}]}, 422, "ready_s"),
        ("PUT", "/v1/devices/Not%20a%20name", PROFILE, 422, "name: must be lower case letters, digits, dots"),
        ("PUT", "/v1/devices/one", PROFILE | {"idle_w": FIGURE | {"value": 2e306}}, 422, "one.idle_w: must be 1e+06"),
        ("POST", "/v1/batching/advise", QUEUE | {"waiting_price_j_per_s": 1e300}, 422, "waiting_price_j_per_s"),
        ("PUT", "/v1/devices/one", PROFILE | {"radios": ["lte", "lte"]}, 422, "radios: two are named 'lte'"),
        ("PUT", "/v1/devices/one", PROFILE | {"radios": ["smoke"]}, 404, "no radio"),
        ("PUT", "/v1/devices/one", PROFILE | {"idle_w": FIGURE | {"source": ""}}, 422, "source"),
        ("PUT", "/v1/devices/one", PROFILE | {"idle_w": FIGURE | {"value": -1}}, 422, "idle_w"),
        ("PUT", "/v1/devices/one", PROFILE | {"component_w": {"gpu": FIGURE}}, 422, "no component"),
    ],
)
def test_impossible_values_are_refused_in_words(
    api: str, tenant: Tenant, method: str, path: str, body: dict[str, Any], status: int, message: str
) -> None:
    with tenant.client(api, Scope.AGENT) as client:
        answer = client.request(method, path, json=body)
    assert (answer.status_code, message in answer.text) == (status, True), answer.text


def test_error_in_a_job_names_the_field_of_that_job_only(api: str, tenant: Tenant) -> None:
    with tenant.client(api, Scope.AGENT) as client:
        answer = client.post("/v1/batching/advise", json=QUEUE | {"jobs": [QUEUE["jobs"][0] | {"total_bytes": -1}]})
    assert [each["field"] for each in answer.json()["errors"]] == ["jobs.0.total_bytes"]


def test_only_agents_upload(api: str, tenant: Tenant) -> None:
    with tenant.client(api, Scope.ANALYST) as client:
        assert client.put("/v1/devices/one", json=PROFILE).status_code == 403
        assert client.get("/v1/devices").status_code == 200
