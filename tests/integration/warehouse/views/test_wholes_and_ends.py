"""Whole transfers and chunks as two relations, and joules that say which ends they are of."""

from collections.abc import Sequence
from typing import Any
from uuid import uuid4

import httpx
import pytest

from services.application.access.authenticate import Scope
from services.bootstrap import Container
from tests.records import ndjson, record
from tests.stack import Tenant, new_tenant

GB = 10**9


def moved(bytes_moved: int, *ends: str, **changed: Any) -> dict[str, Any]:
    """A record of that many bytes, metered at these ends with 100 J each."""
    known = record(id=str(uuid4()), started_at="2026-03-01T10:00:00Z", ended_at="2026-03-01T10:00:40Z")
    known["outcome"] |= {"status": "succeeded", "bytes_moved": bytes_moved, "throughput_bps": bytes_moved / 5}
    energy = [{"host": each, "total_j": 100.0, "method": "rapl", "quality": "measured"} for each in ends]
    return known | {"energy": energy} | changed


@pytest.fixture(scope="module")
def tenant(api: str, parts: Container, database_url: str) -> Tenant:
    found = new_tenant(parts, database_url)
    chunked = str(uuid4())
    records = [
        moved(3 * GB, "source", "destination", transfer_id=chunked, chunk="whole"),
        moved(GB, transfer_id=chunked, chunk="small"),
        moved(2 * GB, transfer_id=chunked, chunk="large"),
        moved(GB, "source"),
        moved(GB, "destination"),
        moved(GB),
    ]
    with found.client(api) as client:
        client.post("/v1/logs", content=ndjson(records)).raise_for_status()
    return found


def query(api: str, tenant: Tenant, sql: str) -> Sequence[dict[str, Any]]:
    with tenant.client(api, Scope.ANALYST) as client:
        answer: httpx.Response = client.post("/v1/warehouse/query", json={"sql": sql})
    assert answer.status_code == 200, answer.text
    rows: Sequence[dict[str, Any]] = answer.json()["rows"]
    return rows


@pytest.mark.parametrize(
    ("view", "rows", "moved_bytes"), [("whole_transfers", 4, 6 * GB), ("transfer_chunks", 2, 3 * GB)]
)
def test_each_byte_counts_once_in_a_relation(api: str, tenant: Tenant, view: str, rows: int, moved_bytes: int) -> None:
    [found] = query(api, tenant, f"SELECT count(*) AS n, sum(bytes_moved)::bigint AS moved FROM {view}")
    assert found == {"n": rows, "moved": moved_bytes}


def test_both_relations_make_up_all_records(api: str, tenant: Tenant) -> None:
    [found] = query(
        api,
        tenant,
        "SELECT (SELECT count(*) FROM transfers) AS total, count(*) AS both FROM "
        "(SELECT id FROM whole_transfers UNION SELECT id FROM transfer_chunks) each",
    )
    assert found["total"] == found["both"] == 6


def test_joules_say_which_ends_they_are_of(api: str, tenant: Tenant) -> None:
    found = query(
        api,
        tenant,
        "SELECT energy_ends, sum(energy_j) AS j FROM whole_transfers GROUP BY 1 ORDER BY 1 NULLS LAST",
    )
    assert [(row["energy_ends"], row["j"]) for row in found] == [
        ("both", 200.0),
        ("destination", 100.0),
        ("source", 100.0),
        (None, None),
    ]
