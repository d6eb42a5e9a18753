"""A reader's plans describe no rows of other tenants: small views behind functions, months without statistics."""

from alembic import op

from migrations.month_partitions import let_months_be_added
from migrations.reader_isolation import (
    TABLES_IN_PLANS,
    VIEWS_BEHIND_FUNCTIONS,
    ensure_partitions,
    keep_no_statistics,
    put_behind_function,
    take_from_function,
)

revision = "2026_11_27_2100"
down_revision = "2026_11_27_2000"
branch_labels = None
depends_on = None
step = "expand"

ENSURE = {
    "transfer_logs": "ensure_log_partitions",
    "transfer_samples": "ensure_sample_partitions",
    "quotes": "ensure_quote_partitions",
}


def upgrade() -> None:
    for table, function in ENSURE.items():
        op.execute(ensure_partitions(table, function))
    for table in TABLES_IN_PLANS:
        op.execute(keep_no_statistics(table))
    for view in VIEWS_BEHIND_FUNCTIONS:
        op.execute(put_behind_function(view))


def downgrade() -> None:
    for view in VIEWS_BEHIND_FUNCTIONS:
        op.execute(take_from_function(view))
    for table, function in ENSURE.items():
        op.execute(f"DROP FUNCTION {function}(date[])")
        let_months_be_added(table, function)
        op.execute(MEASURE.replace("%TABLE%", table))


MEASURE = """
    DO $$
    BEGIN
        EXECUTE (SELECT 'ALTER TABLE public.%TABLE% '
                        || string_agg(format('ALTER COLUMN %I SET STATISTICS DEFAULT', attname), ', ')
                   FROM pg_attribute
                  WHERE attrelid = 'public.%TABLE%'::regclass AND attnum > 0 AND NOT attisdropped);
    END
    $$
"""
