"""Who is looking at a page, and whether a form comes from one of our pages."""

import json
import secrets
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import quote, urlsplit
from uuid import UUID

from fastapi import Depends, Request, Response
from starlette.datastructures import URL
from structlog.contextvars import bind_contextvars

from services.application.access.authenticate import Scope
from services.application.access.sign_in import SignIns, Visitor, derive_form_token, is_form_token
from services.application.limits.rate_limits import CallKind
from services.application.shared.submissions import SubmissionKey
from services.bootstrap import Container
from services.idempotent_requests import LONGEST_TOKEN, claim, derive_submission_key
from tradewind.errors import NotPermitted, TooOften, TradewindError

COOKIE = "tradewind_session"
HOME, SIGN_IN, PASSWORD = "/admin", "/admin/sign-in", "/admin/account"
SAFE_METHODS = frozenset({"GET", "HEAD"})
TOKEN_FIELD, TOKEN_HEADER, ONCE_FIELD = "form_token", "x-form-token", "once"
LONGEST_ADDRESS = 2000
"""Longest address of a page to return to, which is also stored for unauthenticated clients while they sign in."""

LONGEST_FORM_FIELDS = 4000
"""Tables of prices have four a tier; the clusters of a link are sent together."""

LIVE = "/live"
"""End of addresses that an open page requests by itself."""


class SentElsewhere(TradewindError):
    """The page cannot be shown now; the visitor is sent to ``address``."""

    def __init__(self, address: str) -> None:
        super().__init__(f"see {address}")
        self.address = address


async def _find_container(request: Request) -> Container:
    container: Container = request.app.state.container
    return container


Parts = Annotated[Container, Depends(_find_container)]


def _sign_ins(parts: Parts) -> SignIns:
    return SignIns(
        parts.store.registry.find_user,
        parts.store.registry.find_session,
        parts.store.unit_of_work,
        parts.clock,
        parts.passwords,
    )


SignInsOf = Annotated[SignIns, Depends(_sign_ins)]


@dataclass(frozen=True, slots=True)
class Visit:
    """A signed-in user and the secret of their session."""

    visitor: Visitor
    secret: str

    @property
    def token(self) -> str:
        """Return the token that every form carries."""
        return derive_form_token(self.secret)

    def new_once(self) -> str:
        """Return a token for one form, by which it is recognised when it is sent twice."""
        return secrets.token_urlsafe(16)


async def _own_form(request: Request) -> None:
    """Refuse a form that another site made the browser send.

    The browser says where a request comes from; a client that does not is no browser, and has no use for a cookie.
    """
    if request.method in SAFE_METHODS:
        return
    came_from = request.headers.get("sec-fetch-site")
    origin = request.headers.get("origin")
    foreign = came_from not in (None, "same-origin", "none")
    foreign |= origin is not None and urlsplit(origin).netloc != request.headers.get("host")
    if foreign:
        raise NotPermitted("this form was sent from another site")


OwnForm = Depends(_own_form)


@dataclass(frozen=True, slots=True)
class Claimed:
    """A form with a token of its own, which this request is the first to send."""

    tenant_id: UUID
    key: SubmissionKey


class SentBefore(TradewindError):
    """The same form was sent before; ``response`` is its answer."""

    def __init__(self, response: Response) -> None:
        super().__init__("this form was sent before")
        self.response = response


async def _claim_form(request: Request, visit: Visit, parts: Container) -> None:
    """Claim a form that has a token of its own, so that it is done once.

    Other content with the same token is another form: the visitor may have gone back to its page.
    """
    if TOKEN_HEADER in request.headers:
        return
    form = await request.form(max_files=0, max_fields=LONGEST_FORM_FIELDS)
    token = form.get(ONCE_FIELD)
    if not isinstance(token, str) or not 0 < len(token) <= LONGEST_TOKEN:
        return
    content = json.dumps([(name, str(value)) for name, value in form.multi_items() if name != TOKEN_FIELD])
    key = derive_submission_key(visit.secret, f"{request.url.path}\0{content}", token, content.encode())
    tenant_id = visit.visitor.tenant_id
    if (response := await claim(parts, tenant_id, key)) is not None:
        raise SentBefore(response)
    request.state.claimed = Claimed(tenant_id, key)


