"""Days of logs and their exports."""

from sqlalchemy import BigInteger, Column, Date, Identity, Index, Table, Text, Uuid, text

from services.persistence.tables.metadata import METADATA, build_instant, build_label, build_tenant_column

log_days = Table(
    "log_days",
    METADATA,
    build_tenant_column(primary_key=True),
    Column("view", Text, primary_key=True, server_default="transfers"),
    Column("day", Date, primary_key=True),
    Column("version", BigInteger, nullable=False),
    Column("exported_version", BigInteger, nullable=False, server_default=text("0")),
    build_instant("exported_at", nullable=True),
    Column("rows", BigInteger),
    Column("bytes", BigInteger),
    build_label("sha256", nullable=True),
    Index("log_days_to_export_idx", "tenant_id", "day", postgresql_where=text("exported_version < version")),
)

export_failures = Table(
    "export_failures",
    METADATA,
    build_tenant_column(primary_key=True),
    build_instant("failed_at"),
    build_label("reason"),
)

export_marks = Table(
    "export_marks",
    METADATA,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("tenant_id", Uuid, nullable=False),
    build_label("view"),
    Column("day", Date, nullable=False),
    Index(None, "tenant_id", "day"),
)
