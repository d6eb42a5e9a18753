"""Loads of web pages, and the connections that they came over."""

from sqlalchemy import BigInteger, Boolean, Column, Index, Integer, LargeBinary, Table, UniqueConstraint, Uuid
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


def _count(name: str) -> Column[int]:
    return Column(name, Integer, nullable=False)


def _build_truth(name: str) -> Column[bool]:
    return Column(name, Boolean, nullable=False)


page_loads = Table(
    "page_loads",
    METADATA,
    own_id(),
    build_tenant_column(),
    Column("content_sha256", LargeBinary, nullable=False),
    _count("ordinal"),
    build_instant("received_at"),
    build_instant("started_at"),
    build_label("tool"),
    build_label("name"),
    build_quantity("load_s", nullable=False),
    _build_truth("load_told"),
    build_quantity("idle_s", nullable=False),
    build_quantity("effective_concurrency"),
    build_label("encryption", nullable=True),
    build_quantity("rtt_s"),
    _count("objects"),
    Column("wire_bytes", BigInteger, nullable=False),
    _count("untimed"),
    _count("unsized"),
    Column("caches", JSONB, nullable=False),
    Column("left_out", JSONB, nullable=False),
    Column("lengths", JSONB, nullable=False),
    Column("advice", JSONB, nullable=False),
    Column("key_id", Uuid),
    UniqueConstraint("tenant_id", "content_sha256", "ordinal"),
    Index(None, "tenant_id", "id"),
)

page_connections = Table(
    "page_connections",
    METADATA,
    build_tenant_column(),
    build_reference("page_load_id", "page_loads", primary_key=True),
    Column("ordinal", Integer, primary_key=True),
    build_label("origin"),
    _build_truth("encrypted"),
    build_label("http_version"),
    _build_truth("inferred"),
    _count("objects"),
    Column("wire_bytes", BigInteger, nullable=False),
    build_quantity("opened_s", nullable=False),
    build_quantity("duration_s"),
    build_quantity("receiving_s", nullable=False),
    build_quantity("rtt_s"),
    Column("first_object_bytes", BigInteger),
    Column("first_object_rtts", Integer),
)
