"""``POST /v1/transfers/{id}/complete``: the end of a transfer. Its body may be large, and is read beside the loop."""

from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, TypeVar
from uuid import UUID

import orjson
from fastapi import Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError, WrapValidator

from services.api.dependencies import AgentKey, Parts
from services.api.routing import StrictRoute, v1_router
from services.application.complete_transfer import complete_transfer
from services.application.tuning_sessions import TransferKey
from services.bootstrap import Container
from tradewind.wire.heartbeats import Completion, CompletionReceipt, SpooledHeartbeat

Model = TypeVar("Model", bound=BaseModel)


class _UnreadRequest(Request):
    async def json(self) -> bytes:
        return await self.body()


class UnreadRoute(StrictRoute):
    """Hands its endpoint the body as it came: parsing one of megabytes would answer nobody else meanwhile."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_unread(request: Request) -> Response:
            return await handle(_UnreadRequest(request.scope, request.receive))

        return handle_unread


def _as_it_came(body: bytes, _: object) -> bytes:
    return body


if TYPE_CHECKING:
    UnreadCompletion = bytes
else:
    UnreadCompletion = Annotated[Completion, WrapValidator(_as_it_came)]
    """Described as a completion, and not yet read as one."""

router = v1_router("/transfers", "transfers", UnreadRoute)


@router.post("/{transfer_id}/complete")
async def complete(
    transfer_id: UUID, completion: UnreadCompletion, parts: Parts, principal: AgentKey
) -> CompletionReceipt:
    """End a transfer: store its records as an upload of logs does, and the heartbeats that are not stored yet.

    What is acknowledged is durable. The same completion twice stores nothing twice.
    """
    receipt = await run_in_threadpool(_complete, transfer_id, completion, parts, principal.tenant_id)
    await parts.tuner.end(TransferKey(principal.tenant_id, transfer_id))
    return receipt


def _complete(transfer_id: UUID, body: bytes, parts: Container, tenant_id: UUID) -> CompletionReceipt:
    return complete_transfer(
        transfer_id,
        read_completion(body),
        uow=parts.store.unit_of_work(tenant_id),
        clock=parts.clock,
        limits=parts.body_limits,
    )


def read_completion(body: bytes) -> Completion:
    """The completion of a body, its heartbeats one by one, so that other threads have their turn between two of them.

    Raises
    ------
    RequestValidationError : as the framework tells of a body that is no completion.
    """
    try:
        told = orjson.loads(body)
    except orjson.JSONDecodeError as wrong:
        unread = {"type": "json_invalid", "loc": ("body", wrong.pos), "ctx": {"error": wrong.msg}, "msg": wrong.msg}
        raise RequestValidationError([unread]) from wrong
    if isinstance(told, dict) and isinstance(told.get("heartbeats"), list):
        read = partial(_read, SpooledHeartbeat)
        told["heartbeats"] = [read(each, "heartbeats", n) for n, each in enumerate(told["heartbeats"])]
    return _read(Completion, told)


def _read(model: type[Model], told: Any, *place: str | int) -> Model:
    try:
        return model.model_validate(told)
    except ValidationError as wrong:
        errors = wrong.errors(include_url=False, include_context=False)
        raise RequestValidationError([each | {"loc": ("body", *place, *each["loc"])} for each in errors]) from None
