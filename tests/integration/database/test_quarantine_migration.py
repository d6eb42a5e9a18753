"""Rows that earlier versions stored in the quarantine although nothing is to be corrected in them."""

from uuid import uuid4

import psycopg

from services.persistence import migrate
from services.persistence.roles import prepare_roles

BEFORE, AFTER = "2026_11_28_2000", "2026_11_28_2010"


def test_rows_that_came_twice_leave_the_quarantine_of_every_tenant(empty_database: str) -> None:
    prepare_roles(empty_database)
    migrate.upgrade(empty_database, BEFORE)
    tenants = [uuid4() for _ in range(3)]
    with psycopg.connect(empty_database, autocommit=True) as admin:
        for tenant in tenants:
            admin.execute("INSERT INTO tenants (id, name) VALUES (%s, %s)", [tenant, str(tenant)])
            batch = admin.execute(
                "INSERT INTO batches (tenant_id, idempotency_key, content_sha256, received_at, accepted, rejected,"
                " already_stored, rejections) VALUES (%s, 'a', sha256(''), now(), 0, 0, 0, '[]') RETURNING id",
                [tenant],
            ).fetchone()
            assert batch is not None
            admin.execute(
                "INSERT INTO log_quarantine (tenant_id, batch_id, row, field, reason, raw) SELECT %s, %s, n, 'id',"
                " CASE WHEN n = 7 THEN 'is missing' ELSE 'is already stored' END, '{}' FROM"
                " generate_series(1, 12000) n",
                [tenant, batch[0]],
            )
    migrate.upgrade(empty_database, AFTER)
    with psycopg.connect(empty_database, autocommit=True) as admin:
        left = admin.execute("SELECT tenant_id, reason FROM log_quarantine").fetchall()
    assert sorted(left) == sorted((tenant, "is missing") for tenant in tenants)
