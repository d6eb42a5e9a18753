"""Queries that analysts keep under a name, for everybody of their tenant."""

from alembic import op

from migrations.row_level_security import protect

revision = "2026_11_22_1700"
down_revision = "2026_11_22_1600"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(SAVED_QUERIES)
    op.execute("CREATE INDEX saved_queries_author_id_idx ON saved_queries (author_id)")
    protect("saved_queries")


def downgrade() -> None:
    op.execute("DROP TABLE saved_queries")


SAVED_QUERIES = """
    CREATE TABLE saved_queries (
        id uuid PRIMARY KEY DEFAULT uuidv7(),
        tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
        name text NOT NULL CHECK (name <> ''),
        sql text NOT NULL CHECK (sql <> ''),
        author_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
        saved_at timestamptz NOT NULL,
        UNIQUE (tenant_id, name)
    )
"""
