"""Transfers as their heartbeats and their end tell them, and the samples and decisions of each."""

from alembic import op

from migrations.month_partitions import let_months_be_added
from migrations.row_level_security import protect

revision = "2026_11_21_0950"
down_revision = "2026_11_21_0940"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(TRANSFERS)
    op.execute("CREATE INDEX transfers_by_start_idx ON transfers (tenant_id, started_at, id)")
    op.execute("CREATE INDEX transfers_open_idx ON transfers (tenant_id, silent_at) WHERE ended_at IS NULL")
    op.execute(TRANSFER_SAMPLES)
    for table in ("transfers", "transfer_samples"):
        protect(table)
    let_months_be_added("transfer_samples", "ensure_sample_partitions")


def downgrade() -> None:
    op.execute("DROP FUNCTION ensure_sample_partitions(date[])")
    for table in ("transfer_samples", "transfers"):
        op.execute(f"DROP TABLE {table}")


TRANSFERS = """
    CREATE TABLE transfers (
        tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
        id uuid NOT NULL,
        started_at timestamptz NOT NULL,
        source text NOT NULL,
        destination text NOT NULL,
        network text,
        mover text NOT NULL,
        sla text,
        enquiry jsonb,
        expected jsonb,
        key_id uuid,
        file_count bigint NOT NULL,
        total_bytes bigint NOT NULL,
        last_heartbeat_at timestamptz,
        silent_at timestamptz,
        sequence bigint NOT NULL,
        journalled_sequence bigint NOT NULL,
        bytes_moved bigint NOT NULL,
        throughput_bps double precision,
        ended_at timestamptz,
        status text,
        energy_j double precision,
        duration_s double precision,
        energy jsonb,
        agreement_kept boolean,
        PRIMARY KEY (tenant_id, id),
        CHECK ((ended_at IS NULL) = (status IS NULL))
    )
"""

# No foreign key to transfers, which are written first by the same transaction: a trigger a row would halve the rate.
TRANSFER_SAMPLES = """
    CREATE TABLE transfer_samples (
        tenant_id uuid NOT NULL,
        transfer_id uuid NOT NULL,
        transfer_started_at timestamptz NOT NULL,
        sequence bigint NOT NULL,
        at timestamptz NOT NULL,
        interval_s double precision NOT NULL,
        bytes_moved bigint NOT NULL,
        throughput_bps double precision NOT NULL,
        remaining_bytes bigint NOT NULL,
        remaining_files bigint NOT NULL,
        rtt_s double precision,
        min_rtt_s double precision,
        sent_bytes bigint,
        retransmitted_bytes bigint,
        power_w double precision,
        power_method text,
        power_quality text,
        usage_cpu double precision,
        usage_memory double precision,
        usage_disk double precision,
        usage_nic double precision,
        parameters jsonb NOT NULL,
        chunks jsonb NOT NULL,
        decided_chunks jsonb NOT NULL,
        changed boolean NOT NULL,
        kind text NOT NULL,
        reason text NOT NULL,
        sla_bank double precision,
        PRIMARY KEY (tenant_id, transfer_id, sequence, transfer_started_at)
    ) PARTITION BY RANGE (transfer_started_at)
"""
