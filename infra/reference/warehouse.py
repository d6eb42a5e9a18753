"""Views of the warehouse, from the comments that a migrated database holds."""

from collections.abc import Sequence
from functools import cache
from typing import NoReturn

from infra.reference.markdown import format_code, format_page, format_table
from services.application.warehouse.query import QueryLimits, SchemaView
from services.embedded.postgres import EmbeddedPostgres
from services.persistence.migrate import upgrade
from services.persistence.roles import prepare_roles
from services.persistence.warehouse.views import Warehouse
from services.system_clock import SystemClock

INTRODUCTION = """\
The views that analysts query, each with the rows of its own tenant only. How to send a query:
[query the warehouse](../how-to/query-the-warehouse.md). Units stand before the colon and in the column's name."""


def render_warehouse() -> str:
    """Return the page of all views; it takes an embedded PostgreSQL of its own, and some seconds."""
    return format_page("Warehouse schema", INTRODUCTION, *(_format_view(each) for each in read_migrated_schema()))


@cache
def read_migrated_schema() -> Sequence[SchemaView]:
    """Return the views of a database with all migrations."""
    with EmbeddedPostgres.temporary(durable=False) as server:
        prepare_roles(server.url())
        upgrade(server.url())
        warehouse = Warehouse(
            server.url(), login=_refuse, note=_refuse, record=_refuse, clock=SystemClock(), limits=QueryLimits()
        )
        return warehouse.describe_schema()


def _refuse(*_: object) -> NoReturn:
    raise NotImplementedError("a description runs no query")


def _format_view(view: SchemaView) -> str:
    rows = ((format_code(each.name), each.type, each.comment) for each in view.columns)
    return f"## {view.name}\n\n{view.comment}\n\n" + format_table(("column", "type", "meaning"), rows)
