"""Of pages none of whose objects has times the warehouse tells no idle time."""

from alembic import op

from migrations.page_views import PAGE_LOADS, TIMED_PAGE_LOADS
from migrations.warehouse_views import replaced

revision = "2026_11_26_1000"
down_revision = "2026_11_23_2200"
branch_labels = None
depends_on = None
step = "expand"


def upgrade() -> None:
    for statement in replaced(TIMED_PAGE_LOADS):
        op.execute(statement)


def downgrade() -> None:
    for statement in replaced(PAGE_LOADS):
        op.execute(statement)
