"""The page of regions: their hours with gaps as unknown, and what transfers took; endpoints are put in regions."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from services.application.access.authenticate import Scope
from services.bootstrap import Container
from tests.integration.admin.visitors import person, signed_in
from tests.records import ndjson, record
from tests.stack import Tenant, new_tenant


@pytest.fixture
def own(parts: Container, database_url: str) -> Tenant:
    return new_tenant(parts, database_url)


def test_page_shows_hours_gaps_and_the_carbon_of_transfers(api: str, own: Tenant) -> None:
    hour = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    ended = hour + timedelta(seconds=1)
    known = record(id=str(uuid4()), started_at=(ended - timedelta(seconds=40)).isoformat(), ended_at=ended.isoformat())
    energy = {"host": "source", "total_j": 3.6e6, "method": "rapl", "quality": "measured"}
    with own.client(api) as client:
        client.post("/v1/logs", content=ndjson([known | {"energy": [energy]}])).raise_for_status()
    with signed_in(api, person(own.parts, own, Scope.PROVIDER)) as provider:
        assert "No regions yet" in provider.get("/admin/regions").text
        with own.client(api, Scope.PROVIDER) as client:
            hours = [
                {"starts_at": (hour + timedelta(hours=i)).isoformat(), "price_per_kwh": -0.25, "carbon_g_per_kwh": 123}
                for i in (-1, 0, 1, 3)
            ]
            client.put("/v1/regions/DE", json={"currency": "EUR", "hours": hours}).raise_for_status()
            source = next(each for each in client.get("/v1/endpoints").json() if each["name"] == known["source"])
        assert provider.submit(f"/admin/endpoints/{source['id']}/region", region="DE").status_code == 303
        assert '<option value="DE" selected' in provider.get("/admin/endpoints").text
        page = provider.get("/admin/regions", params={"region": "DE"}).text
        assert "1 gap" in page
        assert "4 with a negative price" in page
        assert ">-0.2500<" in page
        assert ">unknown<" in page
        assert ">123.0<" in page
        assert provider.get("/admin/regions", params={"region": "FR"}).status_code == 404
        assert provider.submit(f"/admin/endpoints/{source['id']}/region", region="nowhere").status_code == 422
        assert provider.submit(f"/admin/endpoints/{source['id']}/region", region="").status_code == 303
    with signed_in(api, person(own.parts, own, Scope.ANALYST)) as reader:
        assert "DE" in reader.get("/admin/regions").text
        assert "/region" not in reader.get("/admin/endpoints").text.replace("/admin/regions", "")
