"""Connections of the application to PostgreSQL."""

import orjson
from sqlalchemy import Engine, create_engine
from sqlalchemy.pool import NullPool

from services.persistence.address import parse_libpq_url
from services.persistence.patience import Patience

POOL_SIZE = 10
MAX_OVERFLOW = 20
POOL_PATIENCE_S = 10.0
CONNECT_PATIENCE_S = 5

STAGES_IN = "-c temp_buffers=1MB"
"""Memory of a connection for temporary tables, in which rows are staged; larger ones go to disk.

The default of 8 MB fills slowly as connections are used in turn, and looks like a memory leak.
"""

SERVER_IS_GONE = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 4, "tcp_user_timeout": 30_000}
"""End a connection whose server fell silent after half a minute, as in the other direction (see ``roles``).

By default, a client whose answer was lost on its way waits for two hours.
"""


def format_sqlalchemy_url(libpq_url: str) -> str:
    """Return the URL of the psycopg dialect for a libpq URL."""
    _, separator, rest = libpq_url.partition("://")
    return f"postgresql+psycopg{separator}{rest}"


def create_pooled_engine(libpq_url: str, patience: Patience | None = None) -> Engine:
    """Return an engine for requests and tasks: connections are reused, and checked before each use.

    ``patience`` : limits of locks and statements; ``None``: no limits, as fits need it.
    """
    return create_engine(
        format_sqlalchemy_url(libpq_url),
        pool_size=POOL_SIZE,
        max_overflow=MAX_OVERFLOW,
        pool_timeout=POOL_PATIENCE_S,
        pool_pre_ping=True,
        pool_use_lifo=True,  # use as few connections as the load needs; each has caches of its own on the server
        hide_parameters=True,  # errors are logged
        json_deserializer=orjson.loads,  # lattices have thousands of numbers
        connect_args=_build_connect_arguments(libpq_url, patience) | {"application_name": "tradewind"},
    )


def create_unpooled_engine(libpq_url: str, patience: Patience | None = None) -> Engine:
    """Return an engine for the rare statement that needs a transaction of its own while another one is open.

    From the pool it could wait for ever for the very requests that wait for it.
    """
    return create_engine(
        format_sqlalchemy_url(libpq_url),
        poolclass=NullPool,
        hide_parameters=True,
        connect_args=_build_connect_arguments(libpq_url, patience),
    )


def _build_connect_arguments(libpq_url: str, patience: Patience | None) -> dict[str, object]:
    """Return the arguments of a connection; options of the URL come last, and so prevail."""
    url_options = parse_libpq_url(libpq_url).get("options", "")
    bounds = [] if patience is None else [patience.as_options]
    options = " ".join([STAGES_IN, *bounds, url_options]).rstrip()
    return {"connect_timeout": CONNECT_PATIENCE_S, **SERVER_IS_GONE, "options": options}
