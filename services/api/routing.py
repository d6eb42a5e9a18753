"""The routers of v1: each request needs a key, and is held to the query parameters that its operation has."""

from functools import cached_property

from fastapi import APIRouter, Request, params
from fastapi.dependencies.utils import get_flat_params
from fastapi.routing import APIRoute
from starlette.datastructures import QueryParams
from starlette.types import Receive, Scope, Send

from services.api.dependencies import authenticate
from services.api.problems import PROBLEM_RESPONSES
from tradewind.errors import InvalidValue


class StrictRoute(APIRoute):
    """Refuses strangers unread, and what a query asks for and the operation does not know.

    The framework reads a body before it asks who sends it: a stranger could have many held in memory. And a
    ``?limt=5`` must not answer with everything; a request without a query pays one look for it.
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


def v1_router(below: str, tag: str, route_class: type[APIRoute] = StrictRoute) -> APIRouter:
    """A router of ``/v1`` + ``below`` that answers errors as problems."""
    return APIRouter(prefix=f"/v1{below}", tags=[tag], responses=PROBLEM_RESPONSES, route_class=route_class)
