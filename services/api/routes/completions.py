"""``POST /v1/transfers/{id}/complete``: the end of a transfer. Its body may be large, and is parsed in a thread."""

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar
from uuid import UUID

import orjson
from fastapi import Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError, ValidatorFunctionWrapHandler, WrapValidator

from services.api.dependencies import AgentKey, Parts
from services.api.routing import StrictRoute, create_v1_router
from services.application.access.authenticate import Principal
from services.application.transfers.complete import complete_transfer
from services.application.transfers.first_heartbeats import find_first_heartbeat, find_starting_key
from services.application.transfers.sessions import TransferKey
from services.bootstrap import Container
from services.observability.telemetry import Event
from tradewind.wire.heartbeats import MAX_LATE_HEARTBEATS, Completion, CompletionReceipt, SpooledHeartbeat

Model = TypeVar("Model", bound=BaseModel)

_TOO_MANY = {
    "type": "too_long",
    "loc": ("body", "heartbeats"),
    "msg": f"At most {MAX_LATE_HEARTBEATS} come with one completion; send the others with another",
}


class _Unread(NamedTuple):
    """A body that was sent as JSON."""

    body: bytes


class _UnreadRequest(Request):
    async def json(self) -> _Unread:
        return _Unread(await self.body())


class UnreadRoute(StrictRoute):
    """A route that hands its endpoint the unparsed body: parsing megabytes in the event loop would block all others."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_unread(request: Request) -> Response:
            return await handle(_UnreadRequest(request.scope, request.receive))

        return handle_unread


def _pass_unread(sent: object, refuse: ValidatorFunctionWrapHandler) -> object:
    return sent.body if isinstance(sent, _Unread) else refuse(sent)


if TYPE_CHECKING:
    UnreadCompletion = bytes
else:
    UnreadCompletion = Annotated[Completion, WrapValidator(_pass_unread)]
    """Described as a completion, and not yet read as one."""

router = create_v1_router("/transfers", "transfers", UnreadRoute)


@router.post("/{transfer_id}/complete")
async def complete(
    transfer_id: UUID, completion: UnreadCompletion, parts: Parts, principal: AgentKey
) -> CompletionReceipt:
    """End a transfer: store its records as an upload of logs does, and the heartbeats that are not stored yet.

    What is acknowledged is durable. Sending the same completion twice stores nothing twice; the first stored record
    decides how the transfer went. 409 for a transfer that another key started, unless this one replaces it: a new key
    of the same name and customer, or one that is no customer's, after that key was revoked.
    """
    key = TransferKey(principal.tenant_id, transfer_id)
    async with parts.completion_slots.hold(principal.tenant_id, principal.key_id):
        owner = await parts.quotes.find_key(key) or find_starting_key(await find_first_heartbeat(key, parts.sessions))
        receipt = await run_in_threadpool(_complete, transfer_id, completion, parts, principal, owner)
    await parts.tuner.end(key)
    return receipt


def _complete(
    transfer_id: UUID, body: bytes, parts: Container, principal: Principal, find_starting_key: UUID | None
) -> CompletionReceipt:
    done = complete_transfer(
        transfer_id,
        read_completion(body),
        uow=parts.store.unit_of_work(principal.tenant_id, principal.actor),
        clock=parts.clock,
        limits=parts.body_limits,
        started_by=find_starting_key,
    )
    if done.first:
        parts.metrics.count_end(done.status, done.is_sla_met)
        content = {"status": done.status, "agreement_kept": done.is_sla_met}
        parts.log.info(Event.TRANSFER_ENDED, transfer_id=str(transfer_id), **content)
    return done.receipt


def read_completion(body: bytes) -> Completion:
    """Parse a completion with its heartbeats one by one, so that other threads run between two of them.

    Raises
    ------
    RequestValidationError : the framework's errors of a body that is no completion, and of each wrong heartbeat.
    """
    try:
        content = orjson.loads(body)
    except orjson.JSONDecodeError as unreadable:
        unread = {"type": "json_invalid", "loc": ("body", unreadable.pos), "ctx": {"error": unreadable.msg}}
        raise RequestValidationError([unread | {"msg": unreadable.msg}]) from unreadable
    wrong: list[Any] = []
    if isinstance(content, dict) and isinstance(content.get("heartbeats"), list):
        beats = content["heartbeats"]
        if len(beats) > MAX_LATE_HEARTBEATS:
            raise RequestValidationError([_TOO_MANY])
        read = [_read(SpooledHeartbeat, each, wrong, "heartbeats", number) for number, each in enumerate(beats)]
        content["heartbeats"] = [each for each in read if each is not None]
    completion = _read(Completion, content, wrong)
    if wrong or completion is None:
        raise RequestValidationError(wrong)
    return completion


def _read(model: type[Model], content: Any, wrong: list[Any], *place: str | int) -> Model | None:
    """Return the model; ``None`` where it is not valid, with the errors added to ``wrong``."""
    try:
        return model.model_validate(content)
    except ValidationError as error:
        errors = error.errors(include_url=False, include_context=False)
        wrong += [each | {"loc": ("body", *place, *each["loc"])} for each in errors]
        return None
