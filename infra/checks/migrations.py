"""The migrations must lead to the tables that the code describes: compares them on an empty embedded database."""

import sys

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, create_engine, text
from sqlalchemy.pool import NullPool

from services.embedded.postgres import EmbeddedPostgres
from services.persistence.engine import sqlalchemy_url
from services.persistence.migrate import upgrade
from services.persistence.roles import prepare_roles
from services.persistence.tables import METADATA


def main() -> int:
    with EmbeddedPostgres.temporary() as server:
        prepare_roles(server.url())
        upgrade(server.url())
        engine = create_engine(sqlalchemy_url(server.url()), poolclass=NullPool)
        with engine.connect() as connection:
            differences = compare_metadata(context(connection), METADATA)
    for difference in differences:
        print(f"the migrations lack: {difference}")
    return 1 if differences else 0


def context(connection: Connection) -> MigrationContext:
    """Return what to compare with: the database without partitions, which the code makes as months come."""
    partitions = set(connection.scalars(text("SELECT relname FROM pg_class WHERE relispartition")))

    def is_described(name: str | None, kind: str, _parents: object) -> bool:
        return kind != "table" or name not in partitions

    options = {"include_name": is_described, "compare_type": True, "compare_server_default": True}
    return MigrationContext.configure(connection, opts=options)


if __name__ == "__main__":
    sys.exit(main())
