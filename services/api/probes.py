"""``/healthz``, ``/readyz``, ``/servingz``, ``/metrics``: for monitoring a process, or the service as a whole.

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

SHARED_S = 1.0
"""One check serves all clients for so long: they need no key, and each check is a connection to the database."""

LOOK_PATIENCE_S = 1.0
"""Wait for a running check: less than a load balancer waits for the answer (infra/kubernetes/base/api.yaml)."""


READY_PATIENCE_S = 4.0
"""The same for clients that require every part: less than a probe of Compose waits."""


@router.get("/healthz")
async def health() -> dict[str, str]:
    """Answer that the process runs."""
    return {"status": "ok"}


@router.get("/readyz", responses={503: {"model": Problem}})
async def readiness(parts: Parts) -> dict[str, str]:
    """Check that the process can serve: the database answers with a known schema, and it and Redis take data.

    Without Redis, once it was there, the process still recommends and stores, and is ``degraded`` with a ``reason``.
    """
    look = _look(parts)
    # a client that gives up does not cancel the check for the others
    await asyncio.wait([look], timeout=READY_PATIENCE_S)
    if not look.done():
        raise Unavailable(f"a look at the database and Redis has not come back in {READY_PATIENCE_S:g} s; try again")
    missing = look.result()
    return {"status": "ready"} if missing is None else {"status": "degraded", "reason": missing}


@router.get("/servingz", responses={503: {"model": Problem}})
async def serving(parts: Parts) -> dict[str, str]:
    """Tell whether requests may be sent to the process: it was ready once, and last saw a known schema.

    For load balancers. When the database is unreachable, all processes stay in service and answer from memory what they
    can; ``reason`` then says so.
    """
    await asyncio.wait([_look(parts)], timeout=LOOK_PATIENCE_S)
    missing = parts.readiness.require_serving()
    return {"status": "serving"} if missing is None else {"status": "serving", "reason": missing}


def _look(parts: Parts) -> asyncio.Task[str | None]:
    """Return one check for all clients of this moment."""
    return parts.lookups.start("readiness", parts.readiness.require, keep_s=SHARED_S)


@router.get("/metrics", response_class=Response)
def metrics(parts: Parts) -> Response:
    """Return counters and histograms of this process in Prometheus' text format."""
    return Response(generate_latest(parts.metrics.registry), media_type=CONTENT_TYPE_LATEST)


@router.get("/metrics/service", response_class=Response)
async def service_metrics(parts: Parts) -> Response:
    """Return the state of the store and the queues in Prometheus' text format: the same from every process, so ask
    one.
    """
    state = await parts.lookups.run("state of the service", parts.watch.read)
    registry = CollectorRegistry()
    registry.register(StateMetrics(state))
    return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)
