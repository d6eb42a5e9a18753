"""The roles of the database, which exist once in a cluster: the owner of the tables, the application, and readers.

The owner cannot log in: an administrator's session takes its role while it migrates. The application is an ordinary
role, because row-level security would not bind superusers and roles with BYPASSRLS. Readers are what analysts' logins
have in common; the owner's functions make those logins one by one, and so the owner may create roles.
"""

from collections.abc import Sequence
from urllib.parse import quote, urlsplit, urlunsplit

import psycopg
from psycopg import sql

from services.persistence.engine import CONNECT_PATIENCE_S
from services.persistence.patience import PATIENCE, Patience, explain_timeouts

OWNER = "tradewind_owner"
APP = "tradewind_app"
READER = "tradewind_reader"

TOOLS = "tradewind_tools"
"""Role of the logins of users' own programs, not of the service's queries: it may call `set_config`, as pgAdmin and
asyncpg do when they connect. In a query it would lift limits such as ``work_mem`` before the query that it is part
of.
"""

MAKING_LARGE_OBJECTS = "^(lo_(create|creat|from_bytea|put|truncate|truncate64|unlink)|lowrite)$"
"""Functions by which any login can store data, unless they are revoked."""

FOR_THE_SERVICE_ALONE = (
    "^(pg_(try_)?advisory_.*|pg_logical_emit_message|pg_notify|pg_export_snapshot|pg_current_xact_id|txid_current)$"
)
"""Functions that lock or fill what all sessions share, in a read-only transaction too: locks (the service's own order
rests on them; a foreign lock would block everybody), the write-ahead log, the queue of notifications, files of
snapshots, numbers of transactions.
"""

COUNTS_OF_TABLES = (
    "^pg_stat_get_((xact_)?(numscans|lastscan|tuples_.*|(live|dead)_tuples|blocks_.*)|(mod|ins)_since_.*|last_.*_time"
    "|(auto)?(vacuum|analyze)_count|total_.*_time|db_.*)$"
    "|^pg_(relation|table|indexes|total_relation|database|tablespace)_size$"
)
"""Functions that count rows, reads and bytes of a table, of all tenants together. The views pg_stat_* call them."""

TOTALS_OF_SERVER = (
    "^pg_stat_get_(wal|io|slru|archiver|bgwriter_.*|checkpointer_.*|buf_.*|recovery_prefetch)$"
    "|^pg_current_wal_(lsn|insert_lsn|flush_lsn)$|^pg_control_.*$|^pg_get_multixact_members$|^pg_lock_status$"
    "|^(pg_current_snapshot|txid_current_snapshot)$"
)
"""Functions that show how much all tenants together write, how many transactions they make, and what they lock."""

SESSIONS_OF_ALL = "^pg_stat_get_(activity|backend_.*|progress_info|wal_senders|subscription)$"
"""Functions that show every session: whose it is, the name of its program, how far its work is. The views
pg_stat_activity, pg_stat_ssl, pg_stat_gssapi and pg_stat_progress_* call them.
"""

COUNTS_IN_PG_CLASS = ("relpages", "reltuples", "relallvisible", "relallfrozen")
"""Columns of pg_class that do so."""

MAINTENANCE = ("postgres", "template1")
"""Databases that a server has from the beginning, open to every role."""

CLIENT_IS_GONE = {
    "tcp_keepalives_idle": "10s",
    "tcp_keepalives_interval": "5s",
    "tcp_keepalives_count": "4",
    "tcp_user_timeout": "30s",
}
"""End a session whose host fell silent after half a minute, whether it waits or is written to. By default the locks of
a worker that was cut off, and so its link and its release, would be held for two hours.
"""

STATISTICS_READER = "pg_read_all_stats"
"""PostgreSQL's own role for monitoring; pg_monitor is a member."""

TEMPORARY_FILES = "4GB"
"""Disk space for temporary files of one session of an analyst, while it sorts and joins."""

LOG_OF_ANALYSTS = {"log_min_messages": "fatal", "log_min_error_statement": "panic"}
"""What sessions of analysts write to the server's log, which they may not change: that they were ended.
Errors, with statements and values of any length, and plans (``debug_print_plan``) would fill the disk.
"""

LOG_OF_THE_SERVICE = {"log_min_messages": "warning", "log_min_error_statement": "error"}
"""PostgreSQL's own defaults."""


