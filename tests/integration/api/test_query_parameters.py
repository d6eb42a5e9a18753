"""A query parameter that an operation does not have is a mistake of the caller, and is told."""

import pytest

from tests.stack import STACK, Tenant


@pytest.mark.parametrize(
    ("method", "path", "unknown", "known"),
    [
        ("GET", "/v1/releases?limt=5", "limt", "before, limit"),
        ("GET", "/v1/releases?limit=5&Limit=6", "Limit", "before, limit"),
        ("GET", "/v1/links?limit=5", "limit", "none"),
        ("POST", "/v1/recommend?mover=rclone", "mover", "none"),
        ("GET", "/v1/releases?=", "", "before, limit"),
    ],
)
def test_a_parameter_that_nobody_knows_is_named(
    api: str, tenant: Tenant, method: str, path: str, unknown: str, known: str
) -> None:
    with tenant.client(api) as client:
        answer = client.request(method, path)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == unknown
    assert known in answer.json()["errors"][0]["reason"]


@pytest.mark.parametrize("path", ["/v1/releases?limit=1&before=2", "/v1/releases?", "/v1/links"])
def test_known_parameters_and_none_are_served(api: str, tenant: Tenant, path: str) -> None:
    with tenant.client(api) as client:
        assert client.get(path).status_code == 200


def test_a_request_that_goes_straight_to_its_endpoint_is_held_to_it_too(api: str, tenant: Tenant) -> None:
    asked = {
        "source": "a",
        "destination": "b",
        "dataset": {"file_count": 10, "total_bytes": 10_000_000},
        "sla": {"kind": "max_throughput"},
    }
    with tenant.client(api) as client:
        assert client.post("/v1/recommend", json=asked).status_code == 200  # the key is remembered from here on
        refused = client.post("/v1/recommend?load=0.5", json=asked)
    assert refused.status_code == 422
    assert refused.json()["errors"] == [{"field": "load", "reason": "is no parameter here; there are none"}]


def test_unsupported_method_is_refused_before_its_query_is_checked(api: str, tenant: Tenant) -> None:
    with tenant.client(api) as client:
        assert client.delete("/v1/releases?limt=5").status_code == 405


PROBES = ["/healthz", "/readyz", "/servingz", *([] if STACK else ["/metrics"])]  # Caddy lets nobody there


@pytest.mark.parametrize("path", PROBES)
def test_probes_take_any_query(api: str, path: str, tenant: Tenant) -> None:
    with tenant.client(api) as client:
        assert client.get(f"{path}?from=balancer").status_code == 200
