"""A link knows the key whose upload made it, of which there may be so many."""

from alembic import op

revision = "2026_11_28_2030"
down_revision = "2026_11_28_2020"
branch_labels = None
depends_on = None
step = "expand"


def upgrade() -> None:
    op.execute("ALTER TABLE links ADD COLUMN made_by uuid")


def downgrade() -> None:
    op.execute("ALTER TABLE links DROP COLUMN made_by")
