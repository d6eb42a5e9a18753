"""*Users*: who may sign in, and with which roles."""

from collections.abc import Mapping
from http import HTTPStatus
from types import MappingProxyType
from typing import Annotated
from uuid import UUID

from fastapi import Depends, Form, Request, Response

from services.admin.lists import Filters, FiltersOf, ListColumn, ListFilters, show_list
from services.admin.rendering import build_page_router, redirect_after_form, render_page
from services.admin.visitors import Operator, Parts
from services.application.access.users import (
    MAX_LOGIN_LENGTH,
    ROLES,
    User,
    add_user,
    change_roles,
    delete_user,
    disable_user,
    enable_user,
    invite_user,
    remove_password,
    reset_password,
)
from tradewind.errors import Conflict

router = build_page_router("/users")

HERE = "/admin/users"
Roles = Annotated[list[str], Form(min_length=1)]


COLUMNS: Mapping[str, ListColumn[User]] = MappingProxyType(
    {
        "login": ListColumn("Login", lambda user: user.login),
        "roles": ListColumn("Roles", lambda user: " ".join(sorted(user.roles))),
        "seen": ListColumn("Last sign-in", lambda user: user.last_sign_in_at, is_number=True),
        "state": ListColumn("State", lambda user: user.disabled_at is not None),
    }
)


@router.get("")
def users_page(
    request: Request,
    visit: Operator,
    parts: Parts,
    filters: Annotated[Filters[ListFilters], Depends(FiltersOf(ListFilters))],
) -> Response:
    """List the users of the tenant."""
    with parts.store.unit_of_work(visit.visitor.tenant_id) as uow:
        users = uow.users.list_all()
    return render_page(
        request,
        "users.html",
        visit,
        users=show_list(
            users,
            COLUMNS,
            filters,
            text_of=lambda user: (user.login, *user.roles, "disabled" if user.disabled_at else None),
        ),
        roles=ROLES,
        provider=parts.options.sign_on is not None,
    )


@router.post("")
def add(
    request: Request,
    visit: Operator,
    parts: Parts,
    *,
    login: Annotated[str, Form(min_length=1, max_length=MAX_LOGIN_LENGTH)],
    roles: Roles,
    at_provider: Annotated[bool, Form()] = False,
) -> Response:
    """Add a user: with a first password that is shown once, or without one, for sign-in at the provider."""
    with parts.store.unit_of_work(visit.visitor.tenant_id, visit.visitor.actor) as uow:
        if at_provider:
            invited = invite_user(login, roles, uow=uow, clock=parts.clock).login
            return redirect_after_form(request, HERE, f"{invited} is let in who is called so at the provider.")
        user, password = add_user(login, roles, passwords=parts.passwords, uow=uow, clock=parts.clock)
    return _show_password(request, visit, user.login, password)


@router.post("/{user_id}/roles")
def set_roles(request: Request, user_id: UUID, visit: Operator, parts: Parts, roles: Roles) -> Response:
    with parts.store.unit_of_work(visit.visitor.tenant_id, visit.visitor.actor) as uow:
        change_roles(user_id, roles, uow=uow)
    return redirect_after_form(request, HERE, "The roles are changed, from the next page on.")


@router.post("/{user_id}/password")
def reset(request: Request, user_id: UUID, visit: Operator, parts: Parts) -> Response:
    """Give a user another first password and show it once."""
    with parts.store.unit_of_work(visit.visitor.tenant_id, visit.visitor.actor) as uow:
        password = reset_password(user_id, passwords=parts.passwords, uow=uow)
    with parts.store.unit_of_work(visit.visitor.tenant_id) as uow:
        login = uow.users.get(user_id).login
    return _show_password(request, visit, login, password)


@router.post("/{user_id}/no-password")
def leave_to_provider(request: Request, user_id: UUID, visit: Operator, parts: Parts) -> Response:
    """Remove a user's password, so that only the provider signs them in."""
    if parts.options.sign_on is None:
        raise Conflict("no OpenID provider is set up here, and without a password nobody could sign in")
    with parts.store.unit_of_work(visit.visitor.tenant_id, visit.visitor.actor) as uow:
        remove_password(user_id, uow=uow)
    return redirect_after_form(
        request, HERE, "The account has no password any more; its person signs in at the provider."
    )


@router.post("/{user_id}/disable")
def disable(request: Request, user_id: UUID, visit: Operator, parts: Parts) -> Response:
    with parts.store.unit_of_work(visit.visitor.tenant_id, visit.visitor.actor) as uow:
        disable_user(user_id, uow=uow, clock=parts.clock)
    return redirect_after_form(request, HERE, "The account is disabled and signed out.")


@router.post("/{user_id}/delete")
def delete(request: Request, user_id: UUID, visit: Operator, parts: Parts) -> Response:
    """Delete a user for good."""
    with parts.store.unit_of_work(visit.visitor.tenant_id, visit.visitor.actor) as uow:
        user = delete_user(user_id, by=visit.visitor.user, uow=uow)
    return redirect_after_form(request, HERE, f"The account {user.login} is deleted; its saved queries are yours now.")


@router.post("/{user_id}/enable")
def enable(request: Request, user_id: UUID, visit: Operator, parts: Parts) -> Response:
    with parts.store.unit_of_work(visit.visitor.tenant_id, visit.visitor.actor) as uow:
        enable_user(user_id, uow=uow)
    return redirect_after_form(request, HERE, "The account is enabled again.")


def _show_password(request: Request, visit: Operator, login: str, password: str) -> Response:
    return render_page(
        request,
        "secret.html",
        visit,
        status=HTTPStatus.CREATED,
        title=f"First password of {login}",
        secret=password,
        explanation="It has to be changed at the first sign-in. It is shown this once and kept nowhere.",
        back=HERE,
    )
