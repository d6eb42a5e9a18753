"""Regions of electricity through the API: uploads that are checked, gaps that stay, and the two ends of a transfer."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import httpx
import pytest

from services.application.access.authenticate import Scope
from services.bootstrap import Container
from tests.records import ndjson, record
from tests.stack import Tenant, new_tenant

DAY = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def own(parts: Container, database_url: str) -> Tenant:
    return new_tenant(parts, database_url)


def hours(*prices: float | None, carbon: float | None = None, begin: datetime = DAY) -> list[dict[str, Any]]:
    return [
        {"starts_at": (begin + timedelta(hours=i)).isoformat(), "price_per_kwh": price, "carbon_g_per_kwh": carbon}
        for i, price in enumerate(prices)
        if price is not None or carbon is not None
    ]


def put(client: httpx.Client, name: str, status: int = 200, **upload: Any) -> dict[str, Any]:
    answer = client.put(f"/v1/regions/{name}", json=upload)
    assert answer.status_code == status, answer.text
    body: dict[str, Any] = answer.json()
    return body


def test_upload_says_what_is_new_negative_and_missing_and_repeats_change_nothing(api: str, own: Tenant) -> None:
    with own.client(api, Scope.PROVIDER) as client:
        upload: dict[str, Any] = {"currency": "EUR", "hours": hours(0.1, -0.02, None, 0.2)}
        first = put(client, "DE-LU", **upload)
        assert (first["added"], first["replaced"]) == (3, 0)
        assert first["region"]["negative_prices"] == 1
        assert first["region"]["gap_count"] == 1
        assert first["region"]["gaps"][0]["starts_at"].startswith("2026-03-01T02:00")
        again = put(client, "DE-LU", **upload)
        assert (again["added"], again["replaced"]) == (0, 3)
        assert again["region"] == first["region"]
        put(client, "DE-LU", hours=[{"starts_at": DAY.isoformat(), "carbon_g_per_kwh": 300}])
        found = client.get("/v1/regions/DE-LU", params={"begin": DAY.isoformat(), "hours": 1}).json()
        assert found["hours"][0]["price_per_kwh"] == 0.1
        assert found["hours"][0]["carbon_g_per_kwh"] == 300


def test_series_that_is_wrong_is_refused_entirely_with_its_hour(api: str, own: Tenant) -> None:
    with own.client(api, Scope.PROVIDER) as client:
        for wrong, field in (
            ({"currency": "EUR", "hours": [*hours(0.1, 0.2), *hours(0.3)]}, "hours.2"),
            ({"currency": "EUR", "hours": [{"starts_at": "2026-03-01T00:00:00", "price_per_kwh": 1}]}, "starts_at"),
            ({"hours": hours(0.1)}, "currency"),
            ({"currency": "XXQ", "hours": hours(0.1)}, "currency"),
            ({"hours": hours(None, carbon=-1.0)}, "carbon_g_per_kwh"),
        ):
            assert field in str(put(client, "FR", 422, **wrong))
        assert client.get("/v1/regions/FR").status_code == 404
        put(client, "FR", currency="EUR", hours=hours(0.1))
        put(client, "FR", 409, currency="CHF", hours=hours(0.1))
        half_past = DAY + timedelta(hours=5, minutes=30)
        assert "one minute" in str(put(client, "FR", 422, hours=hours(0.2, begin=half_past - timedelta(hours=5))))
        assert client.put("/v1/regions/a%20b", json={"hours": []}).status_code == 422


def test_region_of_an_endpoint_is_set_by_name_and_holds_its_region(api: str, own: Tenant) -> None:
    with own.client(api, Scope.PROVIDER) as client:
        put(client, "DE", currency="EUR", hours=hours(0.1))
        assert client.post("/v1/endpoints", json={"name": "a", "region": "nowhere"}).status_code == 422
        made = client.post("/v1/endpoints", json={"name": "a", "aliases": ["a.example"], "region": "DE"}).json()
        assert made["region"] == "DE"
        assert client.delete("/v1/regions/DE").status_code == 409
        assert client.get("/v1/regions").json()[0]["endpoints"] == ["a"]
        changed = client.patch(f"/v1/endpoints/{made['id']}", json={"power_policy": "battery"}).json()
        assert changed["region"] == "DE"
        assert client.patch(f"/v1/endpoints/{made['id']}", json={"region": ""}).json()["region"] is None
        assert client.delete("/v1/regions/DE").status_code == 204
        assert client.get("/v1/regions").json() == []


def test_grid_of_a_transfer_knows_ends_by_any_name_and_says_which_region_is_unknown(api: str, own: Tenant) -> None:
    network = {"low_j_per_gb": 10.0, "high_j_per_gb": 90.0, "source": "operator's meters"}
    with own.client(api, Scope.PROVIDER) as client:
        put(client, "DE", currency="EUR", hours=hours(0.1, 0.2, 0.3))
        pairs = [{"destination": "b", "network_energy": network}]
        new = {"name": "a", "aliases": ["a.example"], "region": "DE", "known_pairs": pairs}
        client.post("/v1/endpoints", json=new).raise_for_status()
        at = {"begin": (DAY + timedelta(minutes=90)).isoformat()}
        found = client.get("/v1/grid", params={"source": "a.example", "destination": "b", **at}).json()
        assert found["source"]["region"] == "DE"
        assert [each["price_per_kwh"] for each in found["source"]["hours"]] == [0.2, 0.3]
        assert found["destination"] == {"endpoint": "b", "region": None, "currency": None, "hours": []}
        assert found["network_energy"] == network
        back = client.get("/v1/grid", params={"source": "b", "destination": "never seen"}).json()
        assert back["network_energy"] is None
        wrong = [{"destination": "b", "network_energy": network | {"high_j_per_gb": 1.0}}]
        assert client.post("/v1/endpoints", json={"name": "c", "known_pairs": wrong}).status_code == 422


def test_customers_read_regions_and_change_none(api: str, own: Tenant) -> None:
    with own.client(api, Scope.AGENT) as client:
        assert client.get("/v1/regions").status_code == 200
        assert client.put("/v1/regions/DE", json={"hours": []}).status_code == 403


def test_warehouse_has_cost_and_carbon_by_end_and_the_network_apart(api: str, own: Tenant) -> None:
    known = record(id=str(uuid4()), started_at="2026-03-01T10:30:00Z", ended_at="2026-03-01T11:30:00Z")
    known["outcome"] |= {"status": "succeeded", "bytes_moved": 10**9, "throughput_bps": 8e9 / 3600}
    energy = {"total_j": 3.6e6, "dynamic_j": 3.6e5, "base_w": 900.0, "method": "rapl", "quality": "measured"}
    both = known | {"energy": [energy | {"host": "source"}, energy | {"host": "destination"}]}
    late = both | {"id": str(uuid4()), "started_at": "2026-03-01T11:30:00Z", "ended_at": "2026-03-01T12:30:00Z"}
    with own.client(api) as client:
        client.post("/v1/logs", content=ndjson([both, late])).raise_for_status()
    sql = (
        "SELECT source_region, source_cost, source_dynamic_cost, source_carbon_g, destination_region, destination_cost,"
        " network_low_j, network_high_j, network_source FROM transfer_footprints ORDER BY started_at"
    )
    with own.client(api, Scope.PROVIDER) as client:
        begin = datetime(2026, 3, 1, 10, tzinfo=UTC)
        put(client, "DE", currency="EUR", hours=hours(0.4, -0.2, carbon=100.0, begin=begin))
        source = next(each for each in client.get("/v1/endpoints").json() if each["name"] == known["source"])
        client.patch(f"/v1/endpoints/{source['id']}", json={"region": "DE"}).raise_for_status()
    with own.client(api, Scope.ANALYST) as client:
        answer = client.post("/v1/warehouse/query", json={"sql": sql})
        assert answer.status_code == 200, answer.text
        first, second = answer.json()["rows"]
        view = next(e for e in client.get("/v1/warehouse/schema").json()["views"] if e["name"] == "transfer_footprints")
    assert first["source_region"] == "DE"
    assert first["source_cost"] == pytest.approx(0.1)
    assert first["source_dynamic_cost"] == pytest.approx(0.01)
    assert first["source_carbon_g"] == pytest.approx(100)
    assert first["destination_region"] is None
    assert first["destination_cost"] is None
    assert first["network_low_j"] == pytest.approx(7.2e6 / 9)
    assert first["network_high_j"] == pytest.approx(3 * 7.2e6)
    assert second["source_cost"] is None, "half of its hour is unknown"
    assert all(column["comment"] for column in view["columns"])
