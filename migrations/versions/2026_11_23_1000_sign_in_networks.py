"""From where people sign in, and what failed from there."""

from alembic import op

from migrations.row_level_security import protect

revision = "2026_11_23_1000"
down_revision = "2026_11_22_2500"
branch_labels = None
depends_on = None
step = "expand"


def upgrade() -> None:
    op.execute(SIGN_IN_NETWORKS)
    protect("sign_in_networks")


def downgrade() -> None:
    op.execute("DROP TABLE sign_in_networks")


SIGN_IN_NETWORKS = """
    CREATE TABLE sign_in_networks (
        user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
        network text NOT NULL,
        tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
        failures bigint NOT NULL DEFAULT 0,
        locked_until timestamptz,
        signed_in_at timestamptz,
        PRIMARY KEY (user_id, network)
    )
"""
