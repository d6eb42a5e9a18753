"""Caps of tenants, endpoints and links, held over all their live transfers together."""

from alembic import op

from migrations.row_level_security import protect

revision = "2026_11_21_0940"
down_revision = "2026_11_21_0930"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        """
        CREATE TABLE limits (
            id uuid PRIMARY KEY DEFAULT uuidv7(),
            tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
            scope text NOT NULL CHECK (scope IN ('tenant', 'endpoint', 'link')),
            source_id uuid REFERENCES endpoints ON DELETE CASCADE,
            destination_id uuid REFERENCES endpoints ON DELETE CASCADE,
            concurrency integer CHECK (concurrency > 0),
            streams integer CHECK (streams > 0),
            CHECK ((source_id IS NOT NULL) = (scope <> 'tenant')),
            CHECK ((destination_id IS NOT NULL) = (scope = 'link')),
            CHECK (concurrency IS NOT NULL OR streams IS NOT NULL),
            UNIQUE NULLS NOT DISTINCT (tenant_id, scope, source_id, destination_id)
        )
        """
    )
    protect("limits")


def downgrade() -> None:
    op.execute("DROP TABLE limits")
