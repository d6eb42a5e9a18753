"""The view of what is billed counts a quote for a month until a day after it, as statements do."""

from alembic import op

from migrations.billing_views import BILLED_BY_LATE_QUOTES, BILLED_TRANSFERS
from migrations.reader_isolation import put_behind_function
from migrations.warehouse_views import replaced

revision = "2026_11_29_0820"
down_revision = "2026_11_29_0810"
branch_labels = None
depends_on = None
step = "expand"


def upgrade() -> None:
    for statement in replaced(BILLED_BY_LATE_QUOTES):
        op.execute(statement)
    op.execute(put_behind_function(BILLED_TRANSFERS.name))


def downgrade() -> None:
    for statement in replaced(BILLED_TRANSFERS):
        op.execute(statement)
    op.execute(put_behind_function(BILLED_TRANSFERS.name))
