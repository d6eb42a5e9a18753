"""Comments of columns say what the columns hold, where a sum by another reading would be wrong and look right."""

from typing import Any
from uuid import uuid4

import pytest

from services.application.access.authenticate import Scope
from tests.records import ndjson, record
from tests.stack import Tenant


def read_comments(api: str, tenant: Tenant, view: str) -> dict[str, str]:
    """Return the comments of a view's columns; that of the view under an empty name."""
    with tenant.client(api, Scope.ANALYST) as client:
        views = client.get("/v1/warehouse/schema").raise_for_status().json()["views"]
    [found] = [each for each in views if each["name"] == view]
    return {"": found["comment"]} | {each["name"]: each["comment"] for each in found["columns"]}


def query(api: str, tenant: Tenant, sql: str) -> dict[str, Any]:
    with tenant.client(api, Scope.ANALYST) as client:
        [row] = client.post("/v1/warehouse/query", json={"sql": sql}).raise_for_status().json()["rows"]
    return dict(row)


def beat(sequence: int, bytes_moved: int) -> dict[str, Any]:
    """A heartbeat as the agent sends it: bytes since the begin, the rate of the interval."""
    heartbeat = {
        "sequence": sequence,
        "at": f"2026-03-01T00:00:{5 * sequence:02}Z",
        "interval_s": 5.0 if sequence else 0.0,
        "bytes_moved": bytes_moved,
        "throughput_bps": 8e6 if sequence else 0.0,
        "remaining_bytes": 10**9 - bytes_moved,
        "remaining_files": 1,
        "parameters": {"concurrency": 4, "parallelism": 2, "pipelining": 8},
    }
    return {"heartbeat": heartbeat, "changed": False, "kind": "hold", "reason": "test", "chunks": []}


def test_heartbeats_count_bytes_from_the_begin(api: str, tenant: Tenant) -> None:
    transfer = str(uuid4())
    sent = {
        "records": [record(transfer_id=transfer)],
        "heartbeats": [beat(each, each * 5_000_000) for each in range(4)],
    }
    with tenant.client(api) as client:
        client.post(f"/v1/transfers/{transfer}/complete", json=sent).raise_for_status()
    found = query(
        api,
        tenant,
        "SELECT max(bytes_moved) AS last, sum(bytes_moved)::bigint AS added, "
        "sum(throughput_bps * interval_s / 8)::bigint AS intervals FROM heartbeats",
    )
    assert found == {"last": 15_000_000, "added": 30_000_000, "intervals": 15_000_000}
    comments = read_comments(api, tenant, "heartbeats")
    for column in ("bytes_moved", "sent_bytes", "retransmitted_bytes"):
        assert "since the transfer began" in comments[column]
    assert "throughput_bps * interval_s / 8" in comments["bytes_moved"]


def test_batches_count_rows_that_were_stored_before_as_rejected(api: str, tenant: Tenant) -> None:
    known, new = record(), record(minute=5)
    with tenant.client(api) as client:
        for rows in ([known], [known, new]):
            client.post("/v1/logs", content=ndjson(rows)).raise_for_status()
    sums = "SELECT sum(accepted)::int AS a, sum(rejected)::int AS r, sum(already_stored)::int AS s FROM batches"
    assert query(api, tenant, sums) == {"a": 2, "r": 1, "s": 1}
    comments = read_comments(api, tenant, "batches")
    assert "new" in comments["accepted"]
    assert "stored before among them" in comments["rejected"]


def test_a_link_has_the_end_of_its_latest_transfer(api: str, tenant: Tenant) -> None:
    with tenant.client(api) as client:
        client.post("/v1/logs", content=ndjson([record()])).raise_for_status()
    found = query(api, tenant, "SELECT last_log_at = (SELECT max(ended_at) FROM transfers) AS is_end FROM links")
    assert found == {"is_end": True}
    assert read_comments(api, tenant, "links")["last_log_at"].startswith("End of the latest transfer")


@pytest.mark.parametrize("view", ["whole_transfers", "daily_rollups"])
def test_views_of_transfers_say_how_one_counts_that_was_logged_twice(api: str, tenant: Tenant, view: str) -> None:
    twice = str(uuid4())
    with tenant.client(api) as client:
        client.post("/v1/logs", content=ndjson([record(transfer_id=twice) for _ in range(2)])).raise_for_status()
    rows = "SELECT count(*)::int AS n, count(DISTINCT coalesce(transfer_id, id))::int AS each FROM whole_transfers"
    assert query(api, tenant, rows) == {"n": 2, "each": 1}
    assert "records of" in read_comments(api, tenant, view)[""]
