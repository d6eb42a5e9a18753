"""What was asked for and quoted, and whose key a batch of logs came by: what bills are made of."""

from alembic import op

from migrations.month_partitions import let_months_be_added
from migrations.row_level_security import protect

revision = "2026_11_22_1500"
down_revision = "2026_11_22_1300"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(QUOTES)
    protect("quotes", grants="SELECT, INSERT, DELETE")
    let_months_be_added("quotes", "ensure_quote_partitions")
    op.execute("ALTER TABLE batches ADD COLUMN key_id uuid REFERENCES api_keys ON DELETE SET NULL")
    op.execute("CREATE INDEX sla_partitions_tier_id_idx ON sla_partitions (tier_id)")


def downgrade() -> None:
    op.execute("DROP INDEX sla_partitions_tier_id_idx")
    op.execute("ALTER TABLE batches DROP COLUMN key_id")
    op.execute("DROP FUNCTION ensure_quote_partitions(date[])")
    op.execute("DROP TABLE quotes")


# Nothing is referred to: quotes outlive the releases and the models that they were made of.
QUOTES = """
    CREATE TABLE quotes (
        tenant_id uuid NOT NULL,
        transfer_id uuid NOT NULL,
        at timestamptz NOT NULL,
        key_id uuid NOT NULL,
        link_id uuid NOT NULL,
        tier_id uuid NOT NULL,
        book_id uuid,
        amount numeric CHECK (amount >= 0),
        currency text,
        energy_basis text NOT NULL,
        sla text NOT NULL,
        total_bytes bigint NOT NULL,
        throughput_bps double precision NOT NULL,
        energy_j double precision,
        PRIMARY KEY (tenant_id, transfer_id, at),
        CHECK ((book_id IS NULL) = (currency IS NULL)),
        CHECK (amount IS NULL OR book_id IS NOT NULL)
    ) PARTITION BY RANGE (at)
"""
