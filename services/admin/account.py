"""Signing in and out, and one's own password."""

from http import HTTPStatus
from typing import Annotated

from fastapi import Form, Request, Response

from services.admin.pages import ONE_LINE, done, go_to, page, page_router
from services.admin.visitors import COOKIE, HOME, SIGN_IN, AnyVisit, MaybeVisit, SignInsOf, own_address
from services.application.passwords import MAX_LENGTH, MIN_LENGTH
from services.application.sign_in import LONGEST_SESSION
from services.application.users import MAX_LOGIN_LENGTH
from tradewind.errors import InvalidValue, Unauthenticated

router = page_router()

Login = Annotated[str, Form(max_length=MAX_LOGIN_LENGTH, pattern=ONE_LINE)]
Password = Annotated[str, Form(max_length=MAX_LENGTH)]
Next = Annotated[str, Form()]


@router.get("/sign-in")
def sign_in_page(request: Request, visit: MaybeVisit, next: str = HOME) -> Response:  # noqa: A002 -- in the address
    """The form to sign in by; who is in already goes on."""
    if visit is not None:
        return go_to(request, own_address(next))
    return page(request, "sign_in.html", None, next=own_address(next), login="", problem="")


@router.post("/sign-in")
def sign_in(request: Request, sign_ins: SignInsOf, login: Login, password: Password, next: Next = HOME) -> Response:  # noqa: A002
    """Begin a session."""
    try:
        secret = sign_ins.sign_in(login, password)
    except Unauthenticated as refused:
        return page(
            request,
            "sign_in.html",
            None,
            status=HTTPStatus.UNAUTHORIZED,
            next=own_address(next),
            login=login,
            problem=f"{refused}.".capitalize(),
        )
    response = go_to(request, own_address(next))
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


@router.post("/sign-out")
def sign_out(request: Request, visit: AnyVisit, sign_ins: SignInsOf) -> Response:
    """End this session."""
    sign_ins.sign_out(visit.visitor, visit.secret)
    response = done(request, SIGN_IN, "You are signed out.")
    response.delete_cookie(COOKIE, path="/admin")
    return response


@router.get("/account")
def account_page(request: Request, visit: AnyVisit) -> Response:
    """One's own account."""
    return page(request, "account.html", visit, min_length=MIN_LENGTH)


@router.post("/account/password")
def change_password(
    request: Request, visit: AnyVisit, sign_ins: SignInsOf, *, old: Password, new: Password, again: Password
) -> Response:
    """Another password for oneself."""
    if new != again:
        raise InvalidValue("again", "is not the same as the new password")
    sign_ins.change_password(visit.visitor, visit.secret, old=old, new=new)
    return done(request, HOME, "Your password is changed; your other sessions have ended.")
