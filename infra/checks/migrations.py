"""Check that the migrations are unchanged, lead to the tables that the code describes, and do not stop a running
service.

The check compares what they lead to on an empty embedded database; those newer than the first schema are read as SQL.
"""

import sys
from typing import Any

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, create_engine, text
from sqlalchemy.pool import NullPool

from infra.checks import frozen_migrations
from infra.checks.frozen_migrations import FROZEN, digest_migrations, parse_digests
from infra.checks.migration_steps import LAID, find_violations
from services.embedded.postgres import EmbeddedPostgres
from services.persistence.engine import format_sqlalchemy_url
from services.persistence.migrate import list_steps, render_sql, upgrade
from services.persistence.roles import prepare_roles
from services.persistence.tables import METADATA


def main() -> int:
    refused = list(
        frozen_migrations.find_changes(parse_digests(FROZEN.read_text(encoding="ascii")), digest_migrations())
    )
    refused += [
        f"{revision}: {reason}"
        for revision, step in list_steps().items()
        if revision > LAID
        for reason in find_violations(render_sql(revision), step)
    ]
    differences = [f"the migrations lack: {each}" for each in find_drift()]
    for line in refused + differences:
        print(line)
    return 1 if refused or differences else 0


def find_drift() -> list[Any]:
    """Return what the tables of the code have and those of the migrations have not, or the other way round."""
    with EmbeddedPostgres.temporary() as server:
        prepare_roles(server.url())
        upgrade(server.url())
        engine = create_engine(format_sqlalchemy_url(server.url()), poolclass=NullPool)
        with engine.connect() as connection:
            differences: list[Any] = compare_metadata(make_context(connection), METADATA)
            return differences


def make_context(connection: Connection) -> MigrationContext:
    """Return the database to compare with, without partitions, which the code makes as months come."""
    partitions = set(connection.scalars(text("SELECT relname FROM pg_class WHERE relispartition")))

    def is_described(name: str | None, kind: str, _parents: object) -> bool:
        return kind != "table" or name not in partitions

    options = {"include_name": is_described, "compare_type": True, "compare_server_default": True}
    return MigrationContext.configure(connection, opts=options)


if __name__ == "__main__":
    sys.exit(main())
