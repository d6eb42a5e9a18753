"""What is billed of each transfer, as it was last computed, what has changed since, and counts of imported records."""

from sqlalchemy import BigInteger, Boolean, Column, Date, Identity, Index, Numeric, Table, UniqueConstraint, Uuid

from services.persistence.tables.metadata import (
    METADATA,
    build_instant,
    build_label,
    build_quantity,
    build_tenant_column,
)

# ``unit`` : the transfer, or the record of one without an ID. A row for each month and key that it counts for, without
# those whose unit has a mark: they are computed when they are read.
usage_transfers = Table(
    "usage_transfers",
    METADATA,
    build_tenant_column(),
    Column("unit", Uuid, nullable=False),
    Column("month", Date, nullable=False),
    Column("key_id", Uuid),
    Column("customer_id", Uuid),
    Column("transfer_id", Uuid),
    Column("link_id", Uuid, nullable=False),
    build_instant("started_at"),
    build_instant("ended_at"),
    build_label("status"),
    Column("bytes_moved", BigInteger, nullable=False),
    Column("tier_id", Uuid),
    build_label("sla", nullable=True),
    Column("book_id", Uuid),
    Column("amount", Numeric),
    build_label("currency", nullable=True),
    build_label("energy_basis", nullable=True),
    Column("credit", Numeric),
    build_label("billing"),
    Column("from_log_alone", Boolean, nullable=False),
    Column("kept", Boolean),
    build_quantity("target"),
    build_quantity("probability"),
    UniqueConstraint("tenant_id", "unit", "month", "key_id", postgresql_nulls_not_distinct=True),
    Index(None, "tenant_id", "month", "key_id"),
)

# A unit that changed; or all of a key, of a price book or billed in one way; or, without any of them, all of a tenant.
usage_marks = Table(
    "usage_marks",
    METADATA,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("tenant_id", Uuid, nullable=False),
    Column("unit", Uuid),
    Column("key_id", Uuid),
    Column("book_id", Uuid),
    build_label("billing", nullable=True),
    Index(None, "tenant_id", "unit"),
)

# Changes of counts: of records that neither the service knows as transfers nor carry a quote, by their batch and day.
usage_imports = Table(
    "usage_imports",
    METADATA,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    build_tenant_column(),
    Column("day", Date, nullable=False),
    Column("batch_id", Uuid, nullable=False),
    Column("transfers", BigInteger, nullable=False),
    Column("bytes_moved", Numeric, nullable=False),
    Index(None, "tenant_id", "day"),
)
