"""Brings the schema up (or down) to a version, as the tables' owner."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.resources import files
from io import StringIO

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine, text
from sqlalchemy.exc import ProgrammingError
from sqlalchemy.pool import NullPool

from services.persistence.engine import CONNECT_PATIENCE_S, sqlalchemy_url, unpooled_engine
from services.persistence.failures import unavailable_when_away
from services.persistence.patience import PATIENCE, Patience, told_apart
from services.persistence.roles import APP, OWNER
from tradewind.errors import Conflict

HEAD = "head"
BASE = "base"


def upgrade(admin_url: str, revision: str = HEAD, *, patience: Patience = PATIENCE) -> None:
    """Migrate up to ``revision``; several processes may start at once, one of them does it.

    Raises
    ------
    Unavailable : a lock was not had in time, or a statement took too long; each migration was made whole or not at all.
    Conflict : the database has a schema that this code does not know.
    """
    with _migrating(admin_url, patience) as (config, connection):
        _refuse_unknown(connection)
        command.upgrade(config, revision)
        connection.execute(text(f"GRANT SELECT ON alembic_version TO {APP}"))  # readiness asks for the version
        connection.commit()


def downgrade(admin_url: str, revision: str, *, patience: Patience = PATIENCE) -> None:
    """Migrate down to ``revision`` (``BASE``: nothing is left)."""
    with _migrating(admin_url, patience) as (config, _):
        command.downgrade(config, revision)


def head_revision() -> str:
    """The newest version that this code knows."""
    head = ScriptDirectory.from_config(_config()).get_current_head()
    assert head is not None
    return head


def sql_of(revision: str) -> str:
    """What one migration up would do, as SQL."""
    output = StringIO()
    config = _config()
    config.output_buffer = output
    before = ScriptDirectory.from_config(config).get_revision(revision).down_revision or BASE
    command.upgrade(config, f"{before}:{revision}", sql=True)
    return output.getvalue()


def steps() -> Mapping[str, str | None]:
    """What each migration says it is, oldest first: revision → step; None if it says nothing."""
    newest_first = ScriptDirectory.from_config(_config()).walk_revisions()
    found = {each.revision: getattr(each.module, "step", None) for each in newest_first}
    return dict(reversed(found.items()))


def current_revision(connection: Connection) -> str | None:
    """The version of the schema behind ``connection``."""
    return MigrationContext.configure(connection).get_current_revision()


def has_come(database_url: str) -> bool:
    """Whether the schema that this code was written for is there, or one that came after it.

    Raises
    ------
    Unavailable : the database does not answer, or not to this login.
    """
    with unavailable_when_away(), unpooled_engine(database_url).connect() as connection:
        try:
            found = current_revision(connection)
        except ProgrammingError:  # while the first migrations run, the application may not read the version
            return False
    return found == head_revision() or (found is not None and found not in steps())


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(files("migrations")))
    config.set_main_option("path_separator", "os")
    return config


def _refuse_unknown(connection: Connection) -> None:
    found = current_revision(connection)
    connection.commit()  # each migration has a transaction of its own
    if found is not None and found not in steps():
        raise Conflict(
            f"the database's schema {found} is not known to this version, whose newest is {head_revision()}: "
            "run the version that made it, or a newer one"
        )


@contextmanager
def _migrating(admin_url: str, patience: Patience) -> Iterator[tuple[Config, Connection]]:
    engine = create_engine(
        sqlalchemy_url(admin_url), poolclass=NullPool, connect_args={"connect_timeout": CONNECT_PATIENCE_S}
    )
    try:
        with engine.connect() as connection, told_apart(patience):
            connection.execute(text(patience.for_rivals))
            connection.execute(text("SELECT pg_advisory_lock(hashtext('tradewind migrations'))"))
            connection.execute(text(patience.for_locks))
            connection.execute(text(f"SET ROLE {OWNER}"))
            connection.commit()
            config = _config()
            config.attributes["connection"] = connection
            yield config, connection
    finally:
        engine.dispose()
