"""Endpoints and the current tiers are views, which exports have as files."""

from alembic import op

from migrations.dimension_views import DIMENSION_VIEWS
from migrations.reader_isolation import put_behind_function
from migrations.warehouse_views import statements

revision = "2026_11_29_0420"
down_revision = "2026_11_29_0410"
branch_labels = None
depends_on = None
step = "expand"


def upgrade() -> None:
    for view in DIMENSION_VIEWS:
        for statement in statements(view):
            op.execute(statement)
        op.execute(put_behind_function(view.name))


def downgrade() -> None:
    for view in DIMENSION_VIEWS:
        op.execute(f"DROP VIEW warehouse.{view.name}")
        op.execute(f"DROP FUNCTION warehouse.rows_of_{view.name}()")
