"""Pages none of whose objects has times: how long they were idle is not known."""

from alembic import op

from migrations.page_views import PAGE_LOADS
from migrations.warehouse_views import comments

revision = "2026_11_26_1000"
down_revision = "2026_11_23_2200"
branch_labels = None
depends_on = None
step = "expand"


def upgrade() -> None:
    op.execute("ALTER TABLE page_loads ALTER COLUMN idle_s DROP NOT NULL")
    _of_every_tenant("UPDATE page_loads SET idle_s = NULL WHERE objects > 0 AND untimed = objects")
    for statement in comments(PAGE_LOADS):
        op.execute(statement)


def downgrade() -> None:
    _of_every_tenant("UPDATE page_loads SET idle_s = load_s WHERE idle_s IS NULL")
    op.execute("ALTER TABLE page_loads ALTER COLUMN idle_s SET NOT NULL")


def _of_every_tenant(statement: str) -> None:
    """Row-level security binds the owner, too, and shows it no tenant's rows."""
    op.execute("ALTER TABLE page_loads NO FORCE ROW LEVEL SECURITY")
    op.execute(statement)
    op.execute("ALTER TABLE page_loads FORCE ROW LEVEL SECURITY")
