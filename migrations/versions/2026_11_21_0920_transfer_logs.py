"""Batches, transfer logs partitioned by month, and the quarantine of refused rows."""

from alembic import op

from migrations.month_partitions import let_months_be_added
from migrations.row_level_security import protect

revision = "2026_11_21_0920"
down_revision = "2026_11_21_0910"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(
        """
        CREATE TABLE batches (
            id uuid PRIMARY KEY DEFAULT uuidv7(),
            tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
            idempotency_key text NOT NULL,
            content_sha256 bytea NOT NULL CHECK (length(content_sha256) = 32),
            received_at timestamptz NOT NULL,
            accepted bigint NOT NULL,
            rejected bigint NOT NULL,
            already_stored bigint NOT NULL,
            rejections jsonb NOT NULL,
            UNIQUE (tenant_id, idempotency_key)
        )
        """
    )
    op.execute(
        """
        CREATE TABLE log_quarantine (
            id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
            batch_id uuid NOT NULL REFERENCES batches ON DELETE CASCADE,
            row bigint NOT NULL,
            field text NOT NULL,
            reason text NOT NULL,
            raw text
        )
        """
    )
    op.execute("CREATE INDEX log_quarantine_batch_id_row_idx ON log_quarantine (batch_id, row)")
    op.execute("CREATE INDEX log_quarantine_tenant_id_id_idx ON log_quarantine (tenant_id, id)")
    op.execute(TRANSFER_LOGS)
    op.execute(BY_LINK)
    op.execute(CHUNKS_BY_LINK)
    for table in ("batches", "log_quarantine"):
        protect(table)
    protect("transfer_logs", grants="SELECT, INSERT, DELETE")
    let_months_be_added("transfer_logs", "ensure_log_partitions")


def downgrade() -> None:
    op.execute("DROP FUNCTION ensure_log_partitions(date[])")
    for table in ("transfer_logs", "log_quarantine", "batches"):
        op.execute(f"DROP TABLE {table}")


TRANSFER_LOGS = """
    CREATE TABLE transfer_logs (
        tenant_id uuid NOT NULL,
        id uuid NOT NULL,
        link_id uuid NOT NULL,
        batch_id uuid NOT NULL,
        received_at timestamptz NOT NULL,
        started_at timestamptz NOT NULL,
        ended_at timestamptz NOT NULL,
        protocol text NOT NULL,
        direction text NOT NULL,
        mover_version text,
        chunk text,
        transfer_id uuid,
        sla text,
        quote text,
        bandwidth_bps double precision,
        rtt_s double precision,
        min_rtt_s double precision,
        loss_rate double precision,
        buffer_bytes double precision,
        file_count bigint NOT NULL,
        total_bytes bigint NOT NULL,
        mean_file_bytes double precision NOT NULL,
        min_file_bytes bigint,
        max_file_bytes bigint,
        sd_file_bytes double precision,
        content_type text,
        concurrency smallint,
        parallelism smallint,
        pipelining smallint,
        io_block_bytes bigint,
        cores smallint,
        frequency_hz double precision,
        memory_bytes bigint,
        disk_bps double precision,
        nic_bps double precision,
        codec text,
        congestion_control text,
        status text NOT NULL,
        bytes_moved bigint NOT NULL,
        files_done bigint NOT NULL,
        files_failed bigint NOT NULL,
        throughput_bps double precision NOT NULL,
        retransmitted_bytes bigint,
        usage_cpu double precision,
        usage_memory double precision,
        usage_disk double precision,
        usage_nic double precision,
        source_energy_j double precision,
        source_dynamic_j double precision,
        source_base_w double precision,
        source_tail_j double precision,
        source_energy_method text,
        source_energy_quality text,
        destination_energy_j double precision,
        destination_dynamic_j double precision,
        destination_base_w double precision,
        destination_tail_j double precision,
        destination_energy_method text,
        destination_energy_quality text,
        PRIMARY KEY (tenant_id, id, started_at),
        CHECK (ended_at > started_at)
    ) PARTITION BY RANGE (started_at)
"""

# With the tenant, which row-level security asks for, rows are counted in the index alone.
BY_LINK = """
    CREATE INDEX transfer_logs_link_id_started_at_idx ON transfer_logs (link_id, started_at) INCLUDE (tenant_id)
"""

# Which transfers have chunks is asked whenever a link is read, of links without any too.
CHUNKS_BY_LINK = """
    CREATE INDEX transfer_logs_chunks_idx ON transfer_logs (link_id, started_at) INCLUDE (tenant_id, transfer_id)
     WHERE chunk <> 'whole'
"""
