"""Which schema a database has, and whether this code supports it.

Migrations are known by the names of their files only: processes that answer requests need this, and need not load what
changes a schema (`services.persistence.migrate`).
"""

import re
from functools import cache
from importlib.resources import files

from sqlalchemy import Connection, text

from tradewind.errors import UnknownSchema

_FILE_OF_A_MIGRATION = re.compile(r"(\d{4}(?:_\d{2,4}){3})_\w+\.py")
"""Begins with the migration's revision, which is when it was made: revisions have the order of their names."""


@cache
def list_known_revisions() -> tuple[str, ...]:
    """Return the versions of the schema that this code knows, oldest first."""
    names = (each.name for each in files("migrations").joinpath("versions").iterdir())
    return tuple(sorted(found[1] for found in map(_FILE_OF_A_MIGRATION.fullmatch, names) if found))


def read_head_revision() -> str:
    """Return the newest version that this code knows."""
    return list_known_revisions()[-1]


def read_current_revision(connection: Connection) -> str | None:
    """Return the version of the schema behind ``connection``; ``None`` where there is none."""
    if connection.scalar(text("SELECT to_regclass('alembic_version')")) is None:
        return None
    found: str | None = connection.scalar(text("SELECT version_num FROM alembic_version"))
    return found


def require_known(connection: Connection) -> None:
    """Require a schema that this code knows, or that supports this code.

    Raises
    ------
    UnknownSchema : the message has the version of the database and the expected one.
    """
    found, newest = read_current_revision(connection), read_head_revision()
    if found == newest:
        return
    if found is None:
        raise UnknownSchema(f"the database has no schema: run the migrations up to {newest}")
    if found in list_known_revisions():
        raise UnknownSchema(f"the database's schema {found} is older than {newest} of this version: run the migrations")
    if not is_compatible(connection, found):
        raise UnknownSchema(
            f"the database's schema {found} is newer than {newest} of this version: run a newer version"
        )


def format_compatibility(revision: str, oldest: str) -> str:
    """Return what a migrated schema states for earlier code, which does not know it: the oldest code that it supports.

    The statement names the schema that it is about, should another tool set another.
    """
    return f"{revision} serves {oldest}"


def is_compatible(connection: Connection, revision: str) -> bool:
    """Return whether a schema that this code does not know states that it supports this code."""
    statement = connection.scalar(text("SELECT obj_description(to_regclass('alembic_version'), 'pg_class')")) or ""
    oldest = statement.rpartition(" ")[2]
    return statement == format_compatibility(revision, oldest) and oldest <= read_head_revision()
