"""When copies of the whole database were made."""

from alembic import op

from migrations.row_level_security import APP

revision = "2026_11_23_2200"
down_revision = "2026_11_23_1000"
branch_labels = None
depends_on = None
step = "expand"


def upgrade() -> None:
    op.execute("CREATE TABLE database_copies (ended_at timestamptz PRIMARY KEY, bytes bigint NOT NULL)")
    op.execute(f"GRANT SELECT ON database_copies TO {APP}")


def downgrade() -> None:
    op.execute("DROP TABLE database_copies")
