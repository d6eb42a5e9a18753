"""Routes with thousands of requests a second: an ordinary request reaches its endpoint directly.

The framework's own way (a graph of dependencies, stacks of contexts, handlers around each) takes longer than a
recommendation. So a request with a cached key and a valid body goes straight to its endpoint. Every other one takes the
framework's way with the same body, so that a refusal has the same words as on all other routes.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from inspect import get_annotations
from typing import Any, NamedTuple

from fastapi import Response
from pydantic import TypeAdapter, ValidationError
from starlette.types import Message, Receive, Scope, Send

from services.api.call_kinds import find_call_kind
from services.api.dependencies import AgentKey, Body, Parts, recall_agent
from services.api.routing import StrictRoute
from services.application.access.authenticate import Principal
from services.application.limits.rate_limits import CallKind
from services.bootstrap import Container

JSON = b"application/json"


class DirectRoute(StrictRoute):
    """A route for ``async`` endpoints that take a JSON body and an agent's key, and return a complete ``Response``."""

    def __init__(self, path: str, endpoint: Callable[..., Awaitable[Response]], **options: Any) -> None:
        super().__init__(path, endpoint, **options)
        self._parameters = _Parameters.of(endpoint, in_path=self.param_convertors)
        self._kind = find_call_kind(path)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request, or let the framework answer it."""
        principal = self._find_usual_caller(scope)
        if principal is None:  # the framework refuses an unauthenticated client there, unread
            await super().handle(scope, receive, send)
            return
        messages = await _read(receive)
        arguments = self._build_arguments(scope, messages, principal)
        if arguments is None:
            await super().handle(scope, _read_again(messages, receive), send)
        else:
            response = await self.endpoint(**arguments)
            await response(scope, receive, send)

    def _find_usual_caller(self, scope: Scope) -> Principal | None:
        """Return who sends a request with an ordinary head, if that is cached."""
        if scope["query_string"] or scope["method"] not in (self.methods or ()):  # neither is ordinary
            return None
        headers = dict(scope["headers"])
        if headers.get(b"content-type") != JSON or len(headers) < len(scope["headers"]):
            return None
        return recall_agent(scope["app"].state.container, headers.get(b"authorization", b""))

    def _build_arguments(
        self, scope: Scope, messages: Sequence[Message], principal: Principal
    ) -> dict[str, Any] | None:
        """Return the endpoint's arguments; ``None`` where the framework has to refuse."""
        body = _join_body(messages)
        if body is None:
            return None
        request = _Request(scope["app"].state.container, principal, body)
        return self._parameters.read_arguments(scope["path_params"], request, self._kind)


class _Request(NamedTuple):
    """What an endpoint may receive of a request, apart from its path and its validated body."""

    parts: Container
    principal: Principal
    body: bytes


_PASSED: Mapping[Any, Callable[[_Request], Any]] = {
    Parts: lambda request: request.parts,
    AgentKey: lambda request: request.principal,
    Body: lambda request: request.body,
}
"""By the annotation of the endpoint's parameter."""


class _Parameters(NamedTuple):
    """How the parameters of an endpoint are filled: from the path, from the request as it is, and one from the body."""

    in_path: Mapping[str, TypeAdapter[Any]]
    passed: Mapping[str, Callable[[_Request], Any]]
    body: str
    model: TypeAdapter[Any]

    @classmethod
    def of(cls, endpoint: Callable[..., Any], *, in_path: Collection[str]) -> "_Parameters":
        """Return the parameters of an endpoint, by their annotations."""
        kinds = {name: kind for name, kind in get_annotations(endpoint).items() if name != "return"}
        ((body, model),) = [(name, kind) for name, kind in kinds.items() if name not in in_path and kind not in _PASSED]
        return cls(
            in_path={name: TypeAdapter(kinds[name]) for name in in_path},
            passed={name: _PASSED[kind] for name, kind in kinds.items() if kind in _PASSED},
            body=body,
            model=TypeAdapter(model),
        )

    def read_arguments(self, path: Mapping[str, str], request: _Request, kind: CallKind) -> dict[str, Any] | None:
        """Return the endpoint's arguments; ``None`` where a value is not valid or the key has called too often."""
        try:
            found = {name: model.validate_python(path[name]) for name, model in self.in_path.items()}
            found[self.body] = self.model.validate_json(request.body)
        except ValidationError:
            return None
        if not request.parts.rate_limits.permits(request.principal, kind):  # counted and refused as on other routes
            return None
        for name, of in self.passed.items():
            found[name] = of(request)
        return found


async def _read(receive: Receive) -> list[Message]:
    """Return the messages with the body of a request, up to its end or to that of the connection."""
    messages = [await receive()]
    while messages[-1].get("more_body", False):
        messages.append(await receive())
    return messages


def _join_body(messages: Sequence[Message]) -> bytes | None:
    """Return the body; ``None`` where the client left before its end."""
    if messages[-1]["type"] == "http.disconnect":
        return None
    return b"".join([message.get("body", b"") for message in messages])


def _read_again(messages: list[Message], receive: Receive) -> Receive:
    """Return a ``receive`` that gives ``messages`` again, then the rest."""
    waiting = messages[::-1]

    async def receive_again() -> Message:
        return waiting.pop() if waiting else await receive()

    return receive_again
