"""The one metadata that migrations are compared with, and column kinds that recur."""

from sqlalchemy import Column, DateTime, ForeignKey, MetaData, Text, Uuid, text
from sqlalchemy.dialects.postgresql import DOUBLE_PRECISION

METADATA = MetaData(
    naming_convention={
        "pk": "%(table_name)s_pkey",
        "fk": "%(table_name)s_%(column_0_name)s_fkey",
        "uq": "%(table_name)s_%(column_0_N_name)s_key",
        "ix": "%(table_name)s_%(column_0_N_name)s_idx",
    }
)

UUID_V7 = text("uuidv7()")


def own_id() -> Column[object]:
    """Return an identity in the order of creation, made by the database."""
    return Column("id", Uuid, primary_key=True, server_default=UUID_V7)


def build_tenant_column(*, primary_key: bool = False) -> Column[object]:
    """Return the column of a row's tenant, which row-level security compares."""
    return Column(
        "tenant_id", Uuid, ForeignKey("tenants.id", ondelete="CASCADE"), nullable=False, primary_key=primary_key
    )


def build_reference(name: str, target: str, *, nullable: bool = False, primary_key: bool = False) -> Column[object]:
    """Return a foreign key whose row is deleted with the row that it refers to."""
    return Column(
        name, Uuid, ForeignKey(f"{target}.id", ondelete="CASCADE"), nullable=nullable, primary_key=primary_key
    )


def build_instant(name: str, *, nullable: bool = False) -> Column[object]:
    return Column(name, DateTime(timezone=True), nullable=nullable)


def build_quantity(name: str, *, nullable: bool = True) -> Column[object]:
    """Return a real number in the unit of its name; absent means unknown."""
    return Column(name, DOUBLE_PRECISION, nullable=nullable)


def build_label(name: str, *, nullable: bool = False) -> Column[object]:
    return Column(name, Text, nullable=nullable)
