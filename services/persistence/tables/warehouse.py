"""Database accounts of the warehouse, which the database creates, and saved queries. A tenant's accounts have passwords
that are shown again.
"""

from sqlalchemy import Column, Index, Table, Text, UniqueConstraint

from services.persistence.tables.metadata import METADATA, build_tenant_column, instant, label, own_id, reference

warehouse_logins = Table(
    "warehouse_logins",
    METADATA,
    build_tenant_column(primary_key=True),
    Column("kind", Text, primary_key=True),
    label("password"),
    instant("created_at"),
)

personal_logins = Table(
    "personal_logins",
    METADATA,
    reference("user_id", "users", primary_key=True),
    build_tenant_column(),
    label("name"),
    instant("created_at"),
    instant("valid_until", nullable=True),
)

saved_queries = Table(
    "saved_queries",
    METADATA,
    own_id(),
    build_tenant_column(),
    label("name"),
    label("sql"),
    reference("author_id", "users"),
    instant("saved_at"),
    UniqueConstraint("tenant_id", "name"),
    Index(None, "author_id"),
)
