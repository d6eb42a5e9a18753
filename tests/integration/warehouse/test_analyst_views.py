"""SLAs asked, promised and met, settings of surfaces, and uploads, as rows that analysts query."""

import json
from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from services.application.access.authenticate import Scope
from services.bootstrap import Container
from tests.records import START, ndjson, record
from tests.stack import Tenant, new_tenant

TIER = uuid4()


def ended(tenant: Tenant, *, kind: str = "deadline", **changed: Any) -> UUID:
    """Store a transfer that ended."""
    transfer = uuid4()
    sla = {"kind": kind, "confidence": 0.9, **({"target": 100.0} if kind != "max_throughput" else {})}
    request = {"sla": sla, "labels": {"activity": "backfill", "project": "atlas"}}
    values: dict[str, Any] = {
        "tenant_id": tenant.id, "id": transfer, "started_at": START, "source": "a", "destination": "b", "mover": "m",
        "sla": kind, "enquiry": json.dumps(request), "file_count": 1, "total_bytes": 10, "sequence": 1,
        "journalled_sequence": 1, "bytes_moved": 10, "ended_at": START + timedelta(seconds=80), "status": "succeeded",
        "duration_s": 80.0, "expected": json.dumps({"probability": 0.95, "feasible": True}), "agreement_kept": True,
    }  # fmt: skip
    values |= changed
    names, places = ", ".join(values), ", ".join(["%s"] * len(values))
    with tenant.parts.store.unit_of_work(tenant.id) as uow:
        uow.connection.exec_driver_sql(f"INSERT INTO transfers ({names}) VALUES ({places})", tuple(values.values()))
        uow.commit()
    return transfer


def price(tenant: Tenant, transfer: UUID, amount: str) -> None:
    """Quote a transfer in the tier."""
    at = START - timedelta(minutes=1)
    with tenant.parts.store.unit_of_work(tenant.id) as uow:
        uow.connection.exec_driver_sql("SELECT ensure_quote_partitions(%s)", ([at.date().replace(day=1)],))
        uow.connection.exec_driver_sql(
            "INSERT INTO quotes VALUES (%s, %s, %s, %s, %s, %s, %s, %s, 'EUR', 'total', 'deadline', 1, 8, NULL)",
            (tenant.id, transfer, at, uuid4(), uuid4(), TIER, uuid4(), amount),
        )
        uow.connection.exec_driver_sql(
            "INSERT INTO tier_names (tenant_id, tier_id, name) VALUES (%s, %s, 'gold') ON CONFLICT DO NOTHING",
            (tenant.id, TIER),
        )
        uow.commit()


@pytest.fixture(scope="module")
def provider(api: str, parts: Container, database_url: str) -> Tenant:
    found = new_tenant(parts, database_url)
    for amount, changed in (
        ("0.125", {}),
        ("0.25", {"agreement_kept": False}),
        ("0.5", {"agreement_kept": False, "status": "failed"}),
    ):
        price(found, ended(found, **changed), amount)
    ended(found, kind="energy_at_most", agreement_kept=False)
    ended(found, expected=json.dumps({"probability": 0.2, "feasible": False}), agreement_kept=False)
    ended(found, kind="max_throughput", agreement_kept=None)
    return found


def query(api: str, tenant: Tenant, sql: str) -> Sequence[dict[str, Any]]:
    with tenant.client(api, Scope.ANALYST) as client:
        answer = client.post("/v1/warehouse/query", json={"sql": sql})
    assert answer.status_code == 200, answer.text
    rows: Sequence[dict[str, Any]] = answer.json()["rows"]
    return rows


def test_transfer_has_its_request_promise_quote_and_outcome(api: str, provider: Tenant) -> None:
    [met] = query(api, provider, "SELECT * FROM transfer_slas WHERE tier = 'gold' AND met")
    known = {
        "sla": "deadline", "target": 100.0, "target_unit": "s", "probability": 0.95, "confidence": 0.9,
        "outcome": "met", "tier": "gold",
    }  # fmt: skip
    assert known.items() <= met.items()
    assert float(met["amount"]) == 0.125
    assert met["currency"] == "EUR"
    assert met["labels"] == {"activity": "backfill", "project": "atlas"}


def test_share_of_slas_met_by_tier_is_one_query(api: str, provider: Tenant) -> None:
    [found] = query(
        api,
        provider,
        "SELECT tier, count(*) AS transfers, avg(met::int)::float8 AS met, sum(amount)::float8 AS amount"
        " FROM transfer_slas WHERE tier IS NOT NULL AND met IS NOT NULL GROUP BY tier",
    )
    assert found == {"tier": "gold", "transfers": 3, "met": pytest.approx(1 / 3), "amount": 0.875}


def test_calibration_of_promises_is_one_query(api: str, provider: Tenant) -> None:
    [found] = query(
        api,
        provider,
        "SELECT round(probability::numeric, 1)::float8 AS promised, count(*) AS transfers,"
        " avg(met::int)::float8 AS met FROM transfer_slas WHERE met IS NOT NULL GROUP BY 1",
    )
    assert found == {"promised": 1.0, "transfers": 4, "met": 0.25}


def test_reasons_of_failures_and_misses(api: str, provider: Tenant) -> None:
    found = query(
        api,
        provider,
        "SELECT outcome, failure_reason, count(*) AS n FROM transfer_slas GROUP BY 1, 2 ORDER BY 1, 2",
    )
    assert [(row["outcome"], row["failure_reason"], row["n"]) for row in found] == [
        ("met", None, 1),
        ("missed", "failed", 1),
        ("missed", "too_late", 1),
        ("missed", "too_much_energy", 1),
        ("not_judged", None, 1),
        ("not_promised", None, 1),
    ]


def test_uploads_and_rejected_rows_are_views(api: str, provider: Tenant) -> None:
    wrong = record(0) | {"source": ""}
    with provider.client(api) as client:
        client.post("/v1/logs", content=ndjson([record(1), wrong])).raise_for_status()
    [batch] = query(api, provider, "SELECT accepted, rejected, customer IS NOT NULL AS named FROM batches")
    assert batch == {"accepted": 1, "rejected": 1, "named": True}
    [row] = query(api, provider, 'SELECT q."row", field FROM quarantine q JOIN batches USING (batch_id)')
    assert (row["row"], row["field"]) == (2, "source")


def test_another_tenant_sees_none_of_it(api: str, parts: Container, provider: Tenant, database_url: str) -> None:
    other = new_tenant(parts, database_url)
    for view in ("transfer_slas", "batches", "quarantine", "surface_settings"):
        assert query(api, other, f"SELECT count(*) AS n FROM {view}") == [{"n": 0}]


@pytest.mark.parametrize("column", ["secret_sha256", "scopes"])
def test_readers_cannot_read_secrets_of_keys(api: str, provider: Tenant, column: str) -> None:
    with provider.client(api, Scope.ANALYST) as client:
        answer = client.post("/v1/warehouse/query", json={"sql": f"SELECT {column} FROM public.api_keys"})
    assert answer.status_code == 422
    assert "permission denied" in answer.text
