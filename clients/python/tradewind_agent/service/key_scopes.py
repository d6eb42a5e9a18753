"""Find the scopes of a key by calls that change nothing."""

from contextlib import suppress

from tradewind_agent.errors import ObjectNotFound, RequestRefused, ScopeMissing
from tradewind_agent.service.calls import Calls

_SCOPE_PROBES = (
    ("agent", "POST", "/v1/recommend"),
    ("provider", "POST", "/v1/endpoints"),
    ("analyst", "POST", "/v1/warehouse/query"),
    ("operator", "GET", "/v1/keys"),
)


def find_permitted_scopes(calls: Calls) -> tuple[str, ...]:
    """Return the scopes of the key.

    The calls lack what they need: a key without the scope is refused first, any other because of the body.
    """
    permitted = []
    for scope, method, path in _SCOPE_PROBES:
        try:
            with suppress(RequestRefused):
                calls.send(method, path, content=b"{}", headers={"Content-Type": "application/json"})
        except (ScopeMissing, ObjectNotFound):
            continue
        permitted.append(scope)
    return tuple(permitted)
