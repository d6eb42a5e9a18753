"""SQL of analysts over HTTP: what is asked, and what the warehouse says of itself."""

import math
from datetime import date, datetime
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, field_validator

from tradewind.errors import InvalidValue
from tradewind.wire.base import AtLeastOne, Open, Strict

MAX_SQL_LENGTH = 100_000
MAX_PARAMETERS = 1_000

ROW_LIMIT_HEADER = "Tradewind-Row-Limit"
"""How many rows the answer may have."""
TIME_LIMIT_HEADER = "Tradewind-Time-Limit-S"
"""How many seconds the query may run."""
CUT_METADATA = b"tradewind.cut"
"""Metadata of the last, empty batch of an Arrow stream that ends although there are more rows."""

QueryFormat = Literal["arrow", "csv", "json"]
Parameter = str | bool | int | float | None


class QueryRequest(Strict):
    """One statement with values for its ``$1``, ``$2``, …; ``limit`` cuts the answer after so many rows."""

    sql: Annotated[str, StringConstraints(min_length=1, max_length=MAX_SQL_LENGTH)]
    parameters: Annotated[tuple[Parameter, ...], Field(max_length=MAX_PARAMETERS)] = ()
    format: QueryFormat = "json"
    limit: AtLeastOne | None = None

    @field_validator("parameters")
    @classmethod
    def _refuse_zero_bytes(cls, parameters: tuple[Parameter, ...]) -> tuple[Parameter, ...]:
        """PostgreSQL's text ends where there is one: the query would answer for the beginning of the value."""
        for place, value in enumerate(parameters):
            if isinstance(value, str) and "\0" in value:
                raise InvalidValue(f"parameters.{place}", "cannot hold a zero byte")
        return parameters


def parse_integer(text: str) -> int | str:
    """Return a whole number of an answer in JSON; as its digits where no double holds it: Python reads only so many."""
    return int(text) if math.isfinite(float(text)) else text


def parse_number(text: str) -> float | str:
    """Return a number with decimals or an exponent of an answer in JSON; as its digits where no double holds it."""
    number = float(text)
    return number if math.isfinite(number) else text


class WarehouseColumn(Open):
    """A column: its type in PostgreSQL, and its meaning and unit."""

    name: str
    type: str
    comment: str


class WarehouseView(Open):
    """A view of the schema ``warehouse``."""

    name: str
    comment: str
    columns: tuple[WarehouseColumn, ...]


class WarehouseSchema(Open):
    """What can be queried, and under which limits."""

    views: tuple[WarehouseView, ...]
    row_limit: int
    time_limit_s: float


QueryOutcome = Literal["completed", "cut", "refused", "stopped", "too_large", "cancelled", "unavailable", "failed"]


class WarehouseQueryRun(Open):
    """A query that the service has run.

    ``sql`` : its text, cut after 4,000 of its ``characters``. ``rows``, ``bytes`` : sent until it ended. ``outcome`` :
    ``cut`` at its own limit, ``refused`` by the database, ``stopped`` at the time limit, ``too_large`` for another
    limit, ``cancelled`` as its client left. ``message``, ``sqlstate`` : the error, if there was one.
    """

    id: int
    started_at: datetime
    duration_s: float
    sql: str
    characters: int
    format: QueryFormat
    outcome: QueryOutcome
    rows: int
    bytes: int
    sqlstate: str | None = None
    message: str | None = None


class WarehouseQueryLog(Open):
    """Queries of the key that asks, the newest first; ``before`` the id of the last lists older ones."""

    queries: tuple[WarehouseQueryRun, ...]


class WarehouseCredentials(Open):
    """A read-only login of the tenant for tools that speak PostgreSQL."""

    dsn: str
    user: str
    password: str
    created_at: datetime


class WarehouseExport(Open):
    """A day of a view as it was exported last; ``current``: none of its rows has changed since."""

    day: date
    folder: str
    rows: int
    bytes: int
    sha256: str
    exported_at: datetime
    current: bool


class WarehouseExportFailure(Open):
    """When and why a day could not be written, in one line."""

    at: datetime
    reason: str


class WarehouseExports(Open):
    """Views as Parquet: where, which days of one of them, and how many days of all are still to be written.

    ``place`` : the folder or object store below which the folders of days are; absent where nothing is exported.
    ``failure`` : the last one; absent once a file has been written since.
    """

    place: str | None
    to_export: int
    failure: WarehouseExportFailure | None = None
    exports: tuple[WarehouseExport, ...]
