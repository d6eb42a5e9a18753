"""Issued statements are not emptied either: a trigger for each row does not see TRUNCATE."""

from alembic import op

revision = "2026_11_29_0755"
down_revision = "2026_11_29_0750"
branch_labels = None
depends_on = None
step = "expand"

TABLES = ("issued_statements", "issued_sums", "issued_adjustments", "issued_transfers")


def upgrade() -> None:
    for name in TABLES:
        op.execute(
            f"CREATE TRIGGER never_emptied BEFORE TRUNCATE ON {name} "
            "FOR EACH STATEMENT EXECUTE FUNCTION refuse_change_of_issued()"
        )


def downgrade() -> None:
    for name in TABLES:
        op.execute(f"DROP TRIGGER never_emptied ON {name}")
