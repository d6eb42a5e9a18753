"""Indexes and values are added to tables in use, of a migration's own tools, on real PostgreSQL."""

from collections.abc import Callable, Iterator

import psycopg
import pytest
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import create_engine
from sqlalchemy.pool import NullPool

from migrations.large_tables import add_index, fill
from services.persistence.engine import format_sqlalchemy_url

VALID = """
    SELECT relname FROM pg_class JOIN pg_index ON indexrelid = pg_class.oid
     WHERE indisvalid AND relname LIKE %s ORDER BY 1
"""


@pytest.fixture
def admin(admin_database_url: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(admin_database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def migrated(admin_database_url: str) -> Callable[[Callable[[], None]], None]:
    """Does something as a migration does it."""

    def run(change: Callable[[], None]) -> None:
        engine = create_engine(format_sqlalchemy_url(admin_database_url), poolclass=NullPool)
        with engine.connect() as connection:
            context = MigrationContext.configure(connection, opts={"transaction_per_migration": True})
            with context.begin_transaction(_per_migration=True), Operations.context(context):
                change()

    return run


def valid(admin: psycopg.Connection, pattern: str) -> list[str]:
    return [name for (name,) in admin.execute(VALID, [pattern])]


def test_each_partition_gets_its_index_and_later_months_have_it_by_themselves(admin, migrated):
    admin.execute("SELECT ensure_log_partitions(ARRAY['2026-01-01', '2026-02-01']::date[])")
    for _ in range(2):  # the second time there is nothing to do
        migrated(lambda: add_index("transfer_logs_codec_idx", "transfer_logs", "(codec)"))
    assert valid(admin, "transfer_logs%codec_idx") == [
        "transfer_logs_2026_01_codec_idx",
        "transfer_logs_2026_02_codec_idx",
        "transfer_logs_codec_idx",
    ]
    admin.execute("SELECT ensure_log_partitions(ARRAY['2026-03-01']::date[])")
    assert len(valid(admin, "transfer_logs%codec_idx")) == 4


def test_index_of_a_broken_off_build_is_built_again(admin, migrated):
    admin.execute("CREATE TABLE doubled AS SELECT 1 AS a FROM generate_series(1, 2)")
    with pytest.raises(psycopg.errors.UniqueViolation):
        admin.execute("CREATE UNIQUE INDEX CONCURRENTLY doubled_a_idx ON doubled (a)")
    assert valid(admin, "doubled_a_idx") == []
    admin.execute("DELETE FROM doubled WHERE ctid = (SELECT min(ctid) FROM doubled)")
    migrated(lambda: add_index("doubled_a_idx", "doubled", "(a)", unique=True))
    assert valid(admin, "doubled_a_idx") == ["doubled_a_idx"]


def test_rows_are_filled_in_portions_that_are_each_committed(admin, migrated):
    admin.execute("CREATE TABLE filled AS SELECT n, NULL::bigint AS by_transaction FROM generate_series(1, 10) n")
    migrated(
        lambda: fill(
            "UPDATE filled SET by_transaction = pg_current_xact_id()::text::bigint"
            " WHERE n IN (SELECT n FROM filled WHERE by_transaction IS NULL LIMIT 4)"
        )
    )
    portions = admin.execute("SELECT count(*) FROM filled GROUP BY by_transaction ORDER BY 1 DESC").fetchall()
    assert portions == [(4,), (4,), (2,)]
