"""What transfers have observed of codecs."""

from sqlalchemy import BigInteger, Column, Index, SmallInteger, Table, Uuid

from services.persistence.tables.metadata import METADATA, UUID_V7, build_tenant_column, instant, label, quantity

compression_observations = Table(
    "compression_observations",
    METADATA,
    build_tenant_column(primary_key=True),
    Column("id", Uuid, primary_key=True, server_default=UUID_V7),
    instant("seen_at"),
    label("codec"),
    Column("level", SmallInteger, nullable=False),
    label("kind"),
    Column("size_bin", SmallInteger, nullable=False),
    label("cpu_class"),
    Column("file_bytes", BigInteger, nullable=False),
    quantity("ratio", nullable=False),
    quantity("compress_bps", nullable=False),
    quantity("decompress_bps", nullable=False),
    quantity("probe_ratio", nullable=False),
    quantity("probe_compress_bps", nullable=False),
    quantity("probe_decompress_bps", nullable=False),
    Index(
        "compression_observations_key_idx", "tenant_id", "codec", "level", "kind", "size_bin", "cpu_class", "seen_at"
    ),
)
