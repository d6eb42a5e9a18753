"""Prices and SLAs of transfers say what is given back where an SLA is missed."""

from alembic import op

from migrations.analyst_views import TRANSFER_SLAS
from migrations.credit_views import PRICES_WITH_CREDITS, SLAS_WITH_CREDITS
from migrations.reader_isolation import put_behind_function
from migrations.warehouse_views import PRICES, replaced, statements

revision = "2026_11_29_0410"
down_revision = "2026_11_29_0400"
branch_labels = None
depends_on = None
step = "expand"


def upgrade() -> None:
    for view in (PRICES_WITH_CREDITS, SLAS_WITH_CREDITS):
        for statement in replaced(view):
            op.execute(statement)
        op.execute(put_behind_function(view.name))


def downgrade() -> None:
    for view in (PRICES, TRANSFER_SLAS):
        op.execute(f"DROP VIEW warehouse.{view.name}")
        for statement in statements(view):
            op.execute(statement)
        op.execute(put_behind_function(view.name))
