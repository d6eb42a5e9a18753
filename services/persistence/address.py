"""Addresses of databases, as libpq takes them."""

import psycopg
from psycopg.conninfo import conninfo_to_dict

from tradewind.errors import InvalidValue


def parse_libpq_url(libpq_url: str) -> dict[str, str]:
    """Return the parameters of the URL in ``DATABASE_URL``.

    Raises
    ------
    InvalidValue : libpq does not understand it; the message names the variable, and no password.
    """
    try:
        found = conninfo_to_dict(libpq_url)
    except psycopg.ProgrammingError as wrong:
        raise InvalidValue("DATABASE_URL", f"must be an address that libpq understands: {str(wrong).strip()}") from None
    return {name: str(value) for name, value in found.items()}
