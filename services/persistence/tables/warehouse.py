"""Logins of the warehouse: the database makes them, their passwords are kept to be shown again."""

from sqlalchemy import Column, Table, Text

from services.persistence.tables.metadata import METADATA, instant, label, tenant_column

warehouse_logins = Table(
    "warehouse_logins",
    METADATA,
    tenant_column(primary_key=True),
    Column("kind", Text, primary_key=True),
    label("password"),
    instant("created_at"),
)
