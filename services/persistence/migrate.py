"""Brings the schema up (or down) to a version, as the tables' owner."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine, text
from sqlalchemy.pool import NullPool

from services.persistence.engine import sqlalchemy_url
from services.persistence.roles import APP, OWNER

LOCK_TIMEOUT = "5s"
"""A migration that cannot have its lock gives up, rather than queue everybody behind itself."""
STATEMENT_TIMEOUT = "10min"
HEAD = "head"
BASE = "base"


def upgrade(admin_url: str, revision: str = HEAD) -> None:
    """Migrate up to ``revision``; several processes may start at once, one of them does it."""
    with _migrating(admin_url) as (config, connection):
        command.upgrade(config, revision)
        connection.execute(text(f"GRANT SELECT ON alembic_version TO {APP}"))  # readiness asks for the version
        connection.commit()


def downgrade(admin_url: str, revision: str) -> None:
    """Migrate down to ``revision`` (``BASE``: nothing is left)."""
    with _migrating(admin_url) as (config, _):
        command.downgrade(config, revision)


def head_revision() -> str:
    """The newest version that this code knows."""
    head = ScriptDirectory.from_config(_config()).get_current_head()
    assert head is not None
    return head


def current_revision(connection: Connection) -> str | None:
    """The version of the schema behind ``connection``."""
    return MigrationContext.configure(connection).get_current_revision()


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(files("migrations")))
    config.set_main_option("path_separator", "os")
    return config


@contextmanager
def _migrating(admin_url: str) -> Iterator[tuple[Config, Connection]]:
    engine = create_engine(sqlalchemy_url(admin_url), poolclass=NullPool)
    try:
        with engine.connect() as connection:
            connection.execute(text("SELECT pg_advisory_lock(hashtext('tradewind migrations'))"))
            connection.execute(text(f"SET ROLE {OWNER}"))
            connection.execute(text(f"SET lock_timeout = '{LOCK_TIMEOUT}'"))
            connection.execute(text(f"SET statement_timeout = '{STATEMENT_TIMEOUT}'"))
            connection.commit()
            config = _config()
            config.attributes["connection"] = connection
            yield config, connection
    finally:
        engine.dispose()
