"""Transfers, live and past, and their samples with the decision on each."""

from uuid import UUID

from sqlalchemy import BigInteger, Boolean, Column, Index, Table, Uuid, text
from sqlalchemy.dialects.postgresql import JSONB

from services.persistence.tables.metadata import (
    METADATA,
    build_instant,
    build_label,
    build_quantity,
    build_tenant_column,
)


def _count(name: str, *, nullable: bool = False) -> Column[int]:
    return Column(name, BigInteger, nullable=nullable)


def _build_json(name: str, *, nullable: bool = False) -> Column[object]:
    return Column(name, JSONB(none_as_null=True), nullable=nullable)


NO_LINK = UUID(int=0)
"""Link of transfers that logged nothing, and of live ones."""

# started_at is when the service first heard of the transfer, or its record's start if that was its end. It never
# changes: samples are filed by it, so that each sequence number appears once, whatever the clock of the agent says.
transfers = Table(
    "transfers",
    METADATA,
    build_tenant_column(primary_key=True),
    Column("id", Uuid, primary_key=True),
    build_instant("started_at"),
    build_label("source"),
    build_label("destination"),
    build_label("network", nullable=True),
    build_label("mover"),
    build_label("sla", nullable=True),
    _build_json("enquiry", nullable=True),
    _build_json("expected", nullable=True),
    Column("key_id", Uuid),
    _count("file_count"),
    _count("total_bytes"),
    build_instant("last_heartbeat_at", nullable=True),
    build_instant("silent_at", nullable=True),
    _count("sequence"),
    _count("journalled_sequence"),
    _count("bytes_moved"),
    build_quantity("throughput_bps"),
    build_instant("ended_at", nullable=True),
    build_label("status", nullable=True),
    build_quantity("energy_j"),
    build_quantity("duration_s"),
    _build_json("energy", nullable=True),
    Column("agreement_kept", Boolean),
    Column("link_id", Uuid, nullable=False, server_default=text(f"'{NO_LINK}'")),
    build_label("failure_kind", nullable=True),
    build_label("failure", nullable=True),
    Index("transfers_by_start_idx", "tenant_id", "started_at", "id"),
    Index("transfers_ended_idx", "tenant_id", "link_id", "started_at", postgresql_where=text("ended_at IS NOT NULL")),
    Index("transfers_open_by_start_idx", "tenant_id", "started_at", "id", postgresql_where=text("ended_at IS NULL")),
    Index("transfers_open_idx", "tenant_id", "silent_at", postgresql_where=text("ended_at IS NULL")),
)

# Partitioned by month of transfer_started_at.
transfer_samples = Table(
    "transfer_samples",
    METADATA,
    Column("tenant_id", Uuid, primary_key=True),
    Column("transfer_id", Uuid, primary_key=True),
    Column("transfer_started_at", build_instant("transfer_started_at").type, primary_key=True),
    Column("sequence", BigInteger, primary_key=True, autoincrement=False),
    build_instant("at"),
    build_quantity("interval_s", nullable=False),
    _count("bytes_moved"),
    build_quantity("throughput_bps", nullable=False),
    _count("remaining_bytes"),
    _count("remaining_files"),
    build_quantity("rtt_s"),
    build_quantity("min_rtt_s"),
    _count("sent_bytes", nullable=True),
    _count("retransmitted_bytes", nullable=True),
    build_quantity("power_w"),
    build_label("power_method", nullable=True),
    build_label("power_quality", nullable=True),
    *(build_quantity(f"usage_{part}") for part in ("cpu", "memory", "disk", "nic")),
    _build_json("parameters"),
    _build_json("chunks"),
    _build_json("decided_chunks"),
    Column("changed", Boolean, nullable=False),
    build_label("kind"),
    build_label("reason"),
    build_quantity("sla_bank"),
    postgresql_partition_by="RANGE (transfer_started_at)",
)
