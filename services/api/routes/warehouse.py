"""``/v1/warehouse``: analysts' SQL, and the accounts of their own tools."""

from datetime import date
from typing import Annotated

from fastapi import Query as Parameter
from fastapi import Request, Response

from services.api.dependencies import AnalystKey, OperatorKey, Parts
from services.api.problems import to_problem
from services.api.routing import create_v1_router
from services.application.logs.export import ExportFailure, View, find_folder, request_export
from services.application.warehouse.query import Format, LoginKind, Query, issue_login, revoke_login
from services.application.warehouse.query_log import MOST_OF_ACTOR, LoggedQuery
from services.streaming.query_stream import MEDIA_TYPES, QueryStream
from tradewind.errors import NotFound
from tradewind.wire.base import BIGINT_MAX
from tradewind.wire.warehouse import (
    ROW_LIMIT_HEADER,
    TIME_LIMIT_HEADER,
    QueryRequest,
    WarehouseColumn,
    WarehouseCredentials,
    WarehouseExport,
    WarehouseExportFailure,
    WarehouseExports,
    WarehouseQueryLog,
    WarehouseQueryRun,
    WarehouseSchema,
    WarehouseView,
)

MAX_DAYS = 1_000

router = create_v1_router("/warehouse", "warehouse")


@router.get("/schema")
def read_schema(parts: Parts, _: AnalystKey) -> WarehouseSchema:
    """Return the views, their columns with type, meaning and unit, and the limits of a query."""
    limits = parts.warehouse.limits
    views = tuple(
        WarehouseView(
            name=view.name,
            comment=view.comment,
            columns=tuple(WarehouseColumn(name=it.name, type=it.type, comment=it.comment) for it in view.columns),
        )
        for view in parts.warehouse.describe_schema()
    )
    return WarehouseSchema(views=views, row_limit=limits.rows, time_limit_s=limits.seconds)


@router.post(
    "/query",
    response_class=Response,
    responses={
        200: {"description": "The rows.", "content": {kind.partition(";")[0]: {} for kind in MEDIA_TYPES.values()}}
    },
)
async def query(query_request: QueryRequest, request: Request, parts: Parts, principal: AnalystKey) -> Response:
    """Run one read-only statement and stream its rows.

    ``Tradewind-Row-Limit`` and ``Tradewind-Time-Limit-S`` give the limits it ran under. An answer that reaches a limit
    after it began breaks off without the end of its transfer encoding.
    """
    warehouse = parts.warehouse
    form = Format(query_request.format)
    run = warehouse.query(
        principal.tenant_id,
        Query(sql=query_request.sql, parameters=query_request.parameters, format=form, limit=query_request.limit),
        actor=principal.actor,
    )
    rows = min(query_request.limit or warehouse.limits.rows, warehouse.limits.rows)
    headers = {
        ROW_LIMIT_HEADER: str(rows),
        TIME_LIMIT_HEADER: f"{warehouse.limits.seconds:g}",
        "Cache-Control": "no-store",
    }
    slots = request.app.state.query_slots
    return QueryStream(run, slots, media_type=MEDIA_TYPES[form], headers=headers, refused=to_problem)


@router.get("/queries")
def read_queries(
    parts: Parts,
    principal: AnalystKey,
    limit: Annotated[int, Parameter(ge=1, le=MOST_OF_ACTOR)] = 100,
    before: Annotated[int | None, Parameter(ge=1, le=BIGINT_MAX)] = None,
) -> WarehouseQueryLog:
    """List the queries of the own key that have ended: text, start, duration, rows and outcome, the newest first.

    A key has the last 1,000 queries of 30 days. Values of parameters are not stored. Queries of psql and other tools
    are not in the list.
    """
    with parts.store.unit_of_work(principal.tenant_id) as uow:
        found = uow.query_log.list_of(principal.actor, limit=limit, before=before)
    return WarehouseQueryLog(queries=tuple(_to_wire_query(each) for each in found))


def _to_wire_query(logged: LoggedQuery) -> WarehouseQueryRun:
    end = logged.end
    return WarehouseQueryRun(
        id=logged.id,
        started_at=end.started_at,
        duration_s=end.duration_s,
        sql=logged.sql,
        characters=logged.characters,
        format=Format(logged.format).value,
        outcome=end.outcome.value,
        rows=end.rows,
        bytes=end.bytes,
        sqlstate=end.sqlstate,
        message=end.message,
    )


@router.get("/credentials")
def read_credentials(parts: Parts, principal: AnalystKey) -> WarehouseCredentials:
    """Return a read-only login for psql, notebooks and dashboards, created by the first request."""
    units = parts.store.unit_of_work
    login = issue_login(principal.tenant_id, actor=principal.actor, units=units, clock=parts.clock)
    return WarehouseCredentials(
        dsn=parts.warehouse.build_address(login), user=login.name, password=login.password, created_at=login.created_at
    )


@router.delete("/credentials", status_code=204)
def revoke_credentials(parts: Parts, principal: OperatorKey) -> None:
    """Revoke the login and end its sessions; the next request creates one with a new password."""
    units = parts.store.unit_of_work
    if not revoke_login(LoginKind.READER, principal.tenant_id, actor=principal.actor, units=units):
        raise NotFound("the warehouse has no login to revoke")


@router.get("/exports")
def read_exports(
    parts: Parts,
    principal: AnalystKey,
    view: View = View.TRANSFERS,
    limit: Annotated[int, Parameter(ge=1, le=MAX_DAYS)] = 100,
    before: date | None = None,
) -> WarehouseExports:
    """List days of a view that are Parquet files, the newest first; older ones by ``before``."""
    today = parts.clock.now().date()
    with parts.store.unit_of_work(principal.tenant_id) as uow:
        found, to_export = uow.log_days.list_page(view, limit=limit, before=before), uow.log_days.to_export(today)
        failure = _to_wire_failure(uow.log_days.find_failure())
    exports = tuple(
        WarehouseExport(
            day=each.day,
            folder=find_folder(view, principal.tenant_id, each.day),
            rows=each.file.rows,
            bytes=each.file.bytes,
            sha256=each.file.sha256,
            exported_at=each.exported_at,
            current=each.current,
        )
        for each in found
    )
    return WarehouseExports(place=parts.options.export_place, to_export=to_export, failure=failure, exports=exports)


@router.post("/exports", status_code=202)
def export_now(parts: Parts, principal: OperatorKey) -> WarehouseExports:
    """Export the changed days now, as each night does; ``to_export`` of GET gives the progress."""
    with parts.store.unit_of_work(principal.tenant_id) as uow:
        to_export = request_export(parts.options.export_place, uow=uow, clock=parts.clock)
    with parts.store.unit_of_work(principal.tenant_id) as uow:
        failure = _to_wire_failure(uow.log_days.find_failure())
    return WarehouseExports(place=parts.options.export_place, to_export=to_export, failure=failure, exports=())


def _to_wire_failure(failure: ExportFailure | None) -> WarehouseExportFailure | None:
    return None if failure is None else WarehouseExportFailure(at=failure.at, reason=failure.reason)
