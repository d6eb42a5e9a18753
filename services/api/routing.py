"""The routers of v1: each request needs a key, and only query parameters of its operation."""

from collections.abc import Callable, Coroutine
from functools import cached_property, partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Request, Response, params
from fastapi.dependencies.utils import get_flat_params
from fastapi.routing import APIRoute
from starlette.datastructures import QueryParams
from starlette.types import Receive, Scope, Send

from services.api.dependencies import PRINCIPAL, authenticate, count_call
from services.api.problems import PROBLEM_RESPONSES
from services.application.access.authenticate import Principal
from services.bootstrap import Container
from services.idempotent_requests import LONGEST_TOKEN, answer_once, derive_submission_key
from tradewind.errors import InvalidValue


class StrictRoute(APIRoute):
    """A route that refuses unauthenticated clients unread, and unknown query parameters.

    The framework reads a body before it checks the sender: an unauthenticated client could fill the memory. And
    ``?limt=5`` must not answer with everything; a request without a query pays one check for it.
    """

    @cached_property
    def _known(self) -> frozenset[str]:
        parameters = get_flat_params(self.dependant)
        return frozenset(each.alias for each in parameters if isinstance(each.field_info, params.Query))

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] in (self.methods or ()):
            await authenticate(Request(scope))
            if scope["query_string"]:
                self._hold(QueryParams(scope["query_string"]))
        await super().handle(scope, receive, send)

    def _hold(self, query: QueryParams) -> None:
        for name in query:
            if name not in self._known:
                known = ", ".join(sorted(self._known)) or "none"
                raise InvalidValue(name, f"is no parameter here; there are {known}")


class OnceRoute(StrictRoute):
    """A route that does a POST with an ``Idempotency-Key`` once: a repeated request of the same API key gets the same
    answer.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        if "POST" in (options.get("methods") or ()):
            options["dependencies"] = [*(options.get("dependencies") or ()), Depends(_idempotency_key)]
        super().__init__(path, endpoint, **options)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        answer = super().get_route_handler()

        async def handle(request: Request) -> Response:
            token = request.headers.get("idempotency-key", "")
            if request.method != "POST" or not 0 < len(token) <= LONGEST_TOKEN:
                return await answer(request)
            principal: Principal = request.scope[PRINCIPAL]
            parts: Container = request.app.state.container
            count_call(request, parts, principal)  # before the database is asked for an earlier answer
            secret = request.headers["authorization"].partition(" ")[2]
            key = derive_submission_key(secret, request.url.path, token, await request.body())
            return await answer_once(parts, principal.tenant_id, key, partial(answer, request))

        return handle


async def _idempotency_key(
    idempotency_key: Annotated[
        str | None,
        Header(
            min_length=1,
            max_length=LONGEST_TOKEN,
            description="New for each request. The same request sent again within a day is done once.",
        ),
    ] = None,
) -> None: ...


def create_v1_router(below: str, tag: str, route_class: type[APIRoute] = StrictRoute) -> APIRouter:
    """Return a router of ``/v1`` + ``below`` that answers errors as problems."""
    return APIRouter(prefix=f"/v1{below}", tags=[tag], responses=PROBLEM_RESPONSES, route_class=route_class)
