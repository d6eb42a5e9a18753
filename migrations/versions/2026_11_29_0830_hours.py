"""Sums of the latest two days by hour, which the shortest range of the overview shows."""

from alembic import op

from migrations.row_level_security import protect

revision = "2026_11_29_0830"
down_revision = "2026_11_29_0820"
branch_labels = None
depends_on = None
step = "expand"

HOURS = """
    CREATE TABLE hourly_rollups (
        tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
        day date NOT NULL,
        hour smallint NOT NULL,
        link_id uuid NOT NULL,
        transfers bigint NOT NULL,
        bytes_moved bigint NOT NULL,
        measured_energy_j double precision NOT NULL,
        modelled_energy_j double precision NOT NULL,
        metered_bytes bigint NOT NULL,
        PRIMARY KEY (tenant_id, day, hour, link_id)
    )
"""


def upgrade() -> None:
    op.execute(HOURS)
    protect("hourly_rollups")


def downgrade() -> None:
    op.execute("DROP TABLE hourly_rollups")
