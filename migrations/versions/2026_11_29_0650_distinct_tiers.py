"""No two tiers of a model share an id.

The id of its model is stored with each tier, for a unique index. Tiers of earlier models have none: two clusters of
such a model may share an id until the link is fitted again.
"""

from alembic import op

from migrations.large_tables import add_index

revision = "2026_11_29_0650"
down_revision = "2026_11_29_0600"
branch_labels = None
depends_on = None
step = "expand"


def upgrade() -> None:
    op.execute("ALTER TABLE sla_partitions ADD COLUMN IF NOT EXISTS link_model_id uuid")
    add_index("sla_partitions_link_model_id_tier_id_idx", "sla_partitions", "(link_model_id, tier_id)", unique=True)


def downgrade() -> None:
    op.execute("ALTER TABLE sla_partitions DROP COLUMN link_model_id")
