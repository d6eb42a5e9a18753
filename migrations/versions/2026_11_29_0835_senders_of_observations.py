"""Page loads and observations of codecs know the key that sent them: where a tenant has too many, keys share the room.

Those from before belong to no key, and share as one.
"""

from alembic import op

revision = "2026_11_29_0835"
down_revision = "2026_11_29_0830"
branch_labels = None
depends_on = None
step = "expand"

TABLES = ("compression_observations", "page_loads")


def upgrade() -> None:
    for table in TABLES:
        op.execute(f"ALTER TABLE {table} ADD COLUMN key_id uuid")


def downgrade() -> None:
    for table in TABLES:
        op.execute(f"ALTER TABLE {table} DROP COLUMN key_id")
