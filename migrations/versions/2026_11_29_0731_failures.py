"""Transfers have the failure that their agent reported, and tiers without a name are called by their range."""

from alembic import op

from migrations.billing_views import SLAS_WITH_NEGOTIATED_CREDITS
from migrations.dimension_views import TIERS
from migrations.failure_views import READ_COLUMNS, SLAS_WITH_FAILURES
from migrations.reader_isolation import put_behind_function
from migrations.row_level_security import READER, publish_function
from migrations.tier_label_views import FORMAT_QUANTITY, TIERS_WITH_LABELS
from migrations.warehouse_views import replaced, statements

revision = "2026_11_29_0731"
down_revision = "2026_11_29_0730"
branch_labels = None
depends_on = None
step = "expand"


FORMATTING = "warehouse.format_quantity(double precision, text, boolean)"


def upgrade() -> None:
    op.execute("ALTER TABLE transfers ADD COLUMN failure_kind text, ADD COLUMN failure text")
    for table, columns in READ_COLUMNS.items():
        op.execute(f"GRANT SELECT ({columns}) ON {table} TO {READER}")
    op.execute(FORMAT_QUANTITY)
    publish_function(FORMATTING)
    op.execute(f"GRANT EXECUTE ON FUNCTION {FORMATTING} TO {READER}")
    for view in (SLAS_WITH_FAILURES, TIERS_WITH_LABELS):
        for statement in replaced(view):
            op.execute(statement)
        op.execute(put_behind_function(view.name))


def downgrade() -> None:
    for view in (SLAS_WITH_NEGOTIATED_CREDITS, TIERS):
        op.execute(f"DROP VIEW warehouse.{view.name}")
        op.execute(f"DROP FUNCTION warehouse.rows_of_{view.name}()")
        for statement in statements(view):
            op.execute(statement)
        op.execute(put_behind_function(view.name))
    op.execute(f"DROP FUNCTION {FORMATTING}")
    op.execute("ALTER TABLE transfers DROP COLUMN failure, DROP COLUMN failure_kind")
