"""*Compression*: what transfers show of each codec, and what is expected of it on paths of four rates."""

from typing import Annotated

from fastapi import Query, Request, Response

from services.admin.charts.codecs import build_rate_chart
from services.admin.rendering import build_page_router, encode_chart, render_page
from services.admin.visitors import Parts, Signed
from services.application.advice.codec_outlook import RATES_BPS, estimate_outlook
from tradewind.compression.content import Kind
from tradewind.compression.prior_table import CPU_CLASS

router = build_page_router("/compression")

Machine = Annotated[str, Query(max_length=100)]


@router.get("")
def compression_page(
    request: Request, visit: Signed, parts: Parts, kind: Kind = Kind.TEXT, machine: Machine = ""
) -> Response:
    """Show the tenant's history by codec and level, and the advice for a large file."""
    tenant_id = visit.visitor.tenant_id
    history, _ = parts.histories.find_cached(tenant_id) or parts.histories.load(tenant_id)
    with parts.store.unit_of_work(tenant_id) as uow:
        learned = uow.compression.list_learned()
        machines = [*uow.compression.list_machines(), CPU_CLASS]
    chosen = machine if machine in machines else machines[0]
    found = estimate_outlook(history, kind, chosen)
    return render_page(
        request,
        "compression.html",
        visit,
        learned=learned,
        count=sum(each.observations for each in learned),
        kinds=list(Kind),
        kind=kind,
        machines=list(dict.fromkeys(machines)),
        machine=chosen,
        packaged=CPU_CLASS,
        rates=RATES_BPS,
        found=found,
        by_rate=encode_chart(build_rate_chart(found)),
        now=parts.clock.now(),
    )
