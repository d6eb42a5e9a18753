"""Record copies of the database in it, so that monitoring notices when the next one is missing."""

from datetime import datetime

import psycopg
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import ProgrammingError

from services.persistence.engine import create_unpooled_engine
from services.persistence.failures import translate_failures
from services.persistence.tables import database_copies
from tradewind.errors import Unavailable


def record_copy(admin_url: str, *, ended_at: datetime, size_bytes: int) -> None:
    """Record a copy of the database in it.

    Raises
    ------
    Unavailable : it is unreachable or takes no data, has no table for it (another database, an earlier version), or the
        role may not write to it.
    """
    statement = insert(database_copies).values(ended_at=ended_at, bytes=size_bytes).on_conflict_do_nothing()
    try:
        with translate_failures(), create_unpooled_engine(admin_url).begin() as connection:
            connection.execute(statement)
    except ProgrammingError as error:
        if isinstance(error.orig, (psycopg.errors.UndefinedTable, psycopg.errors.InsufficientPrivilege)):
            raise Unavailable("it has no table database_copies for this role") from None
        raise
