"""A tier without a name goes by its range in the warehouse, as it does on the pages."""

import random

import psycopg

from services.application.models.sla_tiers import list_tier_names
from tests.integration.live_transfers import learned
from tests.stack import Tenant
from tradewind.units import format_bps

__all__ = ["learned"]


def test_tiers_are_called_as_on_the_pages(api: str, learned: Tenant) -> None:
    with learned.client(api) as client:
        answer = client.post("/v1/warehouse/query", json={"sql": "SELECT tier_id, tier, kind FROM tiers"})
        rows = answer.raise_for_status().json()["rows"]
    with learned.parts.store.unit_of_work(learned.id) as uow:
        named = list_tier_names([row["tier_id"] for row in rows], uow)
    assert {row["kind"] for row in rows} >= {"throughput_at_least", "max_throughput"}
    assert {row["tier_id"]: row["tier"] for row in rows} == {str(tier_id): name for tier_id, name in named.items()}


def test_named_tier_keeps_its_name(api: str, learned: Tenant, admin_database_url: str) -> None:
    with learned.client(api) as client:
        first = client.get("/v1/sla-tiers", params={"limit": 1}).raise_for_status().json()[0]["tier_id"]
        with psycopg.connect(admin_database_url) as admin:
            admin.execute(
                "INSERT INTO tier_names (tenant_id, tier_id, name) VALUES (%s, %s, 'Gold')", [learned.id, first]
            )
        sql = f"SELECT DISTINCT tier FROM tiers WHERE tier_id = '{first}'"
        assert client.post("/v1/warehouse/query", json={"sql": sql}).json()["rows"] == [{"tier": "Gold"}]


def test_quantities_are_written_as_python_writes_them(admin_database_url: str) -> None:
    source = random.Random(4)
    values = [0.0, 1.0, 999.4, 999.6, 999.9e6, 1e3, 1e6, 94.2e6, *(10 ** source.uniform(-2, 13.9) for _ in range(2000))]
    with psycopg.connect(admin_database_url) as admin:
        rows = "unnest(%s::double precision[]) WITH ORDINALITY AS u (v, n)"
        query = f"SELECT warehouse.format_quantity(v, 'bit/s', true) FROM {rows}"
        written = [text for (text,) in admin.execute(f"{query} ORDER BY n", [values])]
    assert written == [format_bps(value) for value in values]
