"""What transfers have seen of codecs: ratio and speed, and those of gzip -1 on a sample of the same content."""

from alembic import op

from migrations.row_level_security import protect

revision = "2026_11_22_2300"
down_revision = "2026_11_22_2200"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(OBSERVATIONS)
    op.execute(
        "CREATE INDEX compression_observations_key_idx ON compression_observations "
        "(tenant_id, codec, level, kind, size_bin, cpu_class, seen_at)"
    )
    protect("compression_observations")


def downgrade() -> None:
    op.execute("DROP TABLE compression_observations")


# Speeds are plain bits a second of all cores that worked at it.
OBSERVATIONS = """
    CREATE TABLE compression_observations (
        id uuid NOT NULL DEFAULT uuidv7(),
        tenant_id uuid NOT NULL REFERENCES tenants ON DELETE CASCADE,
        seen_at timestamptz NOT NULL,
        codec text NOT NULL CHECK (codec <> ''),
        level smallint NOT NULL,
        kind text NOT NULL CHECK (kind <> ''),
        size_bin smallint NOT NULL,
        cpu_class text NOT NULL CHECK (cpu_class <> ''),
        file_bytes bigint NOT NULL,
        ratio double precision NOT NULL CHECK (ratio > 0),
        compress_bps double precision NOT NULL CHECK (compress_bps > 0),
        decompress_bps double precision NOT NULL CHECK (decompress_bps > 0),
        probe_ratio double precision NOT NULL CHECK (probe_ratio > 0),
        probe_compress_bps double precision NOT NULL CHECK (probe_compress_bps > 0),
        probe_decompress_bps double precision NOT NULL CHECK (probe_decompress_bps > 0),
        PRIMARY KEY (tenant_id, id)
    )
"""
