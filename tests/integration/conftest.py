"""Real PostgreSQL, Valkey and API for every test of this folder."""

from tests.stack import (
    admin_database_url,
    api,
    database_url,
    empty_database,
    logs,
    parts,
    postgres,
    redis_url,
    stores_in_this_process,
    tenant,
    valkey,
)

__all__ = [
    "admin_database_url",
    "api",
    "database_url",
    "empty_database",
    "logs",
    "parts",
    "postgres",
    "redis_url",
    "stores_in_this_process",
    "tenant",
    "valkey",
]
