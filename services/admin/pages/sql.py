"""*SQL*: analysts query the warehouse, see the answer as a table and a chart, and save the query."""

from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Any
from urllib.parse import urlencode
from uuid import UUID

from fastapi import Form, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import BeforeValidator

from services.admin.charts.query import ChartKind, ChartRequest, query_chart
from services.admin.formatting.field_labels import format_refusal
from services.admin.formatting.query_rows import LONGEST_CELL, QueryRows, cell
from services.admin.pages.sql_examples import EXAMPLES
from services.admin.rendering import (
    ONE_LINE,
    STORABLE,
    build_page_router,
    encode_chart,
    redirect_after_form,
    render_page,
)
from services.admin.visitors import Analyst, Parts, Visit
from services.application.warehouse.query import Format
from services.application.warehouse.query import Query as SqlQuery
from services.application.warehouse.saved_queries import LONGEST_NAME, remove_query, save_query
from services.bootstrap import Container
from services.statuses import find_status
from services.streaming.query_slots import ClientLeft, FollowedQuery
from services.streaming.query_stream import MEDIA_TYPES, QueryStream
from tradewind.errors import Conflict, InvalidValue, NotFound, QueryRefused, TooLarge, TradewindError, Unavailable
from tradewind.units import MIB

router = build_page_router("/sql")

HERE = "/admin/sql"
ROWS_SHOWN = (100, 500, 2000)
MOST_BYTES_SHOWN = 4 * MIB
LONGEST_SQL = 20_000
RECENT_SHOWN = 20
LONGEST_COLUMN = 200
LONGEST_SHARED = 6_000
"""Characters of an address that browsers, mail and proxies pass on."""

ENDINGS = {Format.CSV: "csv", Format.ARROW: "arrows", Format.JSON: "json"}
"""``.arrows`` is the registered ending of an Arrow stream."""


def _normalise_line_ends(sql: object) -> object:
    """Return the text with the line ends that the browser counts: forms send others, which shift positions."""
    return sql.replace("\r\n", "\n") if isinstance(sql, str) else sql


