"""Quotes whose files have amounts as text are exported again, with decimals.

The owner of the tables sees one tenant at a time, as everybody does. Days whose rows are dropped keep their files.
"""

from alembic import op

revision = "2026_11_29_0430"
down_revision = "2026_11_29_0420"
branch_labels = None
depends_on = None
step = "backfill"

EXPORT_AGAIN = """
    DO $$
    DECLARE each_tenant uuid;
    BEGIN
        FOR each_tenant IN SELECT id FROM tenants LOOP
            PERFORM set_config('tradewind.tenant', each_tenant::text, true);
            UPDATE log_days d SET exported_version = 0
             WHERE view = 'quotes' AND exported_version > 0 AND NOT EXISTS (
                   SELECT FROM closed_months
                    WHERE month = date_trunc('month', d.day::timestamp)::date AND dropped_at IS NOT NULL);
            COMMIT;
        END LOOP;
    END $$
"""


def upgrade() -> None:
    with op.get_context().autocommit_block():
        op.execute(EXPORT_AGAIN)


def downgrade() -> None:
    """Leave the days to be exported: an earlier version writes them as it does."""
