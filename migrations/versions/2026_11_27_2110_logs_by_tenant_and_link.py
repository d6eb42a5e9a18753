"""Indexes of transfer logs that begin with the tenant, in which a reader's plan visits no entry of another."""

from alembic import op

from migrations.large_tables import add_index

revision = "2026_11_27_2110"
down_revision = "2026_11_27_2100"
branch_labels = None
depends_on = None
step = "expand"

BY_LINK = "transfer_logs_tenant_id_link_id_started_at_idx"
CHUNKS_BY_LINK = "transfer_logs_chunks_of_link_idx"


def upgrade() -> None:
    add_index(BY_LINK, "transfer_logs", "(tenant_id, link_id, started_at)")
    chunks = "(tenant_id, link_id, started_at) INCLUDE (transfer_id) WHERE chunk <> 'whole'"
    add_index(CHUNKS_BY_LINK, "transfer_logs", chunks)


def downgrade() -> None:
    for index in (CHUNKS_BY_LINK, BY_LINK):
        op.execute(f"DROP INDEX {index}")
