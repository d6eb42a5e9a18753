"""``/v1/connections``: logs of browsers, analysed and stored."""

from typing import Annotated

from fastapi import Query
from fastapi.concurrency import run_in_threadpool

from services.api.dependencies import AgentKey, Body, Parts
from services.api.routing import create_v1_router
from services.application.access.authenticate import Principal
from services.application.advice.connections import analyse_content, store_analysis
from services.bootstrap import Container
from tradewind.path import BOUNDS, Path
from tradewind.wire.base import MAX_NAME_LENGTH
from tradewind.wire.connections import ConnectionAnalysis

router = create_v1_router("/connections", "connections")

_BODY = {
    "requestBody": {
        "required": True,
        "description": "A HAR 1.2 log. Of it the service keeps figures, and of addresses the origins alone.",
        "content": {"application/json": {"schema": {"type": "object"}}},
    }
}
RoundTrip = Annotated[float | None, Query(ge=BOUNDS["rtt_s"][0], le=BOUNDS["rtt_s"][1], description="Of the path, s.")]
Bandwidth = Annotated[
    float | None, Query(ge=BOUNDS["bandwidth_bps"][0], le=BOUNDS["bandwidth_bps"][1], description="Of the path, bit/s.")
]
Proxy = Annotated[
    str | None,
    Query(min_length=1, max_length=MAX_NAME_LENGTH, description="Name of your own cache, as in its X-Cache."),
]


@router.post("/analyse", openapi_extra=_BODY)
async def analyse(  # noqa: PLR0917 -- FastAPI passes all of them by name
    parts: Parts,
    principal: AgentKey,
    body: Body,
    rtt_s: RoundTrip = None,
    bandwidth_bps: Bandwidth = None,
    proxy: Proxy = None,
) -> ConnectionAnalysis:
    """Analyse each page of a HAR log: idle time, effective concurrency, all connections, and what to change.

    The same log again replaces what is stored of it. ``rtt_s`` stands in for handshakes that the log lacks, and the
    advice uses it.
    """
    path = Path(rtt_s=rtt_s, bandwidth_bps=bandwidth_bps)
    async with parts.analysis_slots.hold(principal.tenant_id, principal.key_id):
        sha256, analysis = await parts.computing.compute(analyse_content, body, path, proxy)
    return await run_in_threadpool(_keep, sha256, analysis, parts, principal)


def _keep(sha256: bytes, analysis: ConnectionAnalysis, parts: Container, principal: Principal) -> ConnectionAnalysis:
    with parts.store.unit_of_work(principal.tenant_id, principal.actor) as uow:
        return store_analysis(analysis, content_sha256=sha256, uow=uow, clock=parts.clock)
