"""A tier keeps the bounds that its provider has seen last, so that small moves add up."""

from alembic import op

revision = "2026_11_29_0600"
down_revision = "2026_11_29_0500"
branch_labels = None
depends_on = None
step = "expand"


def upgrade() -> None:
    for bound in ("lower", "upper"):
        op.execute(f"ALTER TABLE sla_partitions ADD COLUMN reviewed_{bound} double precision")


def downgrade() -> None:
    for bound in ("lower", "upper"):
        op.execute(f"ALTER TABLE sla_partitions DROP COLUMN reviewed_{bound}")
