"""Render pages: templates, the frame around them, and what a refused form looks like."""

import json
from collections.abc import Callable, Coroutine, Mapping
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import quote, unquote

from fastapi import APIRouter, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, RedirectResponse
from fastapi.routing import APIRoute
from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from services.admin.formatting.audit_entries import format_action, format_detail
from services.admin.formatting.field_labels import find_input_name, format_refusal
from services.admin.formatting.no_model import explain_no_model
from services.admin.formatting.plain_words import format_decision, format_odds, format_reason, format_setting
from services.admin.formatting.price_forms import format_decimal, format_price
from services.admin.navigation import OVERVIEW, SECTIONS, list_sections
from services.admin.static_files import build_asset_address
from services.admin.visitors import SAFE_METHODS, Claimed, OwnForm, SentBefore, SentElsewhere, Visit
from services.application.models.current_cluster import ClusterSuperseded
from services.idempotent_requests import release_claim, store_response
from services.statuses import find_status
from tradewind.errors import TradewindError
from tradewind.units import (
    format_bps,
    format_bytes,
    format_count,
    format_joules,
    format_measured_seconds,
    format_probability,
    format_seconds,
)
from tradewind.wire.base import describe_validation_error

ONE_LINE = r"^[^\x00-\x1f]*$"
"""Text of one line, possibly empty, without control characters, which no name has."""

STORABLE = r"^[^\x00]*$"
"""Text of several lines without NUL, which PostgreSQL's text cannot hold."""

MESSAGE_COOKIE = "tradewind_said"
"""Cookie with one sentence for the next page."""

UNSENT_COOKIE, UNSENT_S = "tradewind_unsent", 900
"""Reports to the script of the pages that a form was not done because its session had ended; it holds nothing else."""

HEADERS = MappingProxyType(
    {
        # The browser itself keeps pages from requesting another origin. Charts set styles of single elements,
        # which pages do not have and text cannot add: every template escapes.
        "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
        "style-src-attr 'unsafe-inline'; "
        "img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; "
        "frame-ancestors 'none'",
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "same-origin",
        "Cache-Control": "no-store",
    }
)

WITH_SHADERS = MappingProxyType(
    {
        # The library that draws in three dimensions evaluates the bounds of loops in its own shaders.
        "Content-Security-Policy": HEADERS["Content-Security-Policy"].replace(
            "script-src 'self'", "script-src 'self' 'unsafe-eval'"
        )
    }
)
"""Headers of pages with a chart in three dimensions."""


_ADVICE: Mapping[HTTPStatus, str] = MappingProxyType(
    {
        HTTPStatus.FORBIDDEN: "Ask an operator of your organisation to give you the role, or sign in as another user.",
        HTTPStatus.NOT_FOUND: "It may have been removed, or the address has a mistake. Choose a page from the menu.",
        HTTPStatus.CONFLICT: "Load the page again to see how things are now.",
        HTTPStatus.UNPROCESSABLE_ENTITY: "This address cannot be shown. Open the section and choose again.",
        HTTPStatus.SERVICE_UNAVAILABLE: "Load the page again in a moment.",
    }
)
"""By the status of the refusal."""

_USUAL_PORT = MappingProxyType({"http": ":80", "https": ":443"})


def _format_date(at: datetime | None) -> str:
    return "–" if at is None else at.astimezone(UTC).strftime("%Y-%m-%d %H:%M")


def _format_ago(at: datetime | None, now: datetime) -> str:
    """Return how long ago a time was, in the largest unit, such as ``3 h ago``."""
    if at is None:
        return "never"
    seconds = (now - at).total_seconds()
    for unit, length_s in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= length_s:
            return f"{seconds / length_s:.0f} {unit} ago"
    return "just now"


def _format_if_known(write: Callable[[float], str], value: float | None) -> str:
    return "–" if value is None else write(value)


def _format_percent(value: float | None, digits: int = 0) -> str:
    return "–" if value is None else f"{100 * value:.{digits}f} %"


def _format_origin(name: str) -> str:
    """Return the origin of an address without the default port of its scheme."""
    scheme, _, rest = name.partition("://")
    return f"{scheme}://{rest.removesuffix(_USUAL_PORT[scheme])}" if scheme in _USUAL_PORT else name


def _build_environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).with_name("templates")),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "bps": partial(_format_if_known, format_bps),
        "bytes": partial(_format_if_known, format_bytes),
        "no_model": explain_no_model,
        "joules": partial(_format_if_known, format_joules),
        "action": format_action,
        "decimal": format_decimal,
        "detail": format_detail,
        "price": format_price,
        "seconds": partial(_format_if_known, format_seconds),
        "measured_seconds": partial(_format_if_known, format_measured_seconds),
        "count": format_count,
        "date": _format_date,
        "ago": _format_ago,
        "percent": _format_percent,
        "probability": format_probability,
        "setting": format_setting,
        "odds": format_odds,
        "decision": format_decision,
        "reason": format_reason,
        "origin": _format_origin,
        "thousands": lambda number: f"{number:,}".replace(",", "\u202f"),
    }
    environment.globals["asset"] = build_asset_address
    environment.policies["json.dumps_kwargs"] = {"ensure_ascii": True, "allow_nan": False}
    return environment


