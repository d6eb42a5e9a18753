"""Views of the warehouse, from the comments that a migrated database holds."""

from collections.abc import Iterator
from uuid import UUID

from infra.reference.markdown import code, page, table
from services.application.warehouse.query import QueryLimits, SchemaView, StoredLogin
from services.embedded.postgres import EmbeddedPostgres
from services.persistence.migrate import upgrade
from services.persistence.roles import prepare_roles
from services.persistence.warehouse.views import Warehouse

INTRODUCTION = """\
The views that analysts query, each with the rows of its own tenant only. How to send a query:
[query the warehouse](../how-to/query-the-warehouse.md). Units stand before the colon and in the column's name."""


def render_warehouse() -> str:
    """Return the page of all views; it takes an embedded PostgreSQL of its own, and some seconds."""
    return page("Warehouse schema", INTRODUCTION, *(_format_view(each) for each in _migrated_schema()))


def _migrated_schema() -> Iterator[SchemaView]:
    with EmbeddedPostgres.temporary(durable=False) as server:
        prepare_roles(server.url())
        upgrade(server.url())
        yield from Warehouse(server.url(), login=_no_login, limits=QueryLimits()).schema()


def _no_login(_tenant: UUID, _rotate: bool) -> StoredLogin:
    raise NotImplementedError("a description needs no login")


def _format_view(view: SchemaView) -> str:
    rows = ((code(each.name), each.type, each.comment) for each in view.columns)
    return f"## {view.name}\n\n{view.comment}\n\n" + table(("column", "type", "meaning"), rows)
