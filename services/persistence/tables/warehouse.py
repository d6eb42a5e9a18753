"""Database accounts of the warehouse, which the database creates, and saved queries. A tenant's accounts have passwords
that are shown again.
"""

from sqlalchemy import BigInteger, Column, Identity, Index, Table, Text, UniqueConstraint, Uuid

from services.persistence.tables.metadata import (
    METADATA,
    build_instant,
    build_label,
    build_quantity,
    build_reference,
    build_tenant_column,
    own_id,
)

warehouse_logins = Table(
    "warehouse_logins",
    METADATA,
    build_tenant_column(primary_key=True),
    Column("kind", Text, primary_key=True),
    build_label("password"),
    build_instant("created_at"),
)

personal_logins = Table(
    "personal_logins",
    METADATA,
    build_reference("user_id", "users", primary_key=True),
    build_tenant_column(),
    build_label("name"),
    build_instant("created_at"),
    build_instant("valid_until", nullable=True),
)

saved_queries = Table(
    "saved_queries",
    METADATA,
    own_id(),
    build_tenant_column(),
    build_label("name"),
    build_label("sql"),
    build_reference("author_id", "users"),
    build_instant("saved_at"),
    UniqueConstraint("tenant_id", "name"),
    Index(None, "author_id"),
)

# Of users and keys that may be gone since.
query_log = Table(
    "query_log",
    METADATA,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    build_tenant_column(),
    build_label("actor_kind"),
    Column("actor_id", Uuid, nullable=False),
    build_instant("started_at"),
    build_quantity("duration_s", nullable=False),
    build_label("sql"),
    Column("characters", BigInteger, nullable=False),
    build_label("format"),
    build_label("outcome"),
    Column("rows", BigInteger, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    build_label("sqlstate", nullable=True),
    build_label("message", nullable=True),
    Index("query_log_of_actor_idx", "tenant_id", "actor_kind", "actor_id", "id"),
    Index("query_log_by_start_idx", "tenant_id", "started_at"),
)
