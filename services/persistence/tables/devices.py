"""Device profiles that tenants uploaded; those of the package are in no table."""

from sqlalchemy import Column, Table, Text, Uuid
from sqlalchemy.dialects.postgresql import JSONB

from services.persistence.tables.metadata import METADATA, build_instant, build_tenant_column

device_profiles = Table(
    "device_profiles",
    METADATA,
    build_tenant_column(primary_key=True),
    Column("name", Text, primary_key=True),
    Column("content", JSONB, nullable=False),
    build_instant("uploaded_at"),
    Column("key_id", Uuid),
)
