"""An endpoint has a power policy, which decides the default energy basis of its transfers.

Price books and tiers keep the basis that they name; endpoints without a policy count the total, as before.
"""

from alembic import op

revision = "2026_11_28_1700"
down_revision = "2026_11_28_1200"
branch_labels = None
depends_on = None
step = "expand"


def upgrade() -> None:
    op.execute("ALTER TABLE endpoints ADD COLUMN power_policy text")


def downgrade() -> None:
    op.execute("ALTER TABLE endpoints DROP COLUMN power_policy")
