"""Copies of the database, which it is told of: those who watch the service hear of the next that does not come."""

from datetime import datetime

import psycopg
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import ProgrammingError

from services.persistence.engine import create_unpooled_engine
from services.persistence.failures import translate_failures
from services.persistence.tables import database_copies
from tradewind.errors import Unavailable


def record_copy(admin_url: str, *, ended_at: datetime, size_bytes: int) -> None:
    """Tell the database of a copy of it.

    Raises
    ------
    Unavailable : it is away or takes no data, has no table for it (another database, a version of before), or the role
        may not write to that.
    """
    told = insert(database_copies).values(ended_at=ended_at, bytes=size_bytes).on_conflict_do_nothing()
    try:
        with translate_failures(), create_unpooled_engine(admin_url).begin() as connection:
            connection.execute(told)
    except ProgrammingError as error:
        if isinstance(error.orig, (psycopg.errors.UndefinedTable, psycopg.errors.InsufficientPrivilege)):
            raise Unavailable("it has no table database_copies for this role") from None
        raise
