"""What was stored before usage was: all of it is marked to be computed, and imported records are counted.

Records that are stored meanwhile count once: the statement sees them and their count, or neither, and adds what is
missing.
"""

from alembic import op

revision = "2026_11_29_0750"
down_revision = "2026_11_29_0740"
branch_labels = None
depends_on = None
step = "backfill"

COUNT_AND_MARK = """
    DO $$
    DECLARE each_tenant uuid;
    BEGIN
        FOR each_tenant IN SELECT id FROM tenants LOOP
            PERFORM set_config('tradewind.tenant', each_tenant::text, true);
            INSERT INTO usage_marks (tenant_id) VALUES (each_tenant);
            INSERT INTO usage_imports (tenant_id, day, batch_id, transfers, bytes_moved)
            SELECT each_tenant, day, batch_id, sum(transfers), sum(bytes_moved) FROM (
                SELECT (started_at AT TIME ZONE 'UTC')::date AS day, batch_id, count(*) AS transfers,
                       sum(bytes_moved) AS bytes_moved
                  FROM transfer_logs
                 WHERE tenant_id = each_tenant AND transfer_id IS NULL AND quote IS NULL
                   AND (chunk IS NULL OR chunk = 'whole')
                 GROUP BY 1, 2
                 UNION ALL
                SELECT day, batch_id, -transfers, -bytes_moved FROM usage_imports WHERE tenant_id = each_tenant
            ) counted GROUP BY day, batch_id HAVING sum(transfers) <> 0 OR sum(bytes_moved) <> 0;
            COMMIT;
        END LOOP;
    END $$
"""


def upgrade() -> None:
    with op.get_context().autocommit_block():
        op.execute(COUNT_AND_MARK)


def downgrade() -> None:
    """Leave marks and counts: an earlier version reads neither."""
