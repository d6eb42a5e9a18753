"""``/healthz``, ``/readyz``, ``/metrics``: for whoever watches over the process, and over the service as a whole.

No key is needed and none helps.
"""

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

from services.api.dependencies import Parts
from services.api.problems import Problem
from services.telemetry import StateMetrics

router = APIRouter(tags=["probes"])


@router.get("/healthz")
async def health() -> dict[str, str]:
    """The process answers."""
    return {"status": "ok"}


@router.get("/readyz", responses={503: {"model": Problem}})
async def readiness(parts: Parts) -> dict[str, str]:
    """The process can serve: the database answers with a schema that it knows, and it and Redis take data.

    Without Redis, once it was there, the process still recommends and stores, and is ``degraded`` with a ``reason``.
    """
    missing = await parts.lookups.run("readiness", parts.readiness.require)  # one at a time, however many ask
    return {"status": "ready"} if missing is None else {"status": "degraded", "reason": missing}


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
