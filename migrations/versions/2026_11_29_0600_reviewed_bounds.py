"""A tier keeps the bounds that its provider has seen last, so that small moves add up.

New columns of quotes have the same assumed statistics as the others.
"""

from alembic import op

from migrations.assumed_statistics import assume_for
from migrations.reader_isolation import keep_no_statistics

revision = "2026_11_29_0600"
down_revision = "2026_11_29_0500"
branch_labels = None
depends_on = None
step = "expand"


def upgrade() -> None:
    for bound in ("lower", "upper"):
        op.execute(f"ALTER TABLE sla_partitions ADD COLUMN reviewed_{bound} double precision")
    op.execute(keep_no_statistics("quotes"))
    op.execute(assume_for("quotes"))


def downgrade() -> None:
    for bound in ("lower", "upper"):
        op.execute(f"ALTER TABLE sla_partitions DROP COLUMN reviewed_{bound}")
