"""Whether the database is usable: it answers, has a schema that this code knows, and takes data."""

from functools import partial

import psycopg
from sqlalchemy import Engine, text
from sqlalchemy.exc import ProgrammingError

from services.persistence.engine import create_unpooled_engine
from services.persistence.failures import translate_failures
from services.persistence.schema import require_known
from services.persistence.server_certificate import has_expired
from tradewind.errors import Unavailable

_TAKES_DATA = text("CREATE TEMPORARY TABLE taking_data ON COMMIT DROP AS SELECT 1 AS row")
"""Needs a page on the disk of the database, and a server that is no replica; rolled back."""


def require_ready(engine: Engine) -> None:
    """Require a database that answers, has a known schema and takes data.

    Raises
    ------
    Unavailable : with what is missing.
    """
    try:
        with translate_failures(), engine.connect() as connection:
            require_known(connection)
            connection.execute(_TAKES_DATA)
    except ProgrammingError as error:
        if isinstance(error.orig, psycopg.errors.InsufficientPrivilege):  # this happens during the first migration
            raise Unavailable("the application's role has no rights in the database: run the migrations") from None
        raise
    except Unavailable as away:
        if has_expired(away.__cause__):
            raise Unavailable("the database does not answer now (its certificate has expired)") from away.__cause__
        raise


def create_readiness_check(database_url: str) -> "partial[None]":
    """Return the same check for a database that this process has no other connection to."""
    return partial(require_ready, create_unpooled_engine(database_url))
