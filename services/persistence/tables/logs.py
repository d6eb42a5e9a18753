"""Uploaded batches, their transfer records, and the rows that were refused."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Identity,
    Index,
    LargeBinary,
    SmallInteger,
    Table,
    UniqueConstraint,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from services.persistence.tables.metadata import (
    METADATA,
    build_instant,
    build_label,
    build_quantity,
    build_reference,
    build_tenant_column,
    own_id,
)

batches = Table(
    "batches",
    METADATA,
    own_id(),
    build_tenant_column(),
    build_label("idempotency_key"),
    Column("content_sha256", LargeBinary, nullable=False),
    build_instant("received_at"),
    Column("accepted", BigInteger, nullable=False),
    Column("rejected", BigInteger, nullable=False),
    Column("already_stored", BigInteger, nullable=False),
    Column("not_quarantined", BigInteger, nullable=False, server_default=text("0")),
    Column("rejections", JSONB, nullable=False),
    Column("key_id", Uuid, ForeignKey("api_keys.id", ondelete="SET NULL")),
    UniqueConstraint("tenant_id", "idempotency_key"),
    Index(None, "tenant_id", "received_at"),
)

log_quarantine = Table(
    "log_quarantine",
    METADATA,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    build_tenant_column(),
    build_reference("batch_id", "batches"),
    Column("row", BigInteger, nullable=False),
    build_label("field"),
    build_label("reason"),
    build_label("raw", nullable=True),
    Index(None, "batch_id", "row"),
    Index(None, "tenant_id", "id"),
)


def _count(name: str, *, nullable: bool = True) -> Column[int]:
    return Column(name, BigInteger, nullable=nullable)


def _build_small(name: str) -> Column[int]:
    return Column(name, SmallInteger)


def _build_energy_columns(host: str) -> tuple[Column[object], ...]:
    return (
        build_quantity(f"{host}_energy_j"),
        build_quantity(f"{host}_dynamic_j"),
        build_quantity(f"{host}_base_w"),
        build_quantity(f"{host}_tail_j"),
        build_label(f"{host}_energy_method", nullable=True),
        build_label(f"{host}_energy_quality", nullable=True),
    )


# Partitioned by month of started_at. No foreign keys: link and batch are written by the same transaction, and a trigger
# for each row would halve the rate of ingest. The order of columns is that of services.persistence.bulk_copy.
transfer_logs = Table(
    "transfer_logs",
    METADATA,
    Column("tenant_id", Uuid, primary_key=True),
    Column("id", Uuid, primary_key=True),
    Column("link_id", Uuid, nullable=False),
    Column("batch_id", Uuid, nullable=False),
    build_instant("received_at"),
    Column("started_at", build_instant("started_at").type, primary_key=True),
    build_instant("ended_at"),
    build_label("protocol"),
    build_label("direction"),
    build_label("mover_version", nullable=True),
    build_label("chunk", nullable=True),
    Column("transfer_id", Uuid),
    build_label("sla", nullable=True),
    build_label("quote", nullable=True),
    *(build_quantity(name) for name in ("bandwidth_bps", "rtt_s", "min_rtt_s", "loss_rate", "buffer_bytes")),
    _count("file_count", nullable=False),
    _count("total_bytes", nullable=False),
    build_quantity("mean_file_bytes", nullable=False),
    _count("min_file_bytes"),
    _count("max_file_bytes"),
    build_quantity("sd_file_bytes"),
    build_label("content_type", nullable=True),
    _build_small("concurrency"),
    _build_small("parallelism"),
    _build_small("pipelining"),
    _count("io_block_bytes"),
    _build_small("cores"),
    build_quantity("frequency_hz"),
    _count("memory_bytes"),
    build_quantity("disk_bps"),
    build_quantity("nic_bps"),
    build_label("codec", nullable=True),
    build_label("congestion_control", nullable=True),
    build_label("status"),
    _count("bytes_moved", nullable=False),
    _count("files_done", nullable=False),
    _count("files_failed", nullable=False),
    build_quantity("throughput_bps", nullable=False),
    _count("retransmitted_bytes"),
    *(build_quantity(f"usage_{part}") for part in ("cpu", "memory", "disk", "nic")),
    *_build_energy_columns("source"),
    *_build_energy_columns("destination"),
    _count("part_bytes"),
    build_label("store", nullable=True),
    Column("superseded", Boolean, nullable=False, server_default=text("false")),
    Index(None, "tenant_id", "link_id", "started_at"),  # the tenant first: see migrations.reader_isolation
    Index(
        "transfer_logs_transfers_idx",
        "tenant_id",
        "transfer_id",
        postgresql_where=text("transfer_id IS NOT NULL"),
    ),
    Index(
        "transfer_logs_chunks_of_link_idx",
        "tenant_id",
        "link_id",
        "started_at",
        postgresql_include=["transfer_id"],
        postgresql_where=text("chunk <> 'whole'"),
    ),
    postgresql_partition_by="RANGE (started_at)",
)
