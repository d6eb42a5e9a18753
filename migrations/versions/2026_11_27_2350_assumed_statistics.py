"""Tables that keep no statistics of their columns have such as say nothing of their rows."""

from alembic import op

from migrations.assumed_statistics import ASSUME, KEYS, assume_for, ensure_assumed_partitions
from migrations.reader_isolation import ensure_partitions, keep_no_statistics

revision = "2026_11_27_2350"
down_revision = "2026_11_27_2330"
branch_labels = None
depends_on = None
step = "expand"

ENSURE = {
    "transfer_logs": "ensure_log_partitions",
    "transfer_samples": "ensure_sample_partitions",
    "quotes": "ensure_quote_partitions",
}


def upgrade() -> None:
    op.execute(ASSUME)
    op.execute("REVOKE ALL ON FUNCTION assume_statistics(regclass, text, date, boolean) FROM PUBLIC")
    for table in KEYS:
        op.execute(ensure_assumed_partitions(table, ENSURE[table]))
        op.execute(assume_for(table))


def downgrade() -> None:
    for table in KEYS:
        op.execute(ensure_partitions(table, ENSURE[table]))
        op.execute(keep_no_statistics(table))
    op.execute("DROP FUNCTION assume_statistics(regclass, text, date, boolean)")
