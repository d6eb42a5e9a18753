"""What sessions write to the log of the database's server, which is on the disk of the database."""

from uuid import uuid4

import psycopg
import pytest

from services.embedded.postgres import EmbeddedPostgres
from tests.integration.warehouse.test_readers import dsn, postgres, provider

__all__ = ["dsn", "postgres", "provider"]


def test_a_reader_writes_nothing_to_the_log_of_the_server(dsn: str, postgres: EmbeddedPostgres) -> None:
    """Statements and values of any length, and plans: they would fill the disk of the database."""
    log, mark = postgres.folder / "log", f"mark {uuid4()}"
    with psycopg.connect(dsn, autocommit=True) as session:
        session.execute("SET default_transaction_read_only = off")
        session.execute("SET debug_print_plan = on")
        session.execute("SELECT %s", [mark])
        for statement in ("SELECT %s::int", "SELECT 1 / 0, %s"):
            with pytest.raises(psycopg.errors.DataError):
                session.execute(statement, [mark])  # type: ignore[call-overload]
        for setting in ("log_min_messages = debug1", "log_min_error_statement = error"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                session.execute(f"SET {setting}")  # type: ignore[call-overload]
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                session.execute(f"ALTER ROLE CURRENT_USER SET {setting}")  # type: ignore[call-overload]
        session.execute("ALTER ROLE CURRENT_USER RESET ALL")
    with psycopg.connect(dsn) as session, pytest.raises(psycopg.errors.DivisionByZero):
        session.execute("SELECT 1 / 0, %s", [mark])
    assert mark not in log.read_text(encoding="utf-8", errors="replace")


def test_the_service_writes_errors_to_the_log_of_the_server(database_url: str, postgres: EmbeddedPostgres) -> None:
    mark = f"mark {uuid4()}"
    with psycopg.connect(database_url) as session, pytest.raises(psycopg.errors.DataError):
        session.execute("SELECT %s::int", [mark])
    assert mark in (postgres.folder / "log").read_text(encoding="utf-8", errors="replace")
