"""A record says whether a later one of its transfer replaced it; the views to sum over leave it out."""

from alembic import op

from migrations.assumed_statistics import assume_for
from migrations.footprint_views import CURRENT_FOOTPRINTS, TRANSFER_FOOTPRINTS
from migrations.row_level_security import APP
from migrations.transfer_views import CURRENT_CHUNKS, CURRENT_TRANSFERS, ENTIRE_TRANSFERS, TRANSFER_CHUNKS
from migrations.warehouse_views import View, replaced

revision = "2026_12_01_0300"
down_revision = "2026_11_30_1700"
branch_labels = None
depends_on = None
step = "expand"


def upgrade() -> None:
    op.execute("ALTER TABLE transfer_logs ADD COLUMN superseded boolean NOT NULL DEFAULT false")
    op.execute("ALTER TABLE transfer_logs ALTER COLUMN superseded SET STATISTICS 0")
    op.execute(assume_for("transfer_logs"))
    op.execute(f"GRANT UPDATE (superseded) ON transfer_logs TO {APP}")
    for view in (CURRENT_TRANSFERS, CURRENT_CHUNKS, CURRENT_FOOTPRINTS):
        _replace_rows(view)


def downgrade() -> None:
    for view in (ENTIRE_TRANSFERS, TRANSFER_CHUNKS, TRANSFER_FOOTPRINTS):
        _replace_rows(view)
    op.execute("ALTER TABLE transfer_logs DROP COLUMN superseded")


def _replace_rows(view: View) -> None:
    """Let a view have other rows, and say so; comments of its columns stay, some of which were corrected since."""
    for statement in replaced(view)[:2]:
        op.execute(statement)
