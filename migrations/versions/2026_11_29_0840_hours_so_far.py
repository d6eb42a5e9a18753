"""The latest two days are marked to be summed up again, by hour too."""

from alembic import op

revision = "2026_11_29_0840"
down_revision = "2026_11_29_0835"
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
            SELECT tenant_id, day, link_id FROM daily_rollups WHERE day >= (now() AT TIME ZONE 'UTC')::date - 1;
        END LOOP;
    END $$
"""


def upgrade() -> None:
    op.execute(MARK)


def downgrade() -> None:
    """Leave the marks: an earlier version sums the days up by its own rules."""
