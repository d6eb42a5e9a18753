"""The ledger of the faults benchmark sees what was counted twice, on a real store."""

import httpx
import psycopg
import pytest

from benchmarks.faults.ledger import Ledger
from benchmarks.faults.rows import list_ids, make_batch


@pytest.fixture
def client(api, tenant):
    with httpx.Client(base_url=api, headers={"Authorization": f"Bearer {tenant.secret}"}, timeout=30) as opened:
        yield opened


def test_a_batch_that_was_counted_twice_shows_although_each_row_is_there_once(client, admin_database_url):
    for _ in range(2):
        client.post("/v1/logs", content=b"".join(make_batch(0, 0))).raise_for_status()
    with psycopg.connect(admin_database_url) as admin:
        told = Ledger()
        told.compare_rows(admin, list_ids(0, 0), "batch 0")
        told.compare_counts(admin)
        assert (told.lost_rows, told.duplicate_rows, told.miscounted_rows, told.problems) == (0, 0, 0, [])
        admin.execute("UPDATE links SET rows = rows + 7")
        told.compare_counts(admin)
        assert told.miscounted_rows == 7
        assert len(told.problems) == 1
