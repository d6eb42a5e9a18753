"""Sign in at an OpenID provider: redirect to it, and handle the way back."""

from typing import Annotated

from fastapi import Query, Request, Response

from services.admin.access.account import begin_session, refuse_sign_in
from services.admin.rendering import build_page_router, go_to
from services.admin.visitors import HOME, Parts, own_address
from services.application.access.pending_sign_ins import (
    PENDING_S,
    PendingSignIn,
    open_sign_in,
    seal_sign_in,
)
from services.application.access.single_sign_on import SingleSignOn
from services.bootstrap import Container, SignOn
from tradewind.errors import NotFound, Unauthenticated, Unavailable

router = build_page_router("/sign-in/oidc")

COOKIE = "tradewind_sign_in"
PATH = "/admin/sign-in/oidc"
LONGEST_ANSWER = 4_096

Text = Annotated[str, Query(max_length=LONGEST_ANSWER)]


@router.get("")
def begin(request: Request, parts: Parts, next: str = HOME) -> Response:  # noqa: A002 -- in the address
    """Send the browser to the provider."""
    sign_on = _require_sign_on(parts)
    try:
        started = sign_on.provider.begin(_build_callback_url(request))
        pending = PendingSignIn(
            state=started.state, nonce=started.nonce, verifier=started.verifier, next=own_address(next)
        )
        sealed = seal_sign_in(pending, key=parts.sealing_key.read(), now=parts.clock.now())
    except Unavailable as away:
        return refuse_sign_in(request, parts, next, away)
    response = go_to(request, started.address)
    # Lax: the provider sends the browser back here from its own site.
    response.set_cookie(
        COOKIE,
        sealed,
        path=PATH,
        httponly=True,
        samesite="lax",
        secure=request.url.scheme == "https",
        max_age=PENDING_S,
    )
    return response


@router.get("/back")
def finish_sign_in(request: Request, parts: Parts, state: Text = "", code: Text = "", error: Text = "") -> Response:
    """Start a session for the user that the provider names; change nothing where its answer is not valid."""
    sign_on, next_page = _require_sign_on(parts), HOME
    try:
        sealed = request.cookies.get(COOKIE, "")
        pending = open_sign_in(sealed, state, key=parts.sealing_key.read(), now=parts.clock.now())
        next_page = pending.next
        secret = _open_session(request, parts, sign_on, pending, code="" if error else code)
    except (Unauthenticated, Unavailable) as refused:
        response = refuse_sign_in(request, parts, next_page, refused)
    else:
        response = begin_session(request, go_to(request, next_page), secret)
    response.delete_cookie(COOKIE, path=PATH)
    return response


def _require_sign_on(parts: Container) -> SignOn:
    if parts.options.sign_on is None:
        raise NotFound("no OpenID provider is set up here")
    return parts.options.sign_on


def _build_callback_url(request: Request) -> str:
    return f"{request.url.scheme}://{request.url.netloc}{PATH}/back"


def _open_session(request: Request, parts: Container, sign_on: SignOn, pending: PendingSignIn, *, code: str) -> str:
    """Return the secret of a new session."""
    if not code:
        raise Unauthenticated("you are not signed in: the provider or you refused")
    identity = sign_on.provider.finish(
        code, callback=_build_callback_url(request), nonce=pending.nonce, verifier=pending.verifier
    )
    registry = parts.store.registry
    return SingleSignOn(
        sign_on.rules,
        registry.find_tenant,
        registry.find_user,
        registry.find_identity,
        parts.store.unit_of_work,
        parts.clock,
    ).sign_in(identity)
