"""Files of quotes with amounts as text are written again, except those whose rows are gone."""

from uuid import uuid4

import psycopg

from services.persistence import migrate
from services.persistence.roles import prepare_roles

BEFORE, AFTER = "2026_11_29_0420", "2026_11_29_0430"


def test_quotes_of_every_tenant_are_exported_again_unless_their_rows_are_dropped(empty_database: str) -> None:
    prepare_roles(empty_database)
    migrate.upgrade(empty_database, BEFORE)
    tenants = [uuid4() for _ in range(2)]
    with psycopg.connect(empty_database, autocommit=True) as admin:
        admin.execute("INSERT INTO closed_months (month, closed_at, dropped_at) VALUES ('2026-01-01', now(), now())")
        for tenant in tenants:
            admin.execute("INSERT INTO tenants (id, name) VALUES (%s, %s)", [tenant, str(tenant)])
            for view, day in (("quotes", "2026-01-31"), ("quotes", "2026-02-01"), ("transfers", "2026-02-01")):
                admin.execute(
                    "INSERT INTO log_days (tenant_id, view, day, version, exported_version) VALUES (%s, %s, %s, 3, 3)",
                    [tenant, view, day],
                )
    migrate.upgrade(empty_database, AFTER)
    with psycopg.connect(empty_database) as admin:
        query = "SELECT view, day::text, exported_version, version FROM log_days ORDER BY 1, 2"
        found = admin.execute(query).fetchall()
    assert found == [
        *[("quotes", "2026-01-31", 3, 3)] * 2,
        *[("quotes", "2026-02-01", 0, 3)] * 2,
        *[("transfers", "2026-02-01", 3, 3)] * 2,
    ]
