"""Queries that the service ran for a user or a key: when, how long, how many rows, and how each ended."""

from alembic import op

from migrations.row_level_security import protect

revision = "2026_11_29_0440"
down_revision = "2026_11_29_0430"
branch_labels = None
depends_on = None
step = "expand"

QUERY_LOG = """
    CREATE TABLE query_log (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
        actor_kind text NOT NULL,
        actor_id uuid NOT NULL,
        started_at timestamptz NOT NULL,
        duration_s double precision NOT NULL,
        sql text NOT NULL,
        characters bigint NOT NULL,
        format text NOT NULL,
        outcome text NOT NULL,
        rows bigint NOT NULL,
        bytes bigint NOT NULL,
        sqlstate text,
        message text
    )
"""


def upgrade() -> None:
    op.execute(QUERY_LOG)
    op.execute("CREATE INDEX query_log_of_actor_idx ON query_log (tenant_id, actor_kind, actor_id, id)")
    op.execute("CREATE INDEX query_log_by_start_idx ON query_log (tenant_id, started_at)")
    protect("query_log", grants="SELECT, INSERT, DELETE")


def downgrade() -> None:
    op.execute("DROP TABLE query_log")
