"""Statements that were issued to customers: nothing of them ever changes."""

from sqlalchemy import ARRAY, BigInteger, Boolean, Column, Date, Integer, Numeric, Table, Text, UniqueConstraint, Uuid

from services.persistence.tables.metadata import (
    METADATA,
    build_instant,
    build_label,
    build_quantity,
    build_reference,
    build_tenant_column,
    own_id,
)

# Numbers of a tenant are consecutive. ``content`` : sums by key, by link and tier and by day, as JSON.
issued_statements = Table(
    "issued_statements",
    METADATA,
    own_id(),
    build_tenant_column(),
    Column("number", Integer, nullable=False),
    Column("month", Date, nullable=False),
    build_label("time_zone"),
    build_instant("issued_at"),
    build_label("issued_by"),
    build_label("provider"),
    Column("provider_address", ARRAY(Text), nullable=False),
    Column("customer_id", Uuid, nullable=False),
    Column("customer_number", Integer, nullable=False),
    *(build_label(name) for name in ("customer", "customer_address", "contact_name", "contact_email")),
    Column("has_transfers", Boolean, nullable=False),
    build_label("content"),
    UniqueConstraint("tenant_id", "number"),
    UniqueConstraint("tenant_id", "customer_id", "month"),
)

# What is paid in one currency: amount - credit + adjustment, rounded once.
issued_sums = Table(
    "issued_sums",
    METADATA,
    build_tenant_column(),
    build_reference("statement_id", "issued_statements", primary_key=True),
    Column("currency", Text, primary_key=True),
    Column("transfers", BigInteger, nullable=False),
    *(Column(name, Numeric, nullable=False) for name in ("amount", "credit", "adjustment", "payable")),
)

# Differences of months that were issued before, which a statement bills.
issued_adjustments = Table(
    "issued_adjustments",
    METADATA,
    build_tenant_column(),
    build_reference("statement_id", "issued_statements", primary_key=True),
    build_reference("corrected_id", "issued_statements", primary_key=True),
    Column("currency", Text, primary_key=True),
    Column("transfers", BigInteger, nullable=False),
    Column("amount", Numeric, nullable=False),
    Column("credit", Numeric, nullable=False),
)

issued_transfers = Table(
    "issued_transfers",
    METADATA,
    build_tenant_column(),
    build_reference("statement_id", "issued_statements", primary_key=True),
    Column("started_at", build_instant("started_at").type, primary_key=True),
    Column("ordinal", Integer, primary_key=True),
    build_instant("ended_at"),
    Column("key_id", Uuid),
    build_label("key", nullable=True),
    Column("transfer_id", Uuid),
    *(build_label(name) for name in ("source", "destination", "mover")),
    Column("tier_id", Uuid),
    build_label("sla", nullable=True),
    build_label("status"),
    Column("bytes_moved", BigInteger, nullable=False),
    Column("amount", Numeric, nullable=False),
    build_label("currency"),
    build_label("energy_basis", nullable=True),
    Column("book_id", Uuid),
    Column("kept", Boolean),
    Column("credit", Numeric),
    build_quantity("target"),
    build_quantity("probability"),
)
