"""Dependencies of endpoints: the parts of the process, and who is calling."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from structlog.contextvars import bind_contextvars

from services.api.call_kinds import find_call_kind
from services.application.access.authenticate import Principal, Scope
from services.bootstrap import Container
from tradewind.errors import TooOften, Unauthenticated

BEARER = HTTPBearer(auto_error=False, description="An API key, as `Authorization: Bearer tw_…`.")


async def _find_container(request: Request) -> Container:
    container: Container = request.app.state.container
    return container


Parts = Annotated[Container, Depends(_find_container)]


async def _read_body(request: Request) -> bytes:
    return await request.body()


Body = Annotated[bytes, Depends(_read_body)]
"""The body as it was sent."""


PRINCIPAL = "tradewind.principal"
"""Key in a request's scope: who sends it."""

COUNTED = "tradewind.counted"
"""Key in a request's scope, where it was counted for the rate limits."""


async def authenticate(request: Request) -> None:
    """Authenticate a request by its head only; its body is not read.

    Raises
    ------
    Unauthenticated : no key, or none that is valid.
    """
    credentials = await BEARER(request)
    if credentials is None:
        raise Unauthenticated("send an API key as 'Authorization: Bearer tw_…'")
    parts: Container = request.app.state.container
    secret = credentials.credentials
    principal = _recall_principal(parts, secret)
    if principal is None:
        principal = await parts.lookups.run(("key", secret), partial(parts.keyring.authenticate, secret))
    request.scope[PRINCIPAL] = principal


async def require_key(
    request: Request,
    parts: Parts,
    _: Annotated[HTTPAuthorizationCredentials | None, Depends(BEARER)],  # for the description of the API
) -> Principal:
    principal: Principal = request.scope[PRINCIPAL]
    bind_contextvars(tenant_id=str(principal.tenant_id))
    count_call(request, parts, principal)
    return principal


def count_call(request: Request, parts: Container, principal: Principal) -> None:
    """Count a request for the rate limits, once however often this is called for it.

    Raises
    ------
    TooOften : the key, its customer or its tenant has called too often.
    """
    if COUNTED in request.scope:
        return
    request.scope[COUNTED] = True
    kind = find_call_kind(request.scope["route"].path)
    try:
        parts.rate_limits.require(principal, kind)
    except TooOften:
        parts.metrics.calls_refused.labels(kind).inc()
        raise


def _recall_principal(parts: Container, secret: str) -> Principal | None:
    """Return the principal if it is cached; renew one that expires soon in the background."""
    principal = parts.keyring.recall(secret)
    if principal is not None and parts.keyring.is_due(secret):
        parts.lookups.start(("key", secret), partial(parts.keyring.authenticate, secret))
    return principal


AnyKey = Annotated[Principal, Depends(require_key)]
"""Every key may read what was learned."""


@dataclass(frozen=True, slots=True)
class KeyOf:
    """A dependency that requires a key with one of ``scopes``."""

    scopes: frozenset[Scope]

    async def __call__(self, principal: AnyKey) -> Principal:
        principal.require(*sorted(self.scopes))
        return principal


def recall_agent(parts: Container, authorization: bytes) -> Principal | None:
    """Return who sent this header, if that is cached and may act as an agent; queries no database."""
    scheme, _, secret = authorization.partition(b" ")
    if scheme != b"Bearer":
        return None
    principal = _recall_principal(parts, secret.decode("latin-1"))
    if principal is None or Scope.AGENT not in principal.scopes:
        return None
    bind_contextvars(tenant_id=str(principal.tenant_id))
    return principal


AgentKey = Annotated[Principal, Depends(KeyOf(frozenset({Scope.AGENT})))]
AnalystKey = Annotated[Principal, Depends(KeyOf(frozenset({Scope.ANALYST, Scope.OPERATOR})))]
ProviderKey = Annotated[Principal, Depends(KeyOf(frozenset({Scope.PROVIDER, Scope.OPERATOR})))]
StaffKey = Annotated[Principal, Depends(KeyOf(frozenset({Scope.PROVIDER, Scope.ANALYST, Scope.OPERATOR})))]
"""Keys of the tenant's own people, who see what all of its customers move."""

OperatorKey = Annotated[Principal, Depends(KeyOf(frozenset({Scope.OPERATOR})))]
