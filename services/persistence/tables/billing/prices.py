"""What providers define for tiers (names, limits, price books), and what was quoted."""

from typing import Any

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    Column,
    Index,
    Integer,
    Numeric,
    SmallInteger,
    Table,
    TextClause,
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


def build_price(name: str, *, nullable: bool = False, server_default: TextClause | None = None) -> Column[object]:
    """Return an exact amount in main units of the book's currency."""
    return Column(name, Numeric(16, 6), nullable=nullable, server_default=server_default)


def build_rule_columns() -> tuple[Column[Any], ...]:
    """Return the order of a price rule, its conditions and its price, but for the credit."""
    return (
        Column("ordinal", SmallInteger, primary_key=True),
        build_label("kind", nullable=True),
        build_label("label", nullable=True),
        build_quantity("from_bps"),
        build_quantity("to_bps"),
        *(build_price(name) for name in ("base", "per_gb", "per_kwh", "margin")),
    )


# A draft until published_at is set; from then on no row of a book changes. A book ends where the next one begins.
price_books = Table(
    "price_books",
    METADATA,
    own_id(),
    build_tenant_column(),
    build_label("name"),
    build_label("currency"),
    build_label("energy_basis"),
    build_price("energy_cost_per_kwh", nullable=True),
    Column("version", Integer, nullable=False, server_default=text("1")),
    build_instant("created_at"),
    build_instant("published_at", nullable=True),
    build_instant("effective_from", nullable=True),
    Column("published_changes", JSONB(none_as_null=True)),
    Index("price_books_effective_key", "tenant_id", "effective_from", unique=True),
)

prices = Table(
    "prices",
    METADATA,
    build_tenant_column(),
    build_reference("book_id", "price_books", primary_key=True),
    Column("tier_id", Uuid, primary_key=True),
    build_price("base"),
    build_price("per_gb"),
    build_price("per_kwh"),
    build_price("margin"),
    build_price("credit", server_default=text("0")),
    Column("inherited_from", Uuid),
    Column("by_rule", Boolean, nullable=False, server_default=text("false")),
)

# Of a book: the first rule that matches a tier prices it. Rates are in bit/s; absent conditions match all.
price_rules = Table(
    "price_rules",
    METADATA,
    build_tenant_column(),
    build_reference("book_id", "price_books", primary_key=True),
    *build_rule_columns(),
    build_price("credit", server_default=text("0")),
)

# Partitioned by month of at. Without a book: requested while there was no current one. No foreign keys: quotes outlive
# the releases that they were made of. ``negotiated_id`` and its ``credit`` : where prices of a customer counted.
quotes = Table(
    "quotes",
    METADATA,
    Column("tenant_id", Uuid, primary_key=True),
    Column("transfer_id", Uuid, primary_key=True),
    Column("at", build_instant("at").type, primary_key=True),
    *(Column(name, Uuid, nullable=False) for name in ("key_id", "link_id", "tier_id")),
    Column("book_id", Uuid),
    Column("amount", Numeric),
    build_label("currency", nullable=True),
    build_label("energy_basis"),
    build_label("sla"),
    Column("total_bytes", BigInteger, nullable=False),
    build_quantity("throughput_bps", nullable=False),
    build_quantity("energy_j"),
    Column("negotiated_id", Uuid),
    Column("credit", Numeric),
    postgresql_partition_by="RANGE (at)",
)

# A link's newest model would remove or move priced tiers: it waits until a provider has decided, at most one a link.
tier_decisions = Table(
    "tier_decisions",
    METADATA,
    own_id(),
    build_tenant_column(),
    build_reference("link_id", "links"),
    build_reference("link_model_id", "link_models"),
    Column("release_id", BigInteger, nullable=False),
    build_instant("raised_at"),
    Column("changes", JSONB, nullable=False),
    UniqueConstraint("link_id"),
    Index(None, "link_model_id"),
)

tier_names = Table(
    "tier_names",
    METADATA,
    build_tenant_column(primary_key=True),
    Column("tier_id", Uuid, primary_key=True),
    build_label("name"),
)

# Tier n lies between the boundaries n - 1 and n. Bounds are in bit/s, joules a byte or watts by kind.
own_cuts = Table(
    "own_cuts",
    METADATA,
    own_id(),
    build_tenant_column(),
    build_reference("link_id", "links"),
    build_label("kind"),
    build_quantity("confidence", nullable=False),
    build_label("energy_basis"),
    Column("cuts", ARRAY(DOUBLE_PRECISION), nullable=False),
    Column("tier_ids", ARRAY(Uuid), nullable=False),
    Index(None, "link_id"),
)
