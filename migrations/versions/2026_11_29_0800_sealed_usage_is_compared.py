"""A month of logs is dropped only if its sealed usage is what its transfers come to, compared under a lock.

A transfer that was judged, or a quote that was corrected, after the seal would be on no statement: the sealed sums do
not have it, and its rows are gone.
"""

from importlib import import_module

from alembic import op

from migrations.row_level_security import let_owner

revision = "2026_11_29_0800"
down_revision = "2026_11_29_0755"
branch_labels = None
depends_on = None
step = "expand"

READ = ("usage_transfers", "sealed_usage", "sealed_customer_usage", "sealed_transfers")
"""Tables of all tenants that the owner's function compares."""

RETENTION = import_module("migrations.versions.2026_11_22_2200_retention")
BEFORE = RETENTION.DROP_MONTH.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION")
LAST = "        UPDATE closed_months SET dropped_at"

# What changes a bill leaves a mark in its transaction, and who computes it again takes the mark: with the table of
# marks locked, neither is under way. All others wait for the partitions of logs by now, so this one may not wait for
# a lock itself: who holds it may wait for this transaction. Imported records are never billed, and not compared.
REFUSE_CHANGED = """
    CREATE FUNCTION refuse_changed_usage(sealed_month date) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
    DECLARE
        gives_up_at constant timestamptz := clock_timestamp() + interval '2 seconds';
    BEGIN
        LOOP
            BEGIN
                LOCK TABLE usage_marks IN SHARE MODE NOWAIT;
                EXIT;
            EXCEPTION WHEN lock_not_available THEN
                IF clock_timestamp() > gives_up_at THEN
                    RAISE;
                END IF;
                PERFORM pg_sleep(0.02);
            END;
        END LOOP;
        IF EXISTS (
            SELECT FROM usage_marks mark JOIN sealed_months USING (tenant_id)
             WHERE month = sealed_month AND CASE WHEN unit IS NOT NULL
                   THEN EXISTS (
                       SELECT FROM usage_transfers u
                        WHERE u.tenant_id = mark.tenant_id AND u.unit = mark.unit AND u.month = sealed_month
                        UNION ALL
                       SELECT FROM sealed_transfers s
                        WHERE s.tenant_id = mark.tenant_id AND s.month = sealed_month AND s.transfer_id = mark.unit
                   )
                   ELSE coalesce(key_id, book_id) IS NULL AND billing IS NULL OR EXISTS (
                       SELECT FROM usage_transfers u
                        WHERE u.tenant_id = mark.tenant_id AND u.month = sealed_month
                          AND (u.key_id = mark.key_id OR u.book_id = mark.book_id OR u.billing = mark.billing)
                   ) END
        ) OR EXISTS (
            WITH sealed AS (
                SELECT tenant_id, NULL::uuid AS customer_id, key_id, billing, currency, transfers, bytes_moved,
                       amount, credit, kept, missed, from_log_alone
                  FROM sealed_usage WHERE month = sealed_month AND billing <> 'not_quoted'
                 UNION ALL
                SELECT tenant_id, customer_id, key_id, billing, currency, transfers, bytes_moved,
                       amount, credit, kept, missed, from_log_alone
                  FROM sealed_customer_usage WHERE month = sealed_month AND billing <> 'not_quoted'
            ), stored AS (
                SELECT u.tenant_id, u.customer_id, u.key_id, u.billing, u.currency, count(*), sum(u.bytes_moved),
                       sum(u.amount), coalesce(sum(u.credit), 0), count(*) FILTER (WHERE u.kept),
                       count(*) FILTER (WHERE NOT u.kept),
                       count(*) FILTER (WHERE u.from_log_alone AND u.amount IS NOT NULL)
                  FROM sealed_months m JOIN usage_transfers u ON u.tenant_id = m.tenant_id AND u.month = m.month
                 WHERE m.month = sealed_month AND u.billing <> 'not_quoted'
                 GROUP BY u.tenant_id, u.customer_id, u.key_id, u.billing, u.currency
            )
            (TABLE sealed EXCEPT TABLE stored) UNION ALL (TABLE stored EXCEPT TABLE sealed)
        ) THEN
            RAISE EXCEPTION 'what is billed of it has changed since it was sealed'
                  USING ERRCODE = 'object_not_in_prerequisite_state';
        END IF;
    END
    $$
"""


def upgrade() -> None:
    for table in READ:
        let_owner(table, "SELECT")
    op.execute(REFUSE_CHANGED)
    op.execute("REVOKE ALL ON FUNCTION refuse_changed_usage(date) FROM PUBLIC")
    op.execute(BEFORE.replace(LAST, f"        PERFORM refuse_changed_usage(asked);\n{LAST}"))


def downgrade() -> None:
    op.execute(BEFORE)
    op.execute("DROP FUNCTION refuse_changed_usage(date)")
    for table in READ:
        op.execute(f"DROP POLICY owner_select ON {table}")