def prepare_roles(admin_url: str, *, app_password: str | None = None, patience: Patience = PATIENCE) -> None:
    """Create missing roles, and let the owner create tables in this database.

    Parameters
    ----------
    admin_url : libpq URL of a superuser, or of a role with CREATEROLE that owns the database.
    app_password : for logins over TCP; the embedded server's socket needs no password.
    """
    with explain_timeouts(patience), psycopg.connect(admin_url, connect_timeout=CONNECT_PATIENCE_S) as connection:
        connection.execute(patience.for_rivals.encode())
        # Several starts at once: roles belong to the cluster, so the lock is taken in the one database that all
        # share.
        connection.execute("SELECT pg_advisory_xact_lock(hashtext('tradewind roles'))")
        connection.execute(patience.for_locks.encode())
        _create(connection, OWNER, sql.SQL("NOLOGIN NOBYPASSRLS"))
        _create(connection, APP, sql.SQL("LOGIN NOBYPASSRLS"))
        _create(connection, READER, sql.SQL("NOLOGIN NOBYPASSRLS"))
        _create(connection, TOOLS, sql.SQL("NOLOGIN NOBYPASSRLS"))
        if app_password is not None:
            statement = sql.SQL("ALTER ROLE {} PASSWORD {}")
            connection.execute(statement.format(sql.Identifier(APP), sql.Literal(app_password)))
        connection.execute(sql.SQL("GRANT {} TO CURRENT_USER").format(sql.Identifier(OWNER)))
        connection.execute(sql.SQL("GRANT USAGE, CREATE ON SCHEMA public TO {}").format(sql.Identifier(OWNER)))
        connection.execute(sql.SQL("GRANT USAGE ON SCHEMA public TO {}").format(sql.Identifier(APP)))
        _let_nobody_else_in(connection)


def _let_nobody_else_in(connection: psycopg.Connection) -> None:
    """Revoke from PUBLIC, and so from readers, the default rights to name our tables and to store data."""
    owner, app, reader, tools = (sql.Identifier(role) for role in (OWNER, APP, READER, TOOLS))
    database = sql.Identifier(connection.info.dbname)
    for statement in (
        sql.SQL("ALTER ROLE {} CREATEROLE").format(owner),
        sql.SQL("GRANT {}, {} TO {} WITH ADMIN TRUE, INHERIT FALSE, SET FALSE").format(reader, tools, owner),
        sql.SQL("GRANT CREATE ON DATABASE {} TO {}").format(database, owner),
        sql.SQL("REVOKE ALL ON SCHEMA public FROM PUBLIC"),
        sql.SQL("GRANT TEMPORARY ON DATABASE {} TO {}, {}").format(database, owner, app),
        sql.SQL("REVOKE TEMPORARY ON DATABASE {} FROM PUBLIC").format(database),
    ):
        connection.execute(statement)
    for setting, value in CLIENT_IS_GONE.items():
        bound = sql.SQL("ALTER DATABASE {} SET {} = {}")
        connection.execute(bound.format(database, sql.Identifier(setting), sql.Literal(value)))
    (superuser,) = connection.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user").fetchone() or (
        False,
    )
    if superuser:  # nobody else may; an analyst can then store large objects, hold our locks and fill the disk
        _keep_functions(connection, MAKING_LARGE_OBJECTS, to=())
        _keep_functions(connection, FOR_THE_SERVICE_ALONE, to=(OWNER, APP))
        _keep_functions(connection, "^set_config$", to=(OWNER, APP, TOOLS))
        _keep_functions(connection, COUNTS_OF_TABLES, to=(OWNER, APP, STATISTICS_READER))
        _keep_functions(connection, SESSIONS_OF_ALL, to=(OWNER, APP, STATISTICS_READER))
        _keep_functions(connection, TOTALS_OF_SERVER, to=(OWNER, APP, STATISTICS_READER))
        _keep_counts_in_pg_class(connection)
        for statement in (  # DO runs what may use up a number of transactions in each turn of a loop
            sql.SQL("GRANT USAGE ON LANGUAGE plpgsql TO {}, {}").format(owner, app),
            sql.SQL("REVOKE USAGE ON LANGUAGE plpgsql FROM PUBLIC"),
            sql.SQL("GRANT pg_use_reserved_connections TO {}").format(app),  # whatever analysts have open
            # The owner grants it to the logins by which the service runs queries.
            sql.SQL("GRANT pg_use_reserved_connections TO {} WITH ADMIN TRUE, INHERIT FALSE, SET FALSE").format(owner),
        ):
            connection.execute(statement)
        _bound_temporary_files(connection, database)
        _bound_log(connection, database)
        _close_maintenance(connection)


def _keep_functions(connection: psycopg.Connection, names: str, *, to: Sequence[str]) -> None:
    """Allow PostgreSQL's functions of these names, a regular expression, only to these roles."""
    functions = connection.execute(
        "SELECT oid::regprocedure::text FROM pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace AND proname ~ %s",
        [names],
    ).fetchall()
    for (name,) in functions:
        function = sql.SQL(name)
        for role in to:
            connection.execute(sql.SQL("GRANT EXECUTE ON FUNCTION {} TO {}").format(function, sql.Identifier(role)))
        connection.execute(sql.SQL("REVOKE EXECUTE ON FUNCTION {} FROM PUBLIC").format(function))


