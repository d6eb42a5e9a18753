"""Comments of views say what their columns hold: bytes of heartbeats since the begin, rows that came twice."""

from alembic import op

from migrations.column_comments import restore_comments, write_comments

revision = "2026_11_30_1700"
down_revision = "2026_11_30_1600"
branch_labels = None
depends_on = None
step = "expand"


def upgrade() -> None:
    for statement in write_comments():
        op.execute(statement)


def downgrade() -> None:
    for statement in restore_comments():
        op.execute(statement)
