"""Who issues a tenant's statements: a name and lines of an address."""

from alembic import op

from migrations.row_level_security import protect

revision = "2026_11_29_0720"
down_revision = "2026_11_29_0710"
branch_labels = None
depends_on = None
step = "expand"


def upgrade() -> None:
    op.execute(
        """
        CREATE TABLE statement_issuers (
            tenant_id uuid PRIMARY KEY REFERENCES tenants ON DELETE CASCADE,
            name text NOT NULL CHECK (name <> ''),
            address text[] NOT NULL
        )
        """
    )
    protect("statement_issuers", grants="SELECT, INSERT, UPDATE")


def downgrade() -> None:
    op.execute("DROP TABLE statement_issuers")
