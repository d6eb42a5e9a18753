"""Tenants and their API keys."""

from sqlalchemy import ARRAY, Column, Double, Index, LargeBinary, Table, Text, text

from services.persistence.tables.metadata import METADATA, build_instant, build_label, build_tenant_column, own_id

tenants = Table(
    "tenants",
    METADATA,
    own_id(),
    Column("name", Text, nullable=False, unique=True),
    Column("created_at", build_instant("created_at").type, nullable=False, server_default=text("now()")),
)

statement_issuers = Table(
    "statement_issuers",
    METADATA,
    build_tenant_column(primary_key=True),
    Column("name", Text, nullable=False),
    Column("address", ARRAY(Text), nullable=False),
)

api_keys = Table(
    "api_keys",
    METADATA,
    own_id(),
    build_tenant_column(),
    build_label("name"),
    build_label("prefix"),
    Column("secret_sha256", LargeBinary, nullable=False, unique=True),
    Column("scopes", ARRAY(Text), nullable=False),
    Column("weight", Double, nullable=False),
    Column("rate_factor", Double, nullable=False),
    build_instant("created_at"),
    build_instant("last_used_at", nullable=True),
    build_instant("revoked_at", nullable=True),
    Index(None, "tenant_id"),
)