async def _read_sent_token(request: Request) -> str:
    if TOKEN_HEADER in request.headers:
        return request.headers[TOKEN_HEADER]
    sent = (await request.form(max_files=0, max_fields=LONGEST_FORM_FIELDS)).get(TOKEN_FIELD)
    return sent if isinstance(sent, str) else ""


def _find(request: Request, sign_ins: SignInsOf) -> Visit | None:
    secret = request.cookies.get(COOKIE)
    by_itself = request.url.path.endswith(LIVE)
    visitor = sign_ins.find_visitor(secret, looks_by_itself=by_itself) if secret else None
    return None if secret is None or visitor is None else Visit(visitor, secret)


MaybeVisit = Annotated[Visit | None, Depends(_find)]


async def require_session(request: Request, visit: MaybeVisit, parts: Parts) -> Visit:
    """Return the signed-in visitor, and check that a form is of their session."""
    if visit is None:
        raise SentElsewhere(sign_in_address(request))
    request.state.visit = visit  # a refusal is shown with the navigation of its visitor
    if request.method not in SAFE_METHODS and not is_form_token(await _read_sent_token(request), visit.secret):
        raise NotPermitted("this form is not of your session; load the page again")
    bind_contextvars(tenant_id=str(visit.visitor.tenant_id))
    try:
        parts.rate_limits.require(visit.visitor.principal, CallKind.PAGE)
    except TooOften:
        parts.metrics.calls_refused.labels(CallKind.PAGE).inc()
        raise
    if request.method not in SAFE_METHODS:
        await _claim_form(request, visit, parts)
    return visit


AnyVisit = Annotated[Visit, Depends(require_session)]
"""Signed in, possibly with a password that must be changed."""


async def _require_changed_password(visit: AnyVisit) -> Visit:
    if visit.visitor.user.must_change_password:
        raise SentElsewhere(PASSWORD)
    return visit


Signed = Annotated[Visit, Depends(_require_changed_password)]
"""Any role."""


@dataclass(frozen=True, slots=True)
class RoleOf:
    """A dependency that requires a user with one of ``roles``."""

    roles: frozenset[Scope]

    async def __call__(self, visit: Signed) -> Visit:
        visit.visitor.require(*sorted(self.roles))
        return visit


Operator = Annotated[Visit, Depends(RoleOf(frozenset({Scope.OPERATOR})))]
Provider = Annotated[Visit, Depends(RoleOf(frozenset({Scope.PROVIDER, Scope.OPERATOR})))]
Analyst = Annotated[Visit, Depends(RoleOf(frozenset({Scope.ANALYST, Scope.OPERATOR})))]


def sign_in_address(request: Request) -> str:
    """Return the address of the sign-in page that leads back to the requested page, or to that of a form."""
    page = _find_page_of_form(request) if request.method not in SAFE_METHODS else request.url
    requested = page.path + (f"?{page.query}" if page.query else "")
    return SIGN_IN if requested == HOME else f"{SIGN_IN}?next={quote(requested, safe='')}"


def _find_page_of_form(request: Request) -> URL:
    """Return the page that a form was sent from, as the browser says; else the form's address, which leads to it."""
    page = URL(request.headers.get("referer", ""))
    is_own = page.netloc == request.headers.get("host") and page.path.startswith(HOME)
    return page if is_own and page.path != SIGN_IN else request.url


def own_address(address: str | None) -> str:
    """Return ``address`` if it is one of our pages, else the overview."""
    if address is None or len(address) > LONGEST_ADDRESS or not (address == HOME or address.startswith(f"{HOME}/")):
        return HOME
    plain = address.isascii() and address.isprintable()  # as addresses are written, and as headers carry them
    return address if plain and "\\" not in address and "//" not in address else HOME
