"""Electricity regions, and their prices and carbon intensities by hour."""

from sqlalchemy import Column, ForeignKeyConstraint, Table, Text

from services.persistence.tables.metadata import (
    METADATA,
    build_instant,
    build_label,
    build_quantity,
    build_tenant_column,
)

regions = Table(
    "regions",
    METADATA,
    build_tenant_column(primary_key=True),
    Column("name", Text, primary_key=True),
    build_label("currency", nullable=True),
)

region_hours = Table(
    "region_hours",
    METADATA,
    build_tenant_column(primary_key=True),
    Column("region", Text, primary_key=True),
    Column("starts_at", build_instant("starts_at").type, primary_key=True),
    build_quantity("price_per_kwh"),
    build_quantity("carbon_g_per_kwh"),
    ForeignKeyConstraint(["tenant_id", "region"], ["regions.tenant_id", "regions.name"], ondelete="CASCADE"),
)
