"""The size of parts from the log to the answer: stored, shown in the warehouse, learned and recommended."""

import json

import pytest

from benchmarks.api.cases import SOURCE, make_log_lines
from tests.integration.models.refreshes import Refreshes
from tests.stack import new_tenant
from tradewind.units import MIB

SLOW, QUICK = 8 * MIB, 64 * MIB


@pytest.fixture(scope="module")
def learned(api, parts, database_url, logs):
    """A tenant whose copies to a store are faster in large parts."""
    tenant = new_tenant(parts, database_url)
    rows = [json.loads(line) for line in b"".join(make_log_lines(1, ("store",))).splitlines()]
    for number, row in enumerate(rows):
        row["store"] = "s3"
        row["parameters"]["part_bytes"] = QUICK if number % 2 else SLOW
        row["outcome"]["throughput_bps"] *= 0.9 if number % 2 else 0.5
    content = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    with tenant.client(api) as client:
        assert client.post("/v1/logs", content=content).json()["rejected"] == 0
    assert Refreshes(tenant, logs).run() is not None
    return tenant


def test_quicker_size_of_parts_is_recommended(api, learned):
    request = {
        "source": SOURCE,
        "destination": "store",
        "dataset": {"file_count": 300, "total_bytes": 30_000_000},
        "sla": {"kind": "max_throughput"},
    }
    with learned.client(api) as client:
        answer = client.post("/v1/recommend", json=request).json()
    assert answer["source"] == "release"
    assert answer["parameters"]["part_bytes"] == QUICK
    assert f"--s3-chunk-size {QUICK}B" in answer["flags"]["rclone"]
    settings = [entry["parameters"] for table in answer["table"].values() for entry in table["settings"]]
    assert {setting["part_bytes"] for setting in settings} <= {SLOW, QUICK}


def test_warehouse_shows_parts_and_stores(learned):
    with learned.parts.store.unit_of_work(learned.id) as uow:
        query = "SELECT DISTINCT store, part_bytes FROM warehouse.transfers ORDER BY part_bytes"
        assert [tuple(row) for row in uow.connection.exec_driver_sql(query)] == [("s3", SLOW), ("s3", QUICK)]


def test_row_without_either_is_stored_as_unknown(api, parts, database_url):
    tenant = new_tenant(parts, database_url)
    line = next(iter(make_log_lines(2, ("store",)))).splitlines()[0]
    with tenant.client(api) as client:
        assert client.post("/v1/logs", content=line + b"\n").json()["accepted"] == 1
    with tenant.parts.store.unit_of_work(tenant.id) as uow:
        found = uow.connection.exec_driver_sql("SELECT store, part_bytes FROM warehouse.transfers").all()
    assert [tuple(row) for row in found] == [(None, None)]
