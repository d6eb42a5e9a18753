"""Errors as problem documents (RFC 9457)."""

from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel
from pydantic_core import ErrorDetails
from starlette.exceptions import HTTPException
from structlog.contextvars import get_contextvars

from services.application.shared.jobs import REQUEST_ID
from services.observability.telemetry import Event
from services.statuses import find_status
from tradewind import errors
from tradewind.wire.base import describe_validation_error

MEDIA_TYPE = "application/problem+json"
RETRY_AFTER_S = 2
UNREADABLE = 400
"""Status that the framework gives to a body that it cannot decode; the cause is chained."""


class FieldProblem(BaseModel):
    field: str
    reason: str


class Problem(BaseModel):
    """What went wrong. ``errors`` names fields where they are to blame."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    errors: list[FieldProblem] = []


PROBLEM_RESPONSES: dict[int | str, dict[str, Any]] = {
    "4XX": {"description": "The request cannot be served.", "model": Problem},
    "5XX": {"description": "The service cannot serve it now.", "model": Problem},
}


def make_problem(
    status: int,
    title: str,
    detail: str,
    *,
    fields: tuple[FieldProblem, ...] = (),
    headers: Mapping[str, str] | None = None,
    **extensions: Any,
) -> Response:
    """Return a problem document as an answer; ``extensions`` are members of its own."""
    content: dict[str, Any] = {"type": "about:blank", "title": title, "status": status, "detail": detail}
    if fields:
        content["errors"] = [field.model_dump() for field in fields]
    return JSONResponse(content | extensions, status_code=status, media_type=MEDIA_TYPE, headers=headers)


def install_handlers(app: FastAPI) -> None:
    """Answer every error of the application as a problem."""
    app.add_exception_handler(errors.TradewindError, _answer_domain_error)
    app.add_exception_handler(RequestValidationError, _request_error)
    app.add_exception_handler(HTTPException, _answer_http_error)
    app.add_exception_handler(Exception, _handle_defect)


async def _answer_domain_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, errors.TradewindError)
    return to_problem(error)


def to_problem(error: errors.TradewindError) -> Response:
    """Return the problem document of an error of this project."""
    status, title = find_status(error)
    fields = (FieldProblem(field=error.field, reason=error.reason),) if isinstance(error, errors.InvalidValue) else ()
    members = {"sqlstate": error.sqlstate, "position": error.position} if isinstance(error, errors.QueryRefused) else {}
    extensions = {name: value for name, value in members.items() if value is not None}
    return make_problem(status, title, str(error), fields=fields, headers=_find_headers(error, status), **extensions)


def _find_headers(error: errors.TradewindError, status: int) -> Mapping[str, str] | None:
    """Return headers for programs: how to authenticate, or when to retry.

    References
    ----------
    draft-ietf-httpapi-ratelimit-headers-10, "RateLimit header fields for HTTP".
    """
    if isinstance(error, errors.TooOften):
        return {
            "Retry-After": str(error.retry_after_s),
            "RateLimit-Policy": f'"{error.kind}";q={error.calls};w={error.window_s}',
            "RateLimit": f'"{error.kind}";r=0;t={error.retry_after_s}',
        }
    if isinstance(error, errors.TooManyLive):
        return {"Retry-After": str(error.retry_after_s)}
    return {
        401: {"WWW-Authenticate": 'Bearer realm="tradewind"'},
        503: {"Retry-After": str(RETRY_AFTER_S)},
    }.get(status)


async def _request_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    fields = [_build_field_problem(each, error.body) for each in _own_faults(error.errors())]
    detail = "; ".join(f"{field.field}: {field.reason}" for field in fields)
    return make_problem(422, "Invalid value", detail, fields=tuple(fields))


def _own_faults(found: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the errors without those of lists that the framework takes for too short only because an item is wrong."""
    places = [each["loc"] for each in found]
    return [
        each
        for each in found
        if not (each["type"] == "too_short" and any(_lies_within(place, each["loc"]) for place in places))
    ]


def _lies_within(place: tuple[Any, ...], outer: tuple[Any, ...]) -> bool:
    return len(place) > len(outer) and place[: len(outer)] == outer


def _build_field_problem(error: Mapping[str, Any], body: Any) -> FieldProblem:
    """Return one of the framework's errors in words; a body is bytes where its type did not call it JSON."""
    if error["type"] == "json_invalid":
        at = f"{error['ctx']['error']} at character {error['loc'][1]}"
        return FieldProblem(field="body", reason=f"is not valid JSON: {at}")
    is_body = len(error["loc"]) == 1
    if is_body and isinstance(body, bytes):
        return FieldProblem(field="body", reason="is no JSON by its type; send it with Content-Type: application/json")
    if is_body and error["type"] == "model_attributes_type":
        return FieldProblem(field="body", reason="must be a JSON object")
    wrong = describe_validation_error(
        ErrorDetails(type=error["type"], loc=tuple(error["loc"][1:]), msg=error["msg"], input=None)
    )
    return FieldProblem(field="body" if wrong.field == "row" else wrong.field, reason=wrong.reason)


async def _answer_http_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == UNREADABLE and error.__cause__ is not None:
        reason = "cannot be read: send JSON in UTF-8, not compressed and not nested deeply"
        return make_problem(
            UNREADABLE, "Invalid body", f"body: {reason}", fields=(FieldProblem(field="body", reason=reason),)
        )
    return make_problem(error.status_code, str(error.detail), str(error.detail), headers=error.headers)


async def _handle_defect(request: Request, error: Exception) -> Response:
    """Log an unexpected error, and tell the caller only its id."""
    about = {name: str(value) for name, value in request.path_params.items() if name.endswith("_id")}
    request.app.state.container.log.error(Event.REQUEST_FAILED, path=request.url.path, **about, exc_info=error)
    name = get_contextvars().get(REQUEST_ID, "")
    detail = f"the service failed; the operator's log says how, at {REQUEST_ID} {name}"
    return make_problem(500, "Internal error", detail, headers={"X-Request-ID": name})


def describe_problems(app: FastAPI) -> None:
    """Describe problems in the API's description as they are sent."""
    described = app.openapi
    app.openapi = lambda: _as_problems(described())  # type: ignore[method-assign]  # the documented way to extend it


def _as_problems(document: dict[str, Any]) -> dict[str, Any]:
    """Return the API's description with problems under their media type, without the errors that the framework
    assumes.
    """
    for operation in (each for path in document["paths"].values() for each in path.values()):
        for status, response in list(operation["responses"].items()):
            content = response.get("content", {})
            schema = content.get("application/json", {}).get("schema", {}).get("$ref", "")
            if schema.endswith("/Problem"):
                content[MEDIA_TYPE] = content.pop("application/json")
            elif schema.endswith("/HTTPValidationError"):
                del operation["responses"][status]  # sent as a problem, which 4XX describes
    for unused in ("HTTPValidationError", "ValidationError"):
        document["components"]["schemas"].pop(unused, None)
    return document
