"""Transfers have the failure that their agent reported."""

from alembic import op

from migrations.credit_views import SLAS_WITH_CREDITS
from migrations.failure_views import READ_COLUMNS, SLAS_WITH_FAILURES
from migrations.reader_isolation import put_behind_function
from migrations.row_level_security import READER
from migrations.warehouse_views import replaced, statements

revision = "2026_11_29_0731"
down_revision = "2026_11_29_0730"
branch_labels = None
depends_on = None
step = "expand"


def upgrade() -> None:
    op.execute("ALTER TABLE transfers ADD COLUMN failure_kind text, ADD COLUMN failure text")
    for table, columns in READ_COLUMNS.items():
        op.execute(f"GRANT SELECT ({columns}) ON {table} TO {READER}")
    for statement in replaced(SLAS_WITH_FAILURES):
        op.execute(statement)
    op.execute(put_behind_function(SLAS_WITH_FAILURES.name))


def downgrade() -> None:
    op.execute(f"DROP VIEW warehouse.{SLAS_WITH_CREDITS.name}")
    for statement in statements(SLAS_WITH_CREDITS):
        op.execute(statement)
    op.execute(put_behind_function(SLAS_WITH_CREDITS.name))
    op.execute("ALTER TABLE transfers DROP COLUMN failure, DROP COLUMN failure_kind")
