"""Rows of every table: those that the service stored itself, and one made up for each table that it left empty."""

from typing import Any

import psycopg
from psycopg import sql
from psycopg.types.json import Jsonb

TABLES = """
    SELECT relname FROM pg_class
     WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
       AND relname <> 'alembic_version' ORDER BY oid
"""
"""As they were made: what a row refers to comes before it."""

COLUMNS = """
    SELECT a.attname, format_type(a.atttypid, NULL), a.attnotnull AND NOT a.atthasdef AND a.attidentity = '',
           f.confrelid::regclass::text
      FROM pg_attribute a
      LEFT JOIN pg_constraint f ON f.conrelid = a.attrelid AND f.contype = 'f' AND f.conkey = ARRAY[a.attnum]
     WHERE a.attrelid = to_regclass(%s) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""

COUNTED = "SELECT attname FROM pg_attribute WHERE attrelid = to_regclass(%s) AND attidentity <> ''"
"""Columns with numbers of the database's own."""

OF_A_TYPE = {
    "text": "a",
    "uuid": "00000000-0000-7000-8000-00000000000a",
    "bytea": "\\x" + "00" * 32,
    "date": "2026-03-01",
    "timestamp with time zone": "2026-03-01T00:00:00Z",
    "boolean": True,
    "jsonb": {},
}
A_NUMBER = 1
SAID = {  # what a constraint or a reader asks for
    ("audit_log", "actor_kind"): "service",
    ("device_profiles", "content"): {
        "producer": "a",
        "model": "b",
        "idle_w": {"value": 1, "origin": "calibrated", "source": "c"},
    },
    ("limits", "scope"): "tenant",
    ("limits", "concurrency"): 16,
    ("own_cuts", "tier_ids"): [OF_A_TYPE["uuid"]],
    ("price_books", "currency"): "EUR",
    ("price_books", "energy_basis"): "total",
    ("warehouse_logins", "kind"): "reader",
}


IN_MONTHS = {
    "transfer_logs": "ensure_log_partitions",
    "transfer_samples": "ensure_sample_partitions",
    "quotes": "ensure_quote_partitions",
}


def _make_month(connection: psycopg.Connection, table: str) -> None:
    if table in IN_MONTHS:
        connection.execute(f"SELECT {IN_MONTHS[table]}(ARRAY['{OF_A_TYPE['date']}']::date[])")


def tables(connection: psycopg.Connection) -> list[str]:
    return [name for (name,) in connection.execute(TABLES)]


def fill_empty_tables(connection: psycopg.Connection) -> None:
    """Give each table without rows one, which belongs to rows of the tables before it.

    All are of one transaction: a statement is complete once it is issued.
    """
    with connection.transaction():
        for table in tables(connection):
            _fill_if_empty(connection, table)


def _fill_if_empty(connection: psycopg.Connection, table: str) -> None:
    name = sql.Identifier(table)
    if connection.execute(sql.SQL("SELECT FROM {} LIMIT 1").format(name)).fetchone() is not None:
        return
    _make_month(connection, table)
    row = made_up(connection, table)
    columns = sql.SQL(", ").join(map(sql.Identifier, row))
    insert = sql.SQL("INSERT INTO {0} ({1}) SELECT {1} FROM jsonb_populate_record(NULL::{0}, %s)")
    connection.execute(insert.format(name, columns), [Jsonb(row)])


def made_up(connection: psycopg.Connection, table: str) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for column, kind, wanted, referred in connection.execute(COLUMNS, [table]).fetchall():
        if (table, column) in SAID:
            row[column] = SAID[table, column]
        elif wanted and referred is not None:
            key = sql.SQL("SELECT id FROM {} ORDER BY 1 LIMIT 1").format(sql.Identifier(referred))
            (row[column],) = connection.execute(key).fetchone() or (None,)
            row[column] = str(row[column])
        elif wanted and column == "tenant_id":
            (tenant_id,) = connection.execute("SELECT id FROM tenants ORDER BY 1 LIMIT 1").fetchone() or (None,)
            row[column] = str(tenant_id)
        elif wanted:
            row[column] = [] if kind.endswith("[]") else OF_A_TYPE.get(kind, A_NUMBER)
    return row


def every_row(connection: psycopg.Connection) -> dict[str, list[dict[str, Any]]]:
    """Table → its rows, in the order in which they may be stored."""
    read = "SELECT to_jsonb(t) FROM {} t"
    return {
        name: [row for (row,) in connection.execute(sql.SQL(read).format(sql.Identifier(name)))]
        for name in tables(connection)
    }


def store(connection: psycopg.Connection, table: str, rows: list[dict[str, Any]]) -> list[str]:
    """Store rows with those of their columns that the table has by now; the names of these."""
    _make_month(connection, table)
    columns = [name for name, *_ in connection.execute(COLUMNS, [table]).fetchall() if rows and name in rows[0]]
    insert = sql.SQL(
        "INSERT INTO {0} ({1}) OVERRIDING SYSTEM VALUE SELECT {1} FROM jsonb_populate_record(NULL::{0}, %s)"
        " ON CONFLICT DO NOTHING"
    ).format(sql.Identifier(table), sql.SQL(", ").join(map(sql.Identifier, columns)))
    for row in rows:
        connection.execute(insert, [Jsonb(row)])
    for (column,) in connection.execute(COUNTED, [table]).fetchall():
        counted = sql.SQL("SELECT setval(pg_get_serial_sequence({}, {}), greatest(max({}), 1)) FROM {}")
        connection.execute(counted.format(table, column, sql.Identifier(column), sql.Identifier(table)))
    return columns
