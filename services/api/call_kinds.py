"""The kinds by which calls are counted for rate limits."""

from functools import cache

from services.application.limits.rate_limits import CallKind

_OF_PATHS = {
    "/v1/recommend": CallKind.RECOMMEND,
    "/v1/compression/advise": CallKind.RECOMMEND,
    "/v1/batching/advise": CallKind.RECOMMEND,
    "/v1/transfers/{transfer_id}/heartbeats": CallKind.HEARTBEAT,
    "/v1/transfers/{transfer_id}/complete": CallKind.UPLOAD,
    "/v1/compression/observations": CallKind.UPLOAD,
    "/v1/connections/analyse": CallKind.UPLOAD,
    "/v1/logs": CallKind.UPLOAD,
}
_WAREHOUSE = "/v1/warehouse/"


@cache
def find_call_kind(path: str) -> CallKind:
    """Return the kind of calls to a route, by its template."""
    usual = CallKind.QUERY if path.startswith(_WAREHOUSE) else CallKind.OTHER
    return _OF_PATHS.get(path, usual)
