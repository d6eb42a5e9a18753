"""The two roles of the database, which exist once a cluster: the owner of the tables and the application.

The owner cannot log in: an administrator's session takes its part while it migrates. The application is an ordinary
role, because superusers and roles with BYPASSRLS would not be bound by row-level security.
"""

from urllib.parse import quote, urlsplit, urlunsplit

import psycopg
from psycopg import sql

OWNER = "tradewind_owner"
APP = "tradewind_app"


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
        if app_password is not None:
            statement = sql.SQL("ALTER ROLE {} PASSWORD {}")
            connection.execute(statement.format(sql.Identifier(APP), sql.Literal(app_password)))
        connection.execute(sql.SQL("GRANT {} TO CURRENT_USER").format(sql.Identifier(OWNER)))
        connection.execute(sql.SQL("GRANT USAGE, CREATE ON SCHEMA public TO {}").format(sql.Identifier(OWNER)))
        connection.execute(sql.SQL("GRANT USAGE ON SCHEMA public TO {}").format(sql.Identifier(APP)))


def app_url(admin_url: str, *, password: str | None = None) -> str:
    """The application's URL for the database of ``admin_url``: same place, other role."""
    parts = urlsplit(admin_url)
    place = parts.netloc.rpartition("@")[2]
    login = APP if password is None else f"{APP}:{quote(password, safe='')}"
    return urlunsplit(parts._replace(netloc=f"{login}@{place}"))


def _create(connection: psycopg.Connection, role: str, attributes: sql.SQL) -> None:
    found = connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [role]).fetchone()
    if found is None:
        try:
            with connection.transaction():
                connection.execute(sql.SQL("CREATE ROLE {} {}").format(sql.Identifier(role), attributes))
        except (psycopg.errors.DuplicateObject, psycopg.errors.UniqueViolation):
            return  # a rival start in another database of the cluster was first
