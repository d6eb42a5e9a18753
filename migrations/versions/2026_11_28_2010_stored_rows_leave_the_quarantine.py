"""Rows that were refused because they were stored already leave the quarantine: there is nothing to correct in them.

Earlier versions stored them there. The owner of the tables sees one tenant at a time, as everybody does.
"""

from alembic import op

revision = "2026_11_28_2010"
down_revision = "2026_11_28_2000"
branch_labels = None
depends_on = None
step = "backfill"

REMOVE_IN_PORTIONS = """
    DO $$
    DECLARE each_tenant uuid;
    BEGIN
        FOR each_tenant IN SELECT id FROM tenants LOOP
            LOOP
                PERFORM set_config('tradewind.tenant', each_tenant::text, true);
                DELETE FROM log_quarantine WHERE id IN (
                    SELECT id FROM log_quarantine WHERE reason = 'is already stored' LIMIT 10000
                );
                EXIT WHEN NOT FOUND;
                COMMIT;
            END LOOP;
        END LOOP;
    END $$
"""


def upgrade() -> None:
    with op.get_context().autocommit_block():
        op.execute(REMOVE_IN_PORTIONS)


def downgrade() -> None:
    """Leave the rows out: each is stored as a transfer."""
