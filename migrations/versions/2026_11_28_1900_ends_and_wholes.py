"""Energy of transfers says which ends it is of; whole transfers and chunks are views of their own."""

from alembic import op

from migrations.transfer_views import ENTIRE_TRANSFERS, TRANSFER_CHUNKS, TRANSFERS_WITH_ENDS, TRANSFERS_WITH_STORES
from migrations.warehouse_views import replaced, statements

revision = "2026_11_28_1900"
down_revision = "2026_11_28_1700"
branch_labels = None
depends_on = None
step = "expand"


def upgrade() -> None:
    for statement in replaced(TRANSFERS_WITH_ENDS):
        op.execute(statement)
    for view in (ENTIRE_TRANSFERS, TRANSFER_CHUNKS):
        for statement in statements(view):
            op.execute(statement)


def downgrade() -> None:
    for view in ("transfer_chunks", "whole_transfers", "transfers"):
        op.execute(f"DROP VIEW warehouse.{view}")
    for statement in statements(TRANSFERS_WITH_STORES):
        op.execute(statement)
