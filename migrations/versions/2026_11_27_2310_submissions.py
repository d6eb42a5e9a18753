"""What was sent once and how it was answered, so that a double click or a resend does it once."""

from alembic import op

from migrations.row_level_security import protect

revision = "2026_11_27_2310"
down_revision = "2026_11_27_2300"
branch_labels = None
depends_on = None
step = "expand"


def upgrade() -> None:
    op.execute(SUBMISSIONS)
    op.execute("CREATE INDEX submissions_tenant_id_at_idx ON submissions (tenant_id, at)")
    protect("submissions")


def downgrade() -> None:
    op.execute("DROP TABLE submissions")


SUBMISSIONS = """
    CREATE TABLE submissions (
        tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
        digest bytea NOT NULL,
        content_sha256 bytea NOT NULL,
        at timestamptz NOT NULL,
        answer text,
        PRIMARY KEY (tenant_id, digest)
    )
"""
