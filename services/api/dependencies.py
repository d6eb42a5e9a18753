"""What endpoints ask for: the parts of the process, and who is calling."""

from functools import partial
from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from services.application.authenticate import Principal, Scope
from services.bootstrap import Container
from tradewind.errors import Unauthenticated

BEARER = HTTPBearer(auto_error=False, description="An API key, as `Authorization: Bearer tw_…`.")


async def _container(request: Request) -> Container:
    container: Container = request.app.state.container
    return container


Parts = Annotated[Container, Depends(_container)]


async def _body(request: Request) -> bytes:
    return await request.body()


Body = Annotated[bytes, Depends(_body)]
"""The body as it was sent."""


async def _principal(
    parts: Parts, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(BEARER)]
) -> Principal:
    if credentials is None:
        raise Unauthenticated("send an API key as 'Authorization: Bearer tw_…'")
    secret = credentials.credentials
    remembered = parts.keyring.recall(secret)
    if remembered is not None:
        return remembered
    return await parts.lookups.run(("key", secret), partial(parts.keyring.authenticate, secret))


AnyKey = Annotated[Principal, Depends(_principal)]
"""Every key may read what was learned."""


async def _agent(principal: AnyKey) -> Principal:
    principal.require(Scope.AGENT)
    return principal


def remembered_agent(parts: Container, authorization: bytes) -> Principal | None:
    """Who sent this header, if that is remembered and may do what agents do; asks no database."""
    scheme, _, secret = authorization.partition(b" ")
    if scheme != b"Bearer":
        return None
    principal = parts.keyring.recall(secret.decode("latin-1"))
    return principal if principal is not None and Scope.AGENT in principal.scopes else None


async def _provider(principal: AnyKey) -> Principal:
    principal.require(Scope.PROVIDER, Scope.OPERATOR)
    return principal


async def _analyst(principal: AnyKey) -> Principal:
    principal.require(Scope.ANALYST, Scope.OPERATOR)
    return principal


async def _operator(principal: AnyKey) -> Principal:
    principal.require(Scope.OPERATOR)
    return principal


AgentKey = Annotated[Principal, Depends(_agent)]
AnalystKey = Annotated[Principal, Depends(_analyst)]
ProviderKey = Annotated[Principal, Depends(_provider)]
OperatorKey = Annotated[Principal, Depends(_operator)]
