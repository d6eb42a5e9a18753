"""Which schema a database has, and whether this code gets on with it.

Migrations are known by their files' names alone: who answers requests asks this, and need not load what changes a
schema (`services.persistence.migrate`).
"""

import re
from functools import cache
from importlib.resources import files

from sqlalchemy import Connection, text

from tradewind.errors import UnknownSchema

_FILE_OF_A_MIGRATION = re.compile(r"(\d{4}(?:_\d{2,4}){3})_\w+\.py")
"""Begins with the migration's revision, which is when it was made: revisions follow one another as their names do."""


@cache
def known_revisions() -> tuple[str, ...]:
    """The versions of the schema that this code knows, oldest first."""
    names = (each.name for each in files("migrations").joinpath("versions").iterdir())
    return tuple(sorted(found[1] for found in map(_FILE_OF_A_MIGRATION.fullmatch, names) if found))


def head_revision() -> str:
    """The newest version that this code knows."""
    return known_revisions()[-1]


def current_revision(connection: Connection) -> str | None:
    """The version of the schema behind ``connection``; None where there is none."""
    if connection.scalar(text("SELECT to_regclass('alembic_version')")) is None:
        return None
    found: str | None = connection.scalar(text("SELECT version_num FROM alembic_version"))
    return found


def require_known(connection: Connection) -> None:
    """Ask whether this code knows the schema behind ``connection``, or was said to get on with it.

    Raises
    ------
    UnknownSchema : which one it has and which is wanted.
    """
    found, newest = current_revision(connection), head_revision()
    if found == newest:
        return
    if found is None:
        raise UnknownSchema(f"the database has no schema: run the migrations up to {newest}")
    if found in known_revisions():
        raise UnknownSchema(f"the database's schema {found} is older than {newest} of this version: run the migrations")
    if not is_compatible(connection, found):
        raise UnknownSchema(
            f"the database's schema {found} is newer than {newest} of this version: run a newer version"
        )


def format_compatibility(revision: str, oldest: str) -> str:
    """What a migrated schema says to code before it, which does not know it: from which code on it gets on with it.

    The word names the schema that it is about, should another tool set another.
    """
    return f"{revision} serves {oldest}"


def is_compatible(connection: Connection, revision: str) -> bool:
    """Whether a schema that this code does not know was said to be one that it gets on with."""
    told = connection.scalar(text("SELECT obj_description(to_regclass('alembic_version'), 'pg_class')")) or ""
    oldest = told.rpartition(" ")[2]
    return told == format_compatibility(revision, oldest) and oldest <= head_revision()
