"""The view of what is billed reads records of a transfer before one whose own ID is that of the transfer."""

from alembic import op

from migrations.billing_views import BILLED_BY_LATE_QUOTES, BILLED_BY_RECORDS_OF_TRANSFERS, BILLED_TRANSFERS
from migrations.reader_isolation import put_behind_function
from migrations.warehouse_views import replaced

revision = "2026_11_30_1600"
down_revision = "2026_11_30_1130"
branch_labels = None
depends_on = None
step = "expand"


def upgrade() -> None:
    for statement in replaced(BILLED_BY_RECORDS_OF_TRANSFERS):
        op.execute(statement)
    op.execute(put_behind_function(BILLED_TRANSFERS.name))


def downgrade() -> None:
    for statement in replaced(BILLED_BY_LATE_QUOTES):
        op.execute(statement)
    op.execute(put_behind_function(BILLED_TRANSFERS.name))
