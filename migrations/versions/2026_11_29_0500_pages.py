"""Users can be deleted."""

from alembic import op

revision = "2026_11_29_0500"
down_revision = "2026_11_29_0440"
branch_labels = None
depends_on = None
step = "expand"


def upgrade() -> None:
    op.execute("GRANT DELETE ON users TO tradewind_app")


def downgrade() -> None:
    op.execute("REVOKE DELETE ON users FROM tradewind_app")
