"""Database accounts of the warehouse, which the database creates, and saved queries. A tenant's accounts have passwords
that are shown again.
"""

from sqlalchemy import Column, Index, Table, Text, UniqueConstraint

from services.persistence.tables.metadata import (
    METADATA,
    build_instant,
    build_label,
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
