"""*Logs → Exports*: which days are written as Parquet, the progress, and a button to export now."""

from datetime import date

from fastapi import Request, Response

from services.admin.events import stream_changes
from services.admin.rendering import build_page_router, redirect_after_form, render_fragment, render_page
from services.admin.visitors import Operator, Parts, SignInsOf, Visit
from services.application.logs.export import View, find_folder, request_export
from services.application.logs.long_jobs import LongJob, describe_export

router = build_page_router("/logs/exports")

HERE = "/admin/logs/exports"
PAGE = 50


@router.get("")
def exports_page(
    request: Request, visit: Operator, parts: Parts, view: View = View.TRANSFERS, before: date | None = None
) -> Response:
    """List the files of a view, the newest day first."""
    tenant_id = visit.visitor.tenant_id
    with parts.store.unit_of_work(tenant_id) as uow:
        found = uow.log_days.list_page(view, limit=PAGE + 1, before=before)
    return render_page(
        request,
        "exports.html",
        visit,
        place=parts.options.export_place,
        work=[_work(visit, parts)],
        view=view,
        views=tuple(View),
        files=[(each, find_folder(view, tenant_id, each.day)) for each in found[:PAGE]],
        more=found[PAGE - 1].day if len(found) > PAGE else None,
    )


@router.get("/live")
def live_work(request: Request, visit: Operator, parts: Parts, sign_ins: SignInsOf) -> Response:
    """Stream the progress of the export whenever it changes."""
    return stream_changes(request, visit, sign_ins, lambda: render_fragment("work.html", work=[_work(visit, parts)]))


@router.post("")
def start(request: Request, visit: Operator, parts: Parts) -> Response:
    """Export the changed days now."""
    with parts.store.unit_of_work(visit.visitor.tenant_id, visit.visitor.actor) as uow:
        to_export = request_export(parts.options.export_place, uow=uow, clock=parts.clock)
    notice_text = (
        f"The export has started: {to_export} to write." if to_export else "Every day that is over is written already."
    )
    return redirect_after_form(request, HERE, notice_text)


def _work(visit: Visit, parts: Parts) -> LongJob:
    with parts.store.unit_of_work(visit.visitor.tenant_id) as uow:
        return describe_export(uow, now=parts.clock.now(), is_exporting=parts.options.export_place is not None)
