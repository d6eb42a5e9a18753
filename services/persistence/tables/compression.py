"""What transfers have observed of codecs."""

from sqlalchemy import BigInteger, Column, Index, SmallInteger, Table, Uuid

from services.persistence.tables.metadata import (
    METADATA,
    UUID_V7,
    build_instant,
    build_label,
    build_quantity,
    build_tenant_column,
)

compression_observations = Table(
    "compression_observations",
    METADATA,
    build_tenant_column(primary_key=True),
    Column("id", Uuid, primary_key=True, server_default=UUID_V7),
    build_instant("seen_at"),
    build_label("codec"),
    Column("level", SmallInteger, nullable=False),
    build_label("kind"),
    Column("size_bin", SmallInteger, nullable=False),
    build_label("cpu_class"),
    Column("file_bytes", BigInteger, nullable=False),
    build_quantity("ratio", nullable=False),
    build_quantity("compress_bps", nullable=False),
    build_quantity("decompress_bps", nullable=False),
    build_quantity("probe_ratio", nullable=False),
    build_quantity("probe_compress_bps", nullable=False),
    build_quantity("probe_decompress_bps", nullable=False),
    Column("key_id", Uuid),
    Index(
        "compression_observations_key_idx", "tenant_id", "codec", "level", "kind", "size_bin", "cpu_class", "seen_at"
    ),
)
