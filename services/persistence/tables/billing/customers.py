"""Customers of a tenant, their keys over time, and the prices that were negotiated with them."""

from sqlalchemy import Column, Index, Integer, Numeric, Table, Text, UniqueConstraint, text

from services.persistence.tables.billing.prices import build_price, build_rule_columns
from services.persistence.tables.metadata import (
    METADATA,
    build_instant,
    build_label,
    build_quantity,
    build_reference,
    build_tenant_column,
    own_id,
)

# A customer's number is part of the numbers of its statements and is never used again.
customers = Table(
    "customers",
    METADATA,
    own_id(),
    build_tenant_column(),
    Column("number", Integer, nullable=False),
    *(build_label(name) for name in ("name", "contact_name", "contact_email", "note")),
    build_price("spending_limit", nullable=True),
    build_label("spending_currency", nullable=True),
    build_quantity("rate_factor"),
    Column("version", Integer, nullable=False, server_default=text("1")),
    build_instant("created_at"),
    build_instant("archived_at", nullable=True),
    Column("address", Text, nullable=False, server_default=text("''")),
    UniqueConstraint("tenant_id", "number"),
    UniqueConstraint("tenant_id", "name"),
)

# A key belongs to a customer from one row of it until the next; a row without a customer ends it.
customer_keys = Table(
    "customer_keys",
    METADATA,
    build_tenant_column(),
    build_reference("key_id", "api_keys", primary_key=True),
    Column("from_at", build_instant("from_at").type, primary_key=True),
    build_reference("customer_id", "customers", nullable=True),
    Index(None, "customer_id"),
)

# They hold from one time until another, or until the next of their customer begin. ``adjustment`` : -0.1 is 10 % off.
negotiated_prices = Table(
    "negotiated_prices",
    METADATA,
    own_id(),
    build_tenant_column(),
    build_reference("customer_id", "customers"),
    Column("adjustment", Numeric(16, 6), nullable=False),
    build_label("currency", nullable=True),
    build_instant("starts_at"),
    build_instant("ends_at", nullable=True),
    build_instant("created_at"),
    UniqueConstraint("customer_id", "starts_at"),
)

negotiated_price_rules = Table(
    "negotiated_price_rules",
    METADATA,
    build_tenant_column(),
    build_reference("negotiated_id", "negotiated_prices", primary_key=True),
    *build_rule_columns(),
    build_price("credit"),
)
