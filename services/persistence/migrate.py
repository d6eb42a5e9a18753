"""Migrate the schema up or down to a version, as the tables' owner."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from io import StringIO
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.script import Script, ScriptDirectory
from sqlalchemy import Connection, create_engine, text
from sqlalchemy.pool import NullPool

from services.persistence.engine import CONNECT_PATIENCE_S, format_sqlalchemy_url
from services.persistence.failures import translate_failures
from services.persistence.patience import PATIENCE, Patience, explain_timeouts
from services.persistence.roles import APP, OWNER, build_app_url, prepare_roles
from services.persistence.schema import (
    format_compatibility,
    is_compatible,
    list_known_revisions,
    read_current_revision,
    read_head_revision,
)
from tradewind.errors import Conflict, Unavailable

HEAD = "head"
BASE = "base"
BASE_OF_ALL = "0"
"""Sorts before every revision, which begins with a year."""

TRIED_EVERY_S = 0.1
"""Time between two tries to become the one process that migrates."""


def prepare_database(admin_url: str, *, app_password: str | None = None, patience: Patience = PATIENCE) -> str:
    """Create the roles, bring the schema up to date, and return the application's URL."""
    with translate_failures():
        prepare_roles(admin_url, app_password=app_password, patience=patience)
        upgrade(admin_url, patience=patience)
    return build_app_url(admin_url, password=app_password)


def upgrade(admin_url: str, revision: str = HEAD, *, patience: Patience = PATIENCE) -> None:
    """Migrate up to ``revision``; of several processes that start at once, one does it.

    A later schema that supports this version stays as it is, so that the version before can come back.

    Raises
    ------
    Unavailable : a lock was not free in time, or a statement took too long; each migration ran completely or not at
        all.
    Conflict : the database has a schema that this code does not know and that does not support it.
    """
    with _open_migration(admin_url, patience) as (config, connection):
        if _is_of_a_later_version(connection):
            return
        command.upgrade(config, revision)
        connection.execute(text(f"GRANT SELECT ON alembic_version TO {APP}"))  # readiness reads the version
        _record_compatibility(connection)
        connection.commit()


def downgrade(admin_url: str, revision: str, *, patience: Patience = PATIENCE) -> None:
    """Migrate down to ``revision`` (``BASE``: nothing is left)."""
    with _open_migration(admin_url, patience) as (config, _):
        command.downgrade(config, revision)


def render_sql(revision: str) -> str:
    """Return the SQL of one migration up."""
    output = StringIO()
    config = _build_config()
    config.output_buffer = output
    before = ScriptDirectory.from_config(config).get_revision(revision).down_revision or BASE
    command.upgrade(config, f"{before}:{revision}", sql=True)
    return output.getvalue()


@dataclass(frozen=True, slots=True)
class Step:
    """The kind of a migration; ``None`` where it states none.

    Attributes
    ----------
    kind : expand, backfill or contract.
    since : of a contract, the migration from which on code no longer uses what is removed.
    """

    kind: str | None
    since: str | None


def list_steps() -> Mapping[str, Step]:
    """Return every migration, oldest first: revision → its kind."""
    return {
        each.revision: Step(getattr(each.module, "step", None), getattr(each.module, "since", None))
        for each in _list_oldest_first()
    }


def list_migration_files() -> Mapping[str, Path]:
    """Return every migration, oldest first: revision → its file."""
    return {each.revision: Path(each.path) for each in _list_oldest_first()}


def _list_oldest_first() -> Iterator[Script]:
    return reversed(list(ScriptDirectory.from_config(_build_config()).walk_revisions()))


def _record_compatibility(connection: Connection) -> None:
    """Record for earlier versions, which do not know the schema, whether it supports them.

    It does until something is removed: a contracting migration names in ``since`` the migration from which on code no
    longer uses it.
    """
    found = read_current_revision(connection) or BASE_OF_ALL
    oldest = max(
        (step.since for revision, step in list_steps().items() if revision <= found and step.since), default=BASE_OF_ALL
    )
    connection.execute(text(f"COMMENT ON TABLE alembic_version IS '{format_compatibility(found, oldest)}'"))


def _build_config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(files("migrations")))
    config.set_main_option("path_separator", "os")
    return config


def _is_of_a_later_version(connection: Connection) -> bool:
    found = read_current_revision(connection)
    if found is None or found in list_known_revisions():
        connection.commit()  # each migration has a transaction of its own
        return False
    if is_compatible(connection, found):
        return True
    raise Conflict(
        f"the database's schema {found} is not known to this version, whose newest is {read_head_revision()}: "
        "run the version that made it, or a newer one"
    )


def _wait_for_rivals(connection: Connection, patience: Patience) -> None:
    """Take the lock of migrations for this session.

    Between two tries no transaction is open: a rival that builds an index concurrently waits for the end of all others,
    and would wait for the one that waits for it.

    Raises
    ------
    Unavailable : another process has it for too long.
    """
    until_s = time.monotonic() + patience.statement_s
    while not connection.scalar(text("SELECT pg_try_advisory_lock(hashtext('tradewind migrations'))")):
        connection.commit()
        if time.monotonic() > until_s:
            raise Unavailable(
                f"another process that migrates took more than {patience.statement_s:g} s and still does; try again "
                "later, or with a greater TRADEWIND_MIGRATION_STATEMENT_TIMEOUT_S"
            )
        time.sleep(TRIED_EVERY_S)


@contextmanager
def _open_migration(admin_url: str, patience: Patience) -> Iterator[tuple[Config, Connection]]:
    engine = create_engine(
        format_sqlalchemy_url(admin_url), poolclass=NullPool, connect_args={"connect_timeout": CONNECT_PATIENCE_S}
    )
    try:
        with engine.connect() as connection, explain_timeouts(patience):
            _wait_for_rivals(connection, patience)
            connection.execute(text(patience.for_rivals))
            connection.execute(text(patience.for_locks))
            connection.execute(text(f"SET ROLE {OWNER}"))
            connection.commit()
            config = _build_config()
            config.attributes["connection"] = connection
            yield config, connection
    finally:
        engine.dispose()