_TEMPLATES = _build_environment()


def render_page(
    request: Request, template: str, visit: Visit | None, *, status: HTTPStatus = HTTPStatus.OK, **context: Any
) -> Response:
    """Return a page, or the part of one that a template is."""
    now = request.app.state.container.clock.now()
    framed = {
        "visit": visit,
        "sections": () if visit is None else list_sections(visit.visitor),
        "path": request.url.path,
        "now": now,
        "notice": request.app.state.notice,
        "message": unquote(request.cookies.get(MESSAGE_COOKIE, "")),
        **context,
    }
    response = HTMLResponse(_TEMPLATES.get_template(template).render(framed), status, dict(HEADERS))
    if framed["message"]:
        response.delete_cookie(MESSAGE_COOKIE, path="/admin")
    return response


def render_fragment(template: str, **context: Any) -> str:
    """Return a part of a page."""
    return _TEMPLATES.get_template(template).render(context)


def redirect_after_form(request: Request, address: str, message: str = "") -> Response:
    """Redirect after a form to a page, which shows what was done."""
    response = go_to(request, address)
    if message:
        response.set_cookie(MESSAGE_COOKIE, quote(message), path="/admin", httponly=True, samesite="lax", max_age=60)
    return response


def go_to(request: Request, address: str) -> Response:
    """Redirect the browser to another page, also where a script sent the request."""
    if "hx-request" in request.headers:
        return Response(headers={"HX-Redirect": address, **HEADERS})
    return RedirectResponse(address, HTTPStatus.SEE_OTHER, dict(HEADERS))


class PageRoute(APIRoute):
    """A route that shows an error as a sentence next to the form that a script sent, else as a page."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        answer = super().get_route_handler()

        async def handle(request: Request) -> Response:
            response = None
            try:
                response = await answer(request)
            except SentBefore as before:
                return before.response
            except (TradewindError, RequestValidationError) as error:
                return _explain_refusal(request, error)
            finally:
                await _finish_claim(request, response)
            return response

        return handle


def _explain_refusal(request: Request, error: TradewindError | RequestValidationError) -> Response:
    """Return the page that explains why a page or a form was refused."""
    if isinstance(error, SentElsewhere):
        response = go_to(request, error.address)
        if request.method not in SAFE_METHODS:  # the page of the form then shows what was typed again
            response.set_cookie(UNSENT_COOKIE, "1", path="/admin", samesite="lax", max_age=UNSENT_S)
        return response
    if isinstance(error, ClusterSuperseded) and request.method == "GET":
        return redirect_after_form(request, f"/admin/links/{error.link_id}", f"{str(error).capitalize()}.")
    return render_refusal(
        request, describe_validation_error(_of_form(error)) if isinstance(error, RequestValidationError) else error
    )


async def _finish_claim(request: Request, response: Response | None) -> None:
    """Store the answer to a form with a token of its own; ``None`` where it was refused."""
    claimed: Claimed | None = getattr(request.state, "claimed", None)
    if claimed is None:
        return
    parts = request.app.state.container
    if response is None:
        await release_claim(parts, claimed.tenant_id, claimed.key)
    else:
        await store_response(parts, claimed.tenant_id, claimed.key, response)


def _of_form(error: RequestValidationError) -> Any:
    """Return the first of the errors, with its field as the form names it."""
    first = dict(error.errors()[0])
    return first | {"loc": first["loc"][1:]}


def render_refusal(request: Request, error: TradewindError) -> Response:
    """Return a refusal as a page, or in place of a part of one."""
    status, title = find_status(error)
    if "hx-request" in request.headers:
        field = find_input_name(error)
        response = render_page(request, "refused.html", None, status=status, error=format_refusal(error), field=field)
        response.headers["HX-Retarget"] = "#refused"
        response.headers["HX-Reswap"] = "innerHTML show:top"
        response.headers["HX-Push-Url"] = "false"  # the form's own address is no page to load again
        return response
    visit: Visit | None = getattr(request.state, "visit", None)
    return render_page(
        request,
        "refused_page.html",
        visit,
        status=status,
        title=title,
        error=format_refusal(error),
        advice=_advise(request, status),
        above=_find_page_above(request.url.path),
    )


def _advise(request: Request, status: HTTPStatus) -> str:
    """Return what the visitor can do about a refusal."""
    if request.method == "POST" and status is not HTTPStatus.FORBIDDEN:
        return "Go back and correct it: your browser keeps what you typed."
    return _ADVICE.get(status, "")


def _find_page_above(path: str) -> str:
    """Return the address of the section that a page belongs to, or the overview."""
    section = "/".join(path.split("/")[:3])
    known = {entry.address for each in SECTIONS for entry in each.entries}
    return section if section in known and section != path else OVERVIEW


def build_page_router(below: str = "") -> APIRouter:
    """Return a router of pages, which are no part of the API's description."""
    return APIRouter(prefix=f"/admin{below}", include_in_schema=False, route_class=PageRoute, dependencies=[OwnForm])


def encode_chart(options: dict[str, Any]) -> str:
    """Return the options of a chart for the attribute that ``charts.js`` reads."""
    return json.dumps(options, separators=(",", ":"), allow_nan=False, default=str)
