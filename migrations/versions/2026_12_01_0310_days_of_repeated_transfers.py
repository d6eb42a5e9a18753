"""Days on which a transfer has more than one record are marked to be summed up again, which sets its records apart."""

from alembic import op

revision = "2026_12_01_0310"
down_revision = "2026_12_01_0300"
branch_labels = None
depends_on = None
step = "backfill"

MARK = """
    DO $$
    DECLARE each_tenant uuid;
    BEGIN
        FOR each_tenant IN SELECT id FROM tenants LOOP
            PERFORM set_config('tradewind.tenant', each_tenant::text, true);
            INSERT INTO rollup_marks (tenant_id, day, link_id)
            SELECT DISTINCT each_tenant, day, link_id FROM (
                SELECT (started_at AT TIME ZONE 'UTC')::date AS day, link_id FROM transfer_logs
                 WHERE tenant_id = each_tenant AND transfer_id IS NOT NULL
                 GROUP BY 1, link_id, transfer_id, coalesce(chunk, 'whole') HAVING count(*) > 1
            ) repeated;
        END LOOP;
    END $$
"""


def upgrade() -> None:
    op.execute(MARK)


def downgrade() -> None:
    """Leave the marks: an earlier version sums the days up by its own rules."""
