"""Sign in and out, and change your own password."""

from http import HTTPStatus
from typing import Annotated

from fastapi import Form, Request, Response

from services.admin.rendering import ONE_LINE, build_page_router, go_to, redirect_after_form, render_page
from services.admin.visitors import (
    COOKIE,
    HOME,
    PASSWORD,
    SIGN_IN,
    Analyst,
    AnyVisit,
    MaybeVisit,
    Parts,
    SignInsOf,
    own_address,
)
from services.application.access.passwords import MAX_LENGTH, MIN_LENGTH
from services.application.access.sign_in import LONGEST_SESSION
from services.application.access.sign_in_networks import find_network
from services.application.access.users import MAX_LOGIN_LENGTH, READING_ROLES
from services.application.warehouse.database_accounts import create_personal_login, revoke_personal_login
from services.bootstrap import Container
from services.statuses import find_status
from tradewind.errors import InvalidValue, Unauthenticated, Unavailable

router = build_page_router()

Login = Annotated[str, Form(max_length=MAX_LOGIN_LENGTH, pattern=ONE_LINE)]
Password = Annotated[str, Form(max_length=MAX_LENGTH)]
Next = Annotated[str, Form()]


@router.get("/sign-in")
def sign_in_page(request: Request, visit: MaybeVisit, parts: Parts, next: str = HOME) -> Response:  # noqa: A002 -- in the address
    """Show the sign-in form; send a visitor who is signed in already to the next page."""
    if visit is not None:
        return go_to(request, own_address(next))
    return _sign_in_form(request, parts, next)


def refuse_sign_in(
    request: Request,
    parts: Container,
    next: str,  # noqa: A002
    reason: Unauthenticated | Unavailable,
    *,
    login: str = "",
) -> Response:
    """Return the form again with the reason of the refusal.

    The log has no login: some visitors type their password there.
    """
    visitor = request.client.host if request.client else None
    parts.metrics.sign_ins_refused.inc()
    parts.refused_sign_ins.add(visitor, path=request.url.path, reason=str(reason))
    status = find_status(reason)[0]
    return _sign_in_form(request, parts, next, login=login, problem=str(reason), status=status)


def _sign_in_form(
    request: Request,
    parts: Container,
    next: str,  # noqa: A002
    *,
    login: str = "",
    problem: str = "",
    status: HTTPStatus = HTTPStatus.OK,
) -> Response:
    return render_page(
        request,
        "sign_in.html",
        None,
        status=status,
        next=own_address(next),
        login=login,
        problem=f"{problem[:1].upper()}{problem[1:]}." if problem else "",
        provider=None if parts.options.sign_on is None else parts.options.sign_on.provider.provider.name,
    )


def begin_session(request: Request, response: Response, secret: str) -> Response:
    """Set the session cookie on a response and return it."""
    response.set_cookie(
        COOKIE,
        secret,
        path="/admin",
        httponly=True,
        samesite="lax",
        secure=request.url.scheme == "https",
        max_age=int(LONGEST_SESSION.total_seconds()),
    )
    return response


@router.post("/sign-in")
def sign_in(
    request: Request,
    sign_ins: SignInsOf,
    parts: Parts,
    *,
    login: Login,
    password: Password,
    next: Next = HOME,  # noqa: A002
) -> Response:
    """Start a session."""
    try:
        network = find_network(request.client.host if request.client else None)
        secret = sign_ins.sign_in(login, password, network=network)
    except (Unauthenticated, Unavailable) as refused:
        return refuse_sign_in(request, parts, next, refused, login=login)
    return begin_session(request, go_to(request, own_address(next)), secret)


@router.post("/sign-out")
def sign_out(request: Request, visit: AnyVisit, sign_ins: SignInsOf) -> Response:
    """End this session."""
    sign_ins.sign_out(visit.visitor, visit.secret)
    response = redirect_after_form(request, SIGN_IN, "You are signed out.")
    response.delete_cookie(COOKIE, path="/admin")
    return response


@router.get("/account")
def account_page(request: Request, visit: AnyVisit, parts: Parts) -> Response:
    """Show the visitor's own account."""
    with parts.store.unit_of_work(visit.visitor.tenant_id) as uow:
        login = uow.warehouse_logins.find_personal(visit.visitor.user.id)
    reads = visit.visitor.may(*READING_ROLES)
    return render_page(request, "account.html", visit, min_length=MIN_LENGTH, reads=reads, database_login=login)


@router.post("/account/database-login")
def make_database_login(request: Request, visit: Analyst, parts: Parts) -> Response:
    """Create the visitor's own database account and show its address once; an earlier one stops working."""
    with parts.store.unit_of_work(visit.visitor.tenant_id, visit.visitor.actor) as uow:
        login = create_personal_login(visit.visitor, uow=uow, clock=parts.clock)
    return render_page(
        request,
        "secret.html",
        visit,
        status=HTTPStatus.CREATED,
        title="Your database login",
        secret=parts.warehouse.build_address(login),
        explanation="For psql, Jupyter, Grafana or Superset: it reads the views of the warehouse, and writes nothing. "
        "It is shown this once and kept nowhere; whoever has it reads as you.",
        back=PASSWORD,
    )


@router.post("/account/database-login/revoke")
def revoke_database_login(request: Request, visit: Analyst, parts: Parts) -> Response:
    """Revoke the visitor's own database account."""
    with parts.store.unit_of_work(visit.visitor.tenant_id, visit.visitor.actor) as uow:
        revoke_personal_login(visit.visitor, uow=uow)
    return redirect_after_form(request, PASSWORD, "Your database login is revoked, and its sessions have ended.")


@router.post("/account/password")
def change_password(
    request: Request, visit: AnyVisit, sign_ins: SignInsOf, *, old: Password, new: Password, again: Password
) -> Response:
    """Change the visitor's own password."""
    if new != again:
        raise InvalidValue("again", "is not the same as the new password")
    sign_ins.change_password(visit.visitor, visit.secret, old=old, new=new)
    return redirect_after_form(request, HOME, "Your password is changed; your other sessions have ended.")
