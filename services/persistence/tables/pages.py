"""Loads of web pages, and the connections that they came over."""

from sqlalchemy import BigInteger, Boolean, Column, Index, Integer, LargeBinary, Table, UniqueConstraint
from sqlalchemy.dialects.postgresql import JSONB

from services.persistence.tables.metadata import (
    METADATA,
    build_tenant_column,
    instant,
    label,
    own_id,
    quantity,
    reference,
)


def _count(name: str) -> Column[int]:
    return Column(name, Integer, nullable=False)


def _truth(name: str) -> Column[bool]:
    return Column(name, Boolean, nullable=False)


page_loads = Table(
    "page_loads",
    METADATA,
    own_id(),
    build_tenant_column(),
    Column("content_sha256", LargeBinary, nullable=False),
    _count("ordinal"),
    instant("received_at"),
    instant("started_at"),
    label("tool"),
    label("name"),
    quantity("load_s", nullable=False),
    _truth("load_told"),
    quantity("idle_s", nullable=False),
    quantity("effective_concurrency"),
    label("encryption", nullable=True),
    quantity("rtt_s"),
    _count("objects"),
    Column("wire_bytes", BigInteger, nullable=False),
    _count("untimed"),
    _count("unsized"),
    Column("caches", JSONB, nullable=False),
    Column("left_out", JSONB, nullable=False),
    Column("lengths", JSONB, nullable=False),
    Column("advice", JSONB, nullable=False),
    UniqueConstraint("tenant_id", "content_sha256", "ordinal"),
    Index(None, "tenant_id", "id"),
)

page_connections = Table(
    "page_connections",
    METADATA,
    build_tenant_column(),
    reference("page_load_id", "page_loads", primary_key=True),
    Column("ordinal", Integer, primary_key=True),
    label("origin"),
    _truth("encrypted"),
    label("http_version"),
    _truth("inferred"),
    _count("objects"),
    Column("wire_bytes", BigInteger, nullable=False),
    quantity("opened_s", nullable=False),
    quantity("duration_s"),
    quantity("receiving_s", nullable=False),
    quantity("rtt_s"),
    Column("first_object_bytes", BigInteger),
    Column("first_object_rtts", Integer),
)
