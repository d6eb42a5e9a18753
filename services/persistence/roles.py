"""The roles of the database, which exist once a cluster: the owner of the tables, the application, and readers.

The owner cannot log in: an administrator's session takes its part while it migrates. The application is an ordinary
role, because superusers and roles with BYPASSRLS would not be bound by row-level security. Readers are what analysts'
logins have in common; the owner's functions make those logins, one by one, and so the owner may make roles.
"""

from urllib.parse import quote, urlsplit, urlunsplit

import psycopg
from psycopg import sql

OWNER = "tradewind_owner"
APP = "tradewind_app"
READER = "tradewind_reader"

WRITERS_OF_LARGE_OBJECTS = (
    "lo_create(oid)", "lo_creat(integer)", "lo_from_bytea(oid, bytea)", "lo_put(oid, bigint, bytea)",
    "lowrite(integer, bytea)", "lo_truncate(integer, integer)", "lo_truncate64(integer, bigint)", "lo_unlink(oid)",
)  # fmt: skip
"""Functions by which any login can store data, unless they are taken away."""

TEMPORARY_FILES = "4GB"
"""What one session of an analyst may fill the disk with while it sorts and joins."""


def prepare_roles(admin_url: str, *, app_password: str | None = None) -> None:
    """Create the roles where they are missing, and let the owner make tables in this database.

    Parameters
    ----------
    admin_url : libpq URL of a superuser, or of a role with CREATEROLE that owns the database.
    app_password : for logins over TCP; through the embedded server's socket no password is asked.
    """
    with psycopg.connect(admin_url) as connection:
        # Several starts at once: roles are the cluster's, so the lock is taken in the one database all of them share.
        connection.execute("SELECT pg_advisory_xact_lock(hashtext('tradewind roles'))")
        _create(connection, OWNER, sql.SQL("NOLOGIN NOBYPASSRLS"))
        _create(connection, APP, sql.SQL("LOGIN NOBYPASSRLS"))
        _create(connection, READER, sql.SQL("NOLOGIN NOBYPASSRLS"))
        if app_password is not None:
            statement = sql.SQL("ALTER ROLE {} PASSWORD {}")
            connection.execute(statement.format(sql.Identifier(APP), sql.Literal(app_password)))
        connection.execute(sql.SQL("GRANT {} TO CURRENT_USER").format(sql.Identifier(OWNER)))
        connection.execute(sql.SQL("GRANT USAGE, CREATE ON SCHEMA public TO {}").format(sql.Identifier(OWNER)))
        connection.execute(sql.SQL("GRANT USAGE ON SCHEMA public TO {}").format(sql.Identifier(APP)))
        _let_nobody_else_in(connection)


def _let_nobody_else_in(connection: psycopg.Connection) -> None:
    """Take from PUBLIC, and so from readers, what it has by default: to name our tables, and to store data."""
    owner, app, reader = sql.Identifier(OWNER), sql.Identifier(APP), sql.Identifier(READER)
    database = sql.Identifier(connection.info.dbname)
    for statement in (
        sql.SQL("ALTER ROLE {} CREATEROLE").format(owner),
        sql.SQL("GRANT {} TO {} WITH ADMIN TRUE, INHERIT FALSE, SET FALSE").format(reader, owner),
        sql.SQL("GRANT CREATE ON DATABASE {} TO {}").format(database, owner),
        sql.SQL("REVOKE ALL ON SCHEMA public FROM PUBLIC"),
        sql.SQL("GRANT TEMPORARY ON DATABASE {} TO {}, {}").format(database, owner, app),
        sql.SQL("REVOKE TEMPORARY ON DATABASE {} FROM PUBLIC").format(database),
    ):
        connection.execute(statement)
    (superuser,) = connection.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user").fetchone() or (
        False,
    )
    if superuser:  # nobody else may; then an analyst can store large objects, hold our locks and fill the disk
        for function in WRITERS_OF_LARGE_OBJECTS:
            connection.execute(sql.SQL("REVOKE EXECUTE ON FUNCTION {} FROM PUBLIC").format(sql.SQL(function)))
        _keep_locks(connection)
        _bound_temporary_files(connection, database)


def _keep_locks(connection: psycopg.Connection) -> None:
    """Leave advisory locks to the service: whoever else held one of its own would have everybody wait."""
    owner, app = sql.Identifier(OWNER), sql.Identifier(APP)
    functions = connection.execute(
        "SELECT oid::regprocedure::text FROM pg_proc "
        "WHERE pronamespace = 'pg_catalog'::regnamespace AND proname ~ '^pg_(try_)?advisory_'"
    ).fetchall()
    for (name,) in functions:
        function = sql.SQL(name)
        connection.execute(sql.SQL("GRANT EXECUTE ON FUNCTION {} TO {}, {}").format(function, owner, app))
        connection.execute(sql.SQL("REVOKE EXECUTE ON FUNCTION {} FROM PUBLIC").format(function))


def _bound_temporary_files(connection: psycopg.Connection, database: sql.Identifier) -> None:
    """Of every login but the service's own, since a setting of a role is none of its members'."""
    limited = sql.SQL("ALTER DATABASE {} SET temp_file_limit = {}")
    connection.execute(limited.format(database, sql.Literal(TEMPORARY_FILES)))
    for role in (sql.Identifier(APP), sql.SQL("CURRENT_USER")):
        connection.execute(sql.SQL("ALTER ROLE {} IN DATABASE {} SET temp_file_limit = -1").format(role, database))


def app_url(admin_url: str, *, password: str | None = None) -> str:
    """The application's URL for the database of ``admin_url``: same place, other role."""
    return login_url(admin_url, APP, password=password)


def login_url(url: str, login: str, *, password: str | None = None) -> str:
    """The URL of another login for the database of ``url``."""
    parts = urlsplit(url)
    place = parts.netloc.rpartition("@")[2]
    who = login if password is None else f"{login}:{quote(password, safe='')}"
    return urlunsplit(parts._replace(netloc=f"{who}@{place}"))


def place_of(url: str, address: str) -> str:
    """The same login and database at another host and port."""
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
