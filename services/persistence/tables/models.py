"""Releases and what they hold: a model a link, its clusters, their surfaces and SLA partitions."""

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Identity,
    Index,
    Integer,
    LargeBinary,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import DOUBLE_PRECISION, JSONB

from services.persistence.tables.metadata import (
    METADATA,
    build_instant,
    build_label,
    build_quantity,
    build_reference,
    build_tenant_column,
    own_id,
)


def _build_lattice(name: str, *, nullable: bool = False) -> Column[object]:
    """Return an array with a number for each lattice point, in C order of the surface's axes."""
    return Column(name, ARRAY(DOUBLE_PRECISION), nullable=nullable)


def _release(name: str, *, nullable: bool = False, primary_key: bool = False, cascade: bool = True) -> Column[object]:
    on_delete = "CASCADE" if cascade else "SET NULL"
    return Column(
        name, BigInteger, ForeignKey("releases.id", ondelete=on_delete), nullable=nullable, primary_key=primary_key
    )


releases = Table(
    "releases",
    METADATA,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    build_tenant_column(),
    build_label("state"),
    build_instant("created_at"),
    build_instant("published_at", nullable=True),
    _release("parent_id", nullable=True, cascade=False),
    Column("gate", JSONB, nullable=False, server_default=text("'{}'")),
    Index("releases_one_building_idx", "tenant_id", unique=True, postgresql_where=text("state = 'building'")),
    Index(None, "tenant_id", "id"),
    Index(None, "parent_id"),
)

current_releases = Table(
    "current_releases",
    METADATA,
    build_tenant_column(primary_key=True),
    _release("release_id"),
    Index(None, "release_id"),
)

link_models = Table(
    "link_models",
    METADATA,
    own_id(),
    build_tenant_column(),
    build_reference("link_id", "links"),
    build_instant("fitted_at"),
    Column("rows", BigInteger, nullable=False),
    *(build_quantity(name) for name in ("bandwidth_bps", "rtt_s", "min_rtt_s", "loss_rate", "buffer_bytes")),
    build_quantity("load_median", nullable=False),
    build_quantity("unknown_bps"),
    Column("failures", ARRAY(Text), nullable=False),
    Index(None, "link_id"),
)

release_links = Table(
    "release_links",
    METADATA,
    build_tenant_column(),
    _release("release_id", primary_key=True),
    build_reference("link_id", "links", primary_key=True),
    Column("link_model_id", Uuid, ForeignKey("link_models.id", ondelete="CASCADE")),
    build_label("state"),
    build_label("reason", nullable=True),
    Column("verdict", JSONB),
    Column("logs_version", BigInteger, nullable=False),
    Column("attempts", Integer, nullable=False, server_default=text("0")),
    build_instant("started_at", nullable=True),
    build_instant("finished_at", nullable=True),
    Index(None, "link_model_id"),
    Index("release_links_pending_idx", "release_id", "link_id", postgresql_where=text("state = 'pending'")),
)

clusters = Table(
    "clusters",
    METADATA,
    own_id(),
    build_tenant_column(),
    build_reference("link_model_id", "link_models"),
    Column("ordinal", SmallInteger, nullable=False),
    Column("dataset_tier", SmallInteger, nullable=False),
    Column("load_tier", SmallInteger, nullable=False),
    build_quantity("log2_mean_file_bytes", nullable=False),
    build_quantity("log2_file_count", nullable=False),
    build_quantity("load", nullable=False),
    Column("rows", BigInteger, nullable=False),
    Column("accuracy", JSONB, nullable=False),
    Column("queueing_delay_p90_s", JSONB, nullable=False),
    build_quantity("loss_baseline"),
    UniqueConstraint("link_model_id", "ordinal"),
)

# Power columns are absent where no row of the cluster was metered.
surfaces = Table(
    "surfaces",
    METADATA,
    build_tenant_column(),
    build_reference("cluster_id", "clusters", primary_key=True),
    Column("axes", JSONB, nullable=False),
    _build_lattice("log_throughput_mean"),
    _build_lattice("log_throughput_sd"),
    _build_lattice("log_power_mean", nullable=True),
    _build_lattice("log_power_sd", nullable=True),
    _build_lattice("log_covariance", nullable=True),
    Column("certified", ARRAY(Boolean), nullable=False),
    Column("observed", JSONB, nullable=False),
    build_quantity("base_power_w"),
    Column("load_effect", JSONB(none_as_null=True)),
    Column("power_by_end", JSONB(none_as_null=True)),
)

# Bounds are in bit/s, joules a byte or watts by kind; half-open, unless closed.
sla_partitions = Table(
    "sla_partitions",
    METADATA,
    own_id(),
    build_tenant_column(),
    build_reference("cluster_id", "clusters"),
    Column("ordinal", SmallInteger, nullable=False),
    build_label("kind"),
    build_quantity("confidence", nullable=False),
    build_label("energy_basis"),
    build_quantity("lower", nullable=False),
    build_quantity("upper", nullable=False),
    Column("closed", Boolean, nullable=False),
    Column("parameters", JSONB, nullable=False),
    Column("predicted", JSONB, nullable=False),
    build_quantity("probability", nullable=False),
    build_quantity("regret", nullable=False),
    Column("tier_id", Uuid, nullable=False),
    Column("needs_review", Boolean, nullable=False),
    *(build_quantity(f"reviewed_{bound}") for bound in ("lower", "upper")),
    # Of the cluster, so that no two tiers of a model share an id; null in rows from before this was refused.
    Column("link_model_id", Uuid),
    UniqueConstraint("cluster_id", "ordinal"),
    Index(None, "tier_id"),
    Index("sla_partitions_link_model_id_tier_id_idx", "link_model_id", "tier_id", unique=True),
)

# The endpoints whose curves the release has brought up to date with their logs.
release_endpoints = Table(
    "release_endpoints",
    METADATA,
    build_tenant_column(),
    _release("release_id", primary_key=True),
    build_reference("endpoint_id", "endpoints", primary_key=True),
)

# Known load of one month of an endpoint: breakpoints, POSIX s, and the step of the aggregate rate there, bytes/s. Each
# is an array of doubles as it lies in memory, little-endian: arrays of SQL would be parsed number by number.
endpoint_curves = Table(
    "endpoint_curves",
    METADATA,
    build_tenant_column(),
    build_reference("endpoint_id", "endpoints", primary_key=True),
    Column("month", build_instant("month").type, primary_key=True),
    Column("rows", BigInteger, nullable=False),
    build_instant("ends_at"),
    Column("times_s", LargeBinary, nullable=False),
    Column("rate_steps", LargeBinary, nullable=False),
)
