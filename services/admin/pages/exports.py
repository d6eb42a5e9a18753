"""*Logs → Exports*: what is written as Parquet, how far it is, and having it written now."""

from datetime import date

from fastapi import Request, Response

from services.admin.events import following
from services.admin.rendering import done, fragment, page, page_router
from services.admin.visitors import Operator, Parts, SignInsOf, Visit
from services.application.logs.export import View, folder_of, request_export
from services.application.logs.long_jobs import LongJob, describe_export

router = page_router("/logs/exports")

HERE = "/admin/logs/exports"
PAGE = 50


@router.get("")
def exports_page(
    request: Request, visit: Operator, parts: Parts, view: View = View.TRANSFERS, before: date | None = None
) -> Response:
    """Files of a view, the newest day first."""
    tenant_id = visit.visitor.tenant_id
    with parts.store.unit_of_work(tenant_id) as uow:
        found = uow.log_days.page(view, limit=PAGE + 1, before=before)
    return page(
        request,
        "exports.html",
        visit,
        place=parts.options.export_place,
        work=[_work(visit, parts)],
        view=view,
        views=tuple(View),
        files=[(each, folder_of(view, tenant_id, each.day)) for each in found[:PAGE]],
        more=found[PAGE - 1].day if len(found) > PAGE else None,
    )


@router.get("/live")
def live_work(request: Request, visit: Operator, parts: Parts, sign_ins: SignInsOf) -> Response:
    """How far the export is, again whenever it has got further."""
    return following(request, visit, sign_ins, lambda: fragment("work.html", work=[_work(visit, parts)]))


@router.post("")
def start(request: Request, visit: Operator, parts: Parts) -> Response:
    """Have the days that have changed written now."""
    with parts.store.unit_of_work(visit.visitor.tenant_id, visit.visitor.actor) as uow:
        to_export = request_export(parts.options.export_place, uow=uow, clock=parts.clock)
    said = f"The export has begun: {to_export} to write." if to_export else "Every day that is over is written already."
    return done(request, HERE, said)


def _work(visit: Visit, parts: Parts) -> LongJob:
    with parts.store.unit_of_work(visit.visitor.tenant_id) as uow:
        return describe_export(uow, now=parts.clock.now(), is_exporting=parts.options.export_place is not None)
