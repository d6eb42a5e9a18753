"""Months of logs that accept no more rows, and what outlives the rows of dropped ones."""

from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Date,
    Identity,
    Index,
    Numeric,
    Table,
    TextClause,
    UniqueConstraint,
    Uuid,
    text,
)

from services.persistence.tables.metadata import METADATA, build_instant, build_label, build_tenant_column


def _count(name: str) -> Column[int]:
    return Column(name, BigInteger, nullable=False)


closed_months = Table(
    "closed_months",
    METADATA,
    Column("month", Date, primary_key=True),
    build_instant("closed_at"),
    build_instant("dropped_at", nullable=True),
)

sealed_months = Table(
    "sealed_months",
    METADATA,
    build_tenant_column(primary_key=True),
    Column("month", Date, primary_key=True),
    Column("versions", Numeric, nullable=False),
    _count("rows"),
    _count("bytes"),
    build_instant("sealed_at"),
)


def _build_usage_columns(*, credit_default: TextClause | None = None) -> tuple[Column[Any], ...]:
    """Return the columns of a line of usage of one key."""
    return (
        Column("key_id", Uuid),
        build_label("key", nullable=True),
        build_label("billing"),
        build_label("currency", nullable=True),
        _count("transfers"),
        Column("bytes_moved", Numeric, nullable=False),
        Column("amount", Numeric),
        Column("credit", Numeric, nullable=False, server_default=credit_default),
        _count("kept"),
        _count("missed"),
        _count("from_log_alone"),
    )


sealed_usage = Table(
    "sealed_usage",
    METADATA,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    build_tenant_column(),
    Column("month", Date, nullable=False),
    *_build_usage_columns(credit_default=text("0")),
    UniqueConstraint("tenant_id", "month", "key_id", "billing", "currency", postgresql_nulls_not_distinct=True),
)

# Lines of keys that belonged to a customer; sealed_usage has those of all others.
sealed_customer_usage = Table(
    "sealed_customer_usage",
    METADATA,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    build_tenant_column(),
    Column("month", Date, nullable=False),
    Column("customer_id", Uuid, nullable=False),
    *_build_usage_columns(),
    Index(None, "tenant_id", "month"),
)

sealed_transfers = Table(
    "sealed_transfers",
    METADATA,
    build_tenant_column(primary_key=True),
    Column("month", Date, primary_key=True),
    Column("transfer_id", Uuid, primary_key=True),
)
