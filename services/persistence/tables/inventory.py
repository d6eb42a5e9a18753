"""End systems, what is known between them, and the links that logs are grouped by."""

from sqlalchemy import BigInteger, Column, Index, Integer, Table, Text, UniqueConstraint, Uuid, text
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

endpoints = Table(
    "endpoints",
    METADATA,
    own_id(),
    build_tenant_column(),
    build_label("name"),
    Column("power_profile", JSONB(none_as_null=True)),
    build_label("power_policy", nullable=True),
    build_label("region", nullable=True),
    UniqueConstraint("tenant_id", "name"),
)

endpoint_aliases = Table(
    "endpoint_aliases",
    METADATA,
    build_tenant_column(primary_key=True),
    Column("alias", Text, primary_key=True),
    build_reference("endpoint_id", "endpoints"),
    Index(None, "endpoint_id"),
)

endpoint_pairs = Table(
    "endpoint_pairs",
    METADATA,
    build_tenant_column(),
    build_reference("source_id", "endpoints", primary_key=True),
    build_reference("destination_id", "endpoints", primary_key=True),
    build_quantity("bandwidth_bps"),
    build_quantity("rtt_s"),
    build_quantity("buffer_bytes"),
    build_quantity("network_low_j_per_gb"),
    build_quantity("network_high_j_per_gb"),
    build_label("network_energy_source", nullable=True),
)

links = Table(
    "links",
    METADATA,
    own_id(),
    build_tenant_column(),
    build_reference("source_id", "endpoints"),
    build_reference("destination_id", "endpoints"),
    build_label("network", nullable=True),
    build_label("mover"),
    Column("rows", BigInteger, nullable=False, server_default=text("0")),
    build_instant("last_log_at", nullable=True),
    Column("logs_version", BigInteger, nullable=False, server_default=text("0")),
    Column("fitted_version", BigInteger, nullable=False, server_default=text("0")),
    Column("refit_rows", BigInteger),
    build_instant("refit_at", nullable=True),
    Column("made_by", Uuid),
    UniqueConstraint(
        "tenant_id", "source_id", "destination_id", "network", "mover", postgresql_nulls_not_distinct=True
    ),
)

# By which price rules choose groups of links.
link_labels = Table(
    "link_labels",
    METADATA,
    build_tenant_column(primary_key=True),
    Column("label", Text, primary_key=True),
    build_reference("link_id", "links", primary_key=True),
    Index(None, "link_id"),
)

learned_limits = Table(
    "learned_limits",
    METADATA,
    build_tenant_column(primary_key=True),
    build_reference("endpoint_id", "endpoints", primary_key=True),
    Column("key_id", Uuid, primary_key=True),
    Column("streams", Integer, nullable=False),
    build_instant("refused_at"),
    Index(None, "endpoint_id"),
)

limits = Table(
    "limits",
    METADATA,
    own_id(),
    build_tenant_column(),
    build_label("scope"),
    build_reference("source_id", "endpoints", nullable=True),
    build_reference("destination_id", "endpoints", nullable=True),
    Column("concurrency", Integer),
    Column("streams", Integer),
    UniqueConstraint("tenant_id", "scope", "source_id", "destination_id", postgresql_nulls_not_distinct=True),
)
