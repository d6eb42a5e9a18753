"""Device profiles belong to the API key that uploaded them; those without one are the tenant's."""

from alembic import op

revision = "2026_11_27_2330"
down_revision = "2026_11_27_2310"
branch_labels = None
depends_on = None
step = "expand"


def upgrade() -> None:
    op.execute("ALTER TABLE device_profiles ADD COLUMN key_id uuid")


def downgrade() -> None:
    op.execute("ALTER TABLE device_profiles DROP COLUMN key_id")
