"""Logins of the warehouse, which the database makes and whose passwords are kept to be shown again; saved queries."""

from sqlalchemy import Column, Index, Table, Text, UniqueConstraint

from services.persistence.tables.metadata import METADATA, instant, label, own_id, reference, tenant_column

warehouse_logins = Table(
    "warehouse_logins",
    METADATA,
    tenant_column(primary_key=True),
    Column("kind", Text, primary_key=True),
    label("password"),
    instant("created_at"),
)

saved_queries = Table(
    "saved_queries",
    METADATA,
    own_id(),
    tenant_column(),
    label("name"),
    label("sql"),
    reference("author_id", "users"),
    instant("saved_at"),
    UniqueConstraint("tenant_id", "name"),
    Index(None, "author_id"),
)
