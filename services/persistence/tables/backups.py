"""Recorded copies of the whole database, which belong to no tenant."""

from sqlalchemy import BigInteger, Column, DateTime, Table

from services.persistence.tables.metadata import METADATA

database_copies = Table(
    "database_copies",
    METADATA,
    Column("ended_at", DateTime(timezone=True), primary_key=True),
    Column("bytes", BigInteger, nullable=False),
)