def _keep_counts_in_pg_class(connection: psycopg.Connection) -> None:
    """Leave PUBLIC, and so readers, only the columns of pg_class that describe a table, not how many rows it has."""
    is_open = connection.execute("SELECT has_table_privilege('public', 'pg_class', 'SELECT')").fetchone()
    if is_open == (False,):
        return
    columns = connection.execute(
        "SELECT attname FROM pg_attribute WHERE attrelid = 'pg_class'::regclass AND attname <> ALL (%s)"
        " AND (attnum > 0 OR attname = ANY (%s)) ORDER BY attnum",
        [list(COUNTS_IN_PG_CLASS), ["tableoid", "ctid", "xmin"]],
    ).fetchall()
    shown = sql.SQL(", ").join(sql.Identifier(name) for (name,) in columns)
    for role in (OWNER, APP, STATISTICS_READER):
        connection.execute(sql.SQL("GRANT SELECT ON pg_catalog.pg_class TO {}").format(sql.Identifier(role)))
    connection.execute("REVOKE SELECT ON pg_catalog.pg_class FROM PUBLIC")  # and with it, of every column
    connection.execute(sql.SQL("GRANT SELECT ({}) ON pg_catalog.pg_class TO PUBLIC").format(shown))


def _close_maintenance(connection: psycopg.Connection) -> None:
    """Keep readers out of databases where these rights are not revoked; a server with others' databases is left
    alone.
    """
    databases = {name for (name,) in connection.execute("SELECT datname FROM pg_database")}
    if databases - {connection.info.dbname, "template0", *MAINTENANCE}:
        return
    for name in databases.intersection(MAINTENANCE) - {connection.info.dbname}:
        database = sql.Identifier(name)
        connection.execute(sql.SQL("GRANT CONNECT ON DATABASE {} TO pg_monitor").format(database))
        connection.execute(sql.SQL("REVOKE CONNECT ON DATABASE {} FROM PUBLIC").format(database))


def _bound_temporary_files(connection: psycopg.Connection, database: sql.Identifier) -> None:
    """Limit temporary files of every login except the service's own: members do not inherit a setting of a role."""
    limited = sql.SQL("ALTER DATABASE {} SET temp_file_limit = {}")
    connection.execute(limited.format(database, sql.Literal(TEMPORARY_FILES)))
    for role in (sql.Identifier(APP), sql.SQL("CURRENT_USER")):
        connection.execute(sql.SQL("ALTER ROLE {} IN DATABASE {} SET temp_file_limit = -1").format(role, database))


def _bound_log(connection: psycopg.Connection, database: sql.Identifier) -> None:
    """Keep what analysts send out of the server's log; the service's own sessions write to it as by default."""
    for setting, value in LOG_OF_ANALYSTS.items():
        limited = sql.SQL("ALTER DATABASE {} SET {} = {}")
        connection.execute(limited.format(database, sql.Identifier(setting), sql.Literal(value)))
    for role in (sql.Identifier(APP), sql.SQL("CURRENT_USER")):
        for setting, value in LOG_OF_THE_SERVICE.items():
            usual = sql.SQL("ALTER ROLE {} IN DATABASE {} SET {} = {}")
            connection.execute(usual.format(role, database, sql.Identifier(setting), sql.Literal(value)))


def build_app_url(admin_url: str, *, password: str | None = None) -> str:
    """Return the application's URL for the database of ``admin_url``: same place, other role."""
    return build_login_url(admin_url, APP, password=password)


def build_login_url(url: str, login: str, *, password: str | None = None) -> str:
    """Return the URL of another login for the database of ``url``."""
    parts = urlsplit(url)
    place = parts.netloc.rpartition("@")[2]
    who = login if password is None else f"{login}:{quote(password, safe='')}"
    return urlunsplit(parts._replace(netloc=f"{who}@{place}"))


def replace_address(url: str, address: str) -> str:
    """Return the same login and database at another host and port."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=f"{parts.netloc.rpartition('@')[0]}@{address}", query=""))


def _create(connection: psycopg.Connection, role: str, attributes: sql.SQL) -> None:
    found = connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [role]).fetchone()
    if found is None:
        try:
            with connection.transaction():
                connection.execute(sql.SQL("CREATE ROLE {} {}").format(sql.Identifier(role), attributes))
        except (psycopg.errors.DuplicateObject, psycopg.errors.UniqueViolation):
            return  # a rival start in another database of the cluster was first
