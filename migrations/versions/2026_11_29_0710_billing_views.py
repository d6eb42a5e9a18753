"""Customers, and what is billed to them as on their statements, are views."""

from alembic import op

from migrations.billing_views import BILLING_VIEWS, MORE_COLUMNS, READ_COLUMNS
from migrations.reader_isolation import put_behind_function
from migrations.row_level_security import READER, TENANT_OF_LOGIN
from migrations.warehouse_views import statements

revision = "2026_11_29_0710"
down_revision = "2026_11_29_0700"
branch_labels = None
depends_on = None
step = "expand"


def upgrade() -> None:
    for table, columns in READ_COLUMNS.items():
        op.execute(
            f"CREATE POLICY reader_tenant ON {table} FOR SELECT TO {READER} "
            f"USING (tenant_id = (SELECT {TENANT_OF_LOGIN}))"
        )
        op.execute(f"GRANT SELECT ({columns}) ON {table} TO {READER}")
    for table, columns in MORE_COLUMNS.items():
        op.execute(f"GRANT SELECT ({columns}) ON {table} TO {READER}")
    for view in BILLING_VIEWS:
        for statement in statements(view):
            op.execute(statement)
        op.execute(put_behind_function(view.name))


def downgrade() -> None:
    for view in reversed(BILLING_VIEWS):
        op.execute(f"DROP VIEW warehouse.{view.name}")
        op.execute(f"DROP FUNCTION warehouse.rows_of_{view.name}()")
    for table, columns in MORE_COLUMNS.items():
        op.execute(f"REVOKE SELECT ({columns}) ON {table} FROM {READER}")  # noqa: S608 - of constants
    for table, columns in READ_COLUMNS.items():
        op.execute(f"REVOKE SELECT ({columns}) ON {table} FROM {READER}")  # noqa: S608 - of constants
        op.execute(f"DROP POLICY reader_tenant ON {table}")
