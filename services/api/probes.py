"""``/healthz``, ``/readyz``, ``/servingz``, ``/metrics``: for who watches over a process, or the service as a whole.

No key is needed and none helps.
"""

import asyncio

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

from services.api.dependencies import Parts
from services.api.problems import Problem
from services.observability.telemetry import StateMetrics
from tradewind.errors import Unavailable

router = APIRouter(tags=["probes"])

KEPT_S = 1.0
"""So long one look serves all who ask: they need no key, and each look is a connection to the database."""

LOOK_PATIENCE_S = 1.0
"""For a look that is under way: less than who balances waits for the answer (infra/kubernetes/base/api.yaml)."""


READY_PATIENCE_S = 4.0
"""For the same by who wants to know whether all is there: less than a probe of Compose waits."""


@router.get("/healthz")
async def health() -> dict[str, str]:
    """The process answers."""
    return {"status": "ok"}


@router.get("/readyz", responses={503: {"model": Problem}})
async def readiness(parts: Parts) -> dict[str, str]:
    """The process can serve: the database answers with a schema that it knows, and it and Redis take data.

    Without Redis, once it was there, the process still recommends and stores, and is ``degraded`` with a ``reason``.
    """
    look = _look(parts)
    await asyncio.wait([look], timeout=READY_PATIENCE_S)  # who gives up does not take it from the others
    if not look.done():
        raise Unavailable(f"a look at the database and Redis has not come back in {READY_PATIENCE_S:g} s; try again")
    missing = look.result()
    return {"status": "ready"} if missing is None else {"status": "degraded", "reason": missing}


@router.get("/servingz", responses={503: {"model": Problem}})
async def serving(parts: Parts) -> dict[str, str]:
    """Requests may be sent to the process: it was ready once, and last saw a schema that it knows.

    For who balances between processes. When the database is away all of them stay in service, and answer from memory
    what they can, which ``reason`` then tells of.
    """
    await asyncio.wait([_look(parts)], timeout=LOOK_PATIENCE_S)
    missing = parts.readiness.require_serving()
    return {"status": "serving"} if missing is None else {"status": "serving", "reason": missing}


def _look(parts: Parts) -> asyncio.Task[str | None]:
    """One for all who ask now or within a moment."""
    return parts.lookups.start("readiness", parts.readiness.require, keep_s=KEPT_S)


@router.get("/metrics", response_class=Response)
def metrics(parts: Parts) -> Response:
    """Counters and histograms of this process in Prometheus' text format."""
    return Response(generate_latest(parts.metrics.registry), media_type=CONTENT_TYPE_LATEST)


@router.get("/metrics/service", response_class=Response)
async def service_metrics(parts: Parts) -> Response:
    """What lies in the store and in the queues, in Prometheus' text format: the same from every process, so ask one."""
    state = await parts.lookups.run("state of the service", parts.watch.read)
    registry = CollectorRegistry()
    registry.register(StateMetrics(state))
    return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)
