"""Of pages of which nothing came over the network the warehouse tells no idle time either."""

from alembic import op

from migrations.page_views import TIMED_PAGE_LOADS, TRANSFERRED_PAGE_LOADS
from migrations.warehouse_views import replaced

revision = "2026_11_26_1100"
down_revision = "2026_11_26_1000"
branch_labels = None
depends_on = None
step = "expand"


def upgrade() -> None:
    for statement in replaced(TRANSFERRED_PAGE_LOADS):
        op.execute(statement)


def downgrade() -> None:
    for statement in replaced(TIMED_PAGE_LOADS):
        op.execute(statement)
