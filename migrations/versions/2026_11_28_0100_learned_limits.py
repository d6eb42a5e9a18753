"""Caps of endpoints that agents learn from servers which refuse connections, by the key of the agent."""

from alembic import op

from migrations.row_level_security import protect

revision = "2026_11_28_0100"
down_revision = "2026_11_27_2350"
branch_labels = None
depends_on = None
step = "expand"


def upgrade() -> None:
    op.execute(LEARNED_LIMITS)
    op.execute("CREATE INDEX learned_limits_endpoint_id_idx ON learned_limits (endpoint_id)")
    protect("learned_limits")


def downgrade() -> None:
    op.execute("DROP TABLE learned_limits")


LEARNED_LIMITS = """
    CREATE TABLE learned_limits (
        tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
        endpoint_id uuid NOT NULL REFERENCES endpoints ON DELETE CASCADE,
        key_id uuid NOT NULL,
        streams integer NOT NULL CHECK (streams > 0),
        refused_at timestamptz NOT NULL,
        PRIMARY KEY (tenant_id, endpoint_id, key_id)
    )
"""