Sql = Annotated[
    str, BeforeValidator(_normalise_line_ends), Form(min_length=1, max_length=LONGEST_SQL, pattern=STORABLE)
]
ColumnName = Annotated[str, Form(max_length=LONGEST_COLUMN)]
Shown = Annotated[int, Form(ge=1, le=max(ROWS_SHOWN))]


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a text something is wrong: its line and the column in it, both from 1."""

    line: int
    column: int
    text: str

    @classmethod
    def of(cls, sql: str, position: int) -> "Place":
        before = sql[: position - 1]
        line = before.count("\n") + 1
        return cls(line, position - 1 - (before.rfind("\n") + 1) + 1, sql.split("\n")[line - 1])


@router.get("")
def sql_page(
    request: Request,
    visit: Analyst,
    parts: Parts,
    saved: UUID | None = None,
    sql: Annotated[str, Query(max_length=LONGEST_SQL)] = "",
    *,
    shown: str = "",
    draw: str = "",
    across: str = "",
    up: str = "",
    apart: str = "",
) -> Response:
    """Show the editor with a saved query or the one of an address in it; nothing runs yet."""
    if saved is not None:
        sql = _read_saved_sql(visit, parts, saved)
    return _build_page(
        request,
        visit,
        parts,
        sql=sql or EXAMPLES[0].sql,
        shown=next((each for each in ROWS_SHOWN if str(each) == shown), ROWS_SHOWN[0]),
        chart_request=ChartRequest(_parse_kind(draw), across, up, apart),
    )


def build_address(sql: str, shown: int, chart: ChartRequest) -> str:
    """Return the address that opens a query with its chart; empty for one that is too long for it."""
    drawn = {"draw": chart.kind, "across": chart.across, "up": chart.up, "apart": chart.apart}
    values = {"sql": sql, "shown": "" if shown == ROWS_SHOWN[0] else shown} | drawn
    if chart.kind is ChartKind.AUTO:
        values.pop("draw")
    address = f"{HERE}?{urlencode({name: value for name, value in values.items() if value})}"
    return address if len(address) <= LONGEST_SHARED else ""


@router.post("/run")
async def run(
    request: Request,
    visit: Analyst,
    parts: Parts,
    sql: Sql,
    *,
    shown: Shown = ROWS_SHOWN[0],
    draw: ColumnName = "",
    across: ColumnName = "",
    up: ColumnName = "",
    apart: ColumnName = "",
) -> Response:
    """Run a query and show its rows up to the limit of the page; stop it when its visitor leaves."""
    statement = SqlQuery(sql=sql, format=Format.JSON, limit=min(shown, parts.warehouse.limits.rows))
    query = parts.warehouse.query(visit.visitor.tenant_id, statement, actor=visit.visitor.actor)
    chart_request = ChartRequest(_parse_kind(draw), across, up, apart)
    context: dict[str, Any] = {"sql": statement.sql, "shown": shown, "chart_request": chart_request}
    status = HTTPStatus.OK
    try:
        async with FollowedQuery(query, request.app.state.query_slots, request.receive) as followed:
            rows = QueryRows.of_json(await followed.read_all(MOST_BYTES_SHOWN))
        drawn = query_chart(rows, chart_request)
        context["address"] = build_address(sql, shown, chart_request)
        context |= {"rows": rows, "drawn": drawn, "chart": encode_chart(drawn.options) if drawn is not None else None}
    except ClientLeft:
        return Response(status_code=HTTPStatus.NO_CONTENT)
    except (QueryRefused, TooLarge, Unavailable) as refused:
        status, _ = find_status(refused)
        context |= _describe_refusal(refused, statement.sql)
    return await run_in_threadpool(_build_page, request, visit, parts, status=status, **context)


@router.post("/download")
async def download(
    request: Request, visit: Analyst, parts: Parts, sql: Sql, *, form: Annotated[Format, Form()] = Format.CSV
) -> Response:
    """Return all rows of a query as a file, within the limits of the API; show an error next to the editor."""
    statement = SqlQuery(sql=sql, format=form)
    query = parts.warehouse.query(visit.visitor.tenant_id, statement, actor=visit.visitor.actor)
    headers = {
        "Content-Disposition": f'attachment; filename="tradewind.{ENDINGS[form]}"',
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "no-store",
    }

    def show_refusal(error: TradewindError) -> Response:
        context = _describe_refusal(error, statement.sql) | {"form": form}
        status, _ = find_status(error)
        return _build_page(request, visit, parts, status=status, **context)

    slots = request.app.state.query_slots
    return QueryStream(query, slots, media_type=MEDIA_TYPES[form], headers=headers, refused=show_refusal)


@router.post("/save")
def save(
    request: Request,
    visit: Analyst,
    parts: Parts,
    sql: Sql,
    name: Annotated[str, Form(max_length=LONGEST_NAME, pattern=ONE_LINE)] = "",
) -> Response:
    """Save a query under a name; where that is refused, its text stays in the editor."""
    try:
        with parts.store.unit_of_work(visit.visitor.tenant_id, visit.visitor.actor) as uow:
            saved = save_query(name, sql, author=visit.visitor, uow=uow, clock=parts.clock)
    except (Conflict, InvalidValue) as refused:
        status, _ = find_status(refused)
        return _build_page(request, visit, parts, status=status, **_describe_refusal(refused, sql))
    notice_text = "The saved query of that name is replaced." if saved.replaced else "The query is saved."
    return redirect_after_form(request, f"{HERE}?saved={saved.id}", notice_text)


@router.post("/saved/{query_id}/remove")
def remove(request: Request, query_id: UUID, visit: Analyst, parts: Parts) -> Response:
    with parts.store.unit_of_work(visit.visitor.tenant_id, visit.visitor.actor) as uow:
        remove_query(query_id, by=visit.visitor, uow=uow)
    return redirect_after_form(request, HERE, "The query is removed.")


def _build_page(
    request: Request, visit: Visit, parts: Container, *, status: HTTPStatus = HTTPStatus.OK, **context: Any
) -> Response:
    with parts.store.unit_of_work(visit.visitor.tenant_id) as uow:
        saved = uow.saved_queries.list_all()
        recent = uow.query_log.list_of(visit.visitor.actor, limit=RECENT_SHOWN)
    empty = {
        "address": "",
        "rows": None,
        "drawn": None,
        "chart": None,
        "error": None,
        "place": None,
        "position": None,
        "shown": ROWS_SHOWN[0],
        "form": Format.CSV,
    }
    return render_page(
        request,
        "sql.html",
        visit,
        status=status,
        **{
            "views": parts.warehouse.describe_schema(),
            "limits": parts.warehouse.limits,
            "saved": saved,
            "recent": recent,
            "examples": EXAMPLES,
            "cell": cell,
            "kinds": tuple(ChartKind),
            "rows_shown": ROWS_SHOWN,
            "most_bytes": MOST_BYTES_SHOWN,
            "longest_cell": LONGEST_CELL,
            "longest_name": LONGEST_NAME,
            "chart_request": ChartRequest(),
            **empty,
            **context,
        },
    )


def _describe_refusal(error: TradewindError, sql: str) -> dict[str, Any]:
    """Return what the page shows of a refused query."""
    position = error.position if isinstance(error, QueryRefused) else None
    place = Place.of(sql, position) if position else None
    return {"sql": sql, "error": format_refusal(error), "place": place, "position": position}


def _read_saved_sql(visit: Visit, parts: Container, query_id: UUID) -> str:
    with parts.store.unit_of_work(visit.visitor.tenant_id) as uow:
        found = next((each for each in uow.saved_queries.list_all() if each.id == query_id), None)
    if found is None:
        raise NotFound("no such saved query; somebody may have removed it")
    return found.sql


def _parse_kind(draw: str) -> ChartKind:
    return ChartKind(draw) if draw in tuple(ChartKind) else ChartKind.AUTO
