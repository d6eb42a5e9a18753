"""A batch counts the refused rows that the quarantine had no room for."""

from alembic import op

revision = "2026_11_28_2000"
down_revision = "2026_11_28_1900"
branch_labels = None
depends_on = None
step = "expand"


def upgrade() -> None:
    op.execute("ALTER TABLE batches ADD COLUMN not_quarantined bigint NOT NULL DEFAULT 0")


def downgrade() -> None:
    op.execute("ALTER TABLE batches DROP COLUMN not_quarantined")
