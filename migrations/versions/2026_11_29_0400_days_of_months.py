"""Conditions on the day of a transfer, a heartbeat or a quote read the months of that day alone."""

from alembic import op

from migrations.assumed_statistics import KEYS, ensure_assumed_partitions
from migrations.day_checks import add_day_checks, drop_day_checks, ensure_checked_partitions
from migrations.transfer_views import HEARTBEATS_WITH_DAYS
from migrations.warehouse_views import HEARTBEATS, replaced, statements

revision = "2026_11_29_0400"
down_revision = "2026_11_29_0300"
branch_labels = None
depends_on = None
step = "expand"

ENSURE = {
    "transfer_logs": "ensure_log_partitions",
    "transfer_samples": "ensure_sample_partitions",
    "quotes": "ensure_quote_partitions",
}


def upgrade() -> None:
    for statement in replaced(HEARTBEATS_WITH_DAYS):
        op.execute(statement)
    for table in KEYS:  # first, so that no partition is made without the constraint while others get it
        op.execute(ensure_checked_partitions(table, ENSURE[table]))
    for table in KEYS:
        add_day_checks(table)


def downgrade() -> None:
    for table in KEYS:
        op.execute(ensure_assumed_partitions(table, ENSURE[table]))
        drop_day_checks(table)
    op.execute("DROP VIEW warehouse.heartbeats")
    for statement in statements(HEARTBEATS):
        op.execute(statement)
