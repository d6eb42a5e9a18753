"""A surface keeps which ends of its link its power is of, and what each of them took."""

from alembic import op

revision = "2026_11_27_2300"
down_revision = "2026_11_27_2130"
branch_labels = None
depends_on = None
step = "expand"


def upgrade() -> None:
    op.execute("ALTER TABLE surfaces ADD COLUMN power_by_end jsonb")


def downgrade() -> None:
    op.execute("ALTER TABLE surfaces DROP COLUMN power_by_end")
