"""A log row has the size of the parts in which objects went, and the kind of the store."""

from alembic import op

from migrations.assumed_statistics import assume_for
from migrations.transfer_views import TRANSFERS_WITH_STORES
from migrations.warehouse_views import TRANSFERS, replaced, statements

revision = "2026_11_28_1200"
down_revision = "2026_11_28_0100"
branch_labels = None
depends_on = None
step = "expand"


def upgrade() -> None:
    op.execute("ALTER TABLE transfer_logs ADD COLUMN part_bytes bigint, ADD COLUMN store text")
    for column in ("part_bytes", "store"):
        op.execute(f"ALTER TABLE transfer_logs ALTER COLUMN {column} SET STATISTICS 0")
    op.execute(assume_for("transfer_logs"))
    for statement in replaced(TRANSFERS_WITH_STORES):
        op.execute(statement)


def downgrade() -> None:
    op.execute("DROP VIEW warehouse.transfers")
    for statement in statements(TRANSFERS):
        op.execute(statement)
    op.execute("ALTER TABLE transfer_logs DROP COLUMN store, DROP COLUMN part_bytes")
