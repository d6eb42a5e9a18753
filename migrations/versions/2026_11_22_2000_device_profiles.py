"""Power profiles of devices that tenants uploaded."""

from alembic import op

from migrations.row_level_security import protect

revision = "2026_11_22_2000"
down_revision = "2026_11_22_1900"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(DEVICE_PROFILES)
    protect("device_profiles")


def downgrade() -> None:
    op.execute("DROP TABLE device_profiles")


DEVICE_PROFILES = """
    CREATE TABLE device_profiles (
        tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
        name text NOT NULL CHECK (name <> ''),
        content jsonb NOT NULL,
        uploaded_at timestamptz NOT NULL,
        PRIMARY KEY (tenant_id, name)
    )
"""
