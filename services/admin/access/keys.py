"""*API keys*: create, show once, weigh and revoke them."""

from collections.abc import Mapping
from http import HTTPStatus
from types import MappingProxyType
from typing import Annotated
from uuid import UUID

from fastapi import Depends, Form, Request, Response

from services.admin.lists import Filters, FiltersOf, ListColumn, ListFilters, show_list
from services.admin.rendering import build_page_router, redirect_after_form, render_page
from services.admin.visitors import Operator, Parts, Visit
from services.application.access.authenticate import Scope, make_secret
from services.application.access.keys import adjust_key, create_key, revoke_key
from services.bootstrap import Container
from tradewind.names import check_name
from tradewind.wire.base import Name
from tradewind.wire.inventory import Key, KeyChange, NewKey, RateFactor, Weight

router = build_page_router("/keys")

HERE = "/admin/keys"

COLUMNS: Mapping[str, ListColumn[Key]] = MappingProxyType(
    {
        "name": ListColumn("Name", lambda key: key.name),
        "begins": ListColumn("Begins with", lambda key: key.prefix),
        "scopes": ListColumn("Scopes", lambda key: " ".join(key.scopes)),
        "weight": ListColumn("Weight", lambda key: key.weight, is_number=True),
        "calls": ListColumn("Calls, times the usual", lambda key: key.rate_factor, is_number=True),
        "made": ListColumn("Made", lambda key: key.created_at, is_number=True),
        "used": ListColumn("Last used", lambda key: key.last_used_at, is_number=True),
    }
)


@router.get("")
def keys_page(
    request: Request,
    visit: Operator,
    parts: Parts,
    filters: Annotated[Filters[ListFilters], Depends(FiltersOf(ListFilters))],
) -> Response:
    """List keys, those in use before those revoked."""
    with parts.store.unit_of_work(visit.visitor.tenant_id) as uow:
        keys = sorted(uow.keys.list_all(), key=lambda key: key.revoked_at is not None)
    return render_page(
        request,
        "keys.html",
        visit,
        keys=show_list(
            keys,
            COLUMNS,
            filters,
            text_of=lambda key: (key.name, key.prefix, *key.scopes, "revoked" if key.revoked_at else None),
        ),
        scopes=tuple(Scope),
    )


@router.post("")
def add(
    request: Request,
    visit: Operator,
    parts: Parts,
    *,
    name: Annotated[Name, Form()],
    scopes: Annotated[list[Scope], Form(min_length=1, max_length=len(Scope))],
    weight: Annotated[Weight, Form()] = 1.0,
    rate_factor: Annotated[RateFactor, Form()] = 1.0,
) -> Response:
    """Create a key and show its secret once."""
    with parts.store.unit_of_work(visit.visitor.tenant_id, visit.visitor.actor) as uow:
        new = NewKey(name=check_name(name), scopes=tuple(scopes), weight=weight, rate_factor=rate_factor)
        created = create_key(new, make_secret(), uow=uow, clock=parts.clock)
    return render_page(
        request,
        "secret.html",
        visit,
        status=HTTPStatus.CREATED,
        title=f"Secret of the key {created.name}",
        secret=created.secret,
        explanation="For an agent: tradewind login ADDRESS --key SECRET. It is shown this once and kept nowhere.",
        back=HERE,
    )


@router.post("/{key_id}/weight")
def set_weight(
    request: Request, key_id: UUID, visit: Operator, parts: Parts, weight: Annotated[Weight, Form()]
) -> Response:
    """Set the weight by which a key's transfers share a cap with those of other keys."""
    _change(key_id, KeyChange(weight=weight), visit, parts)
    return redirect_after_form(request, HERE, "The weight is changed; live transfers follow at their next heartbeat.")


@router.post("/{key_id}/calls")
def set_rate_factor(
    request: Request, key_id: UUID, visit: Operator, parts: Parts, rate_factor: Annotated[RateFactor, Form()]
) -> Response:
    """Set how often a key may call, as a multiple of the usual limit."""
    _change(key_id, KeyChange(rate_factor=rate_factor), visit, parts)
    return redirect_after_form(request, HERE, "The number of calls is changed; every process follows within seconds.")


def _change(key_id: UUID, change: KeyChange, visit: Visit, parts: Container) -> None:
    with parts.store.unit_of_work(visit.visitor.tenant_id, visit.visitor.actor) as uow:
        adjust_key(key_id, change, uow=uow)
    parts.keyring.forget(key_id)


@router.post("/{key_id}/revoke")
def revoke(request: Request, key_id: UUID, visit: Operator, parts: Parts) -> Response:
    """Revoke a key: it is refused from now on."""
    with parts.store.unit_of_work(visit.visitor.tenant_id, visit.visitor.actor) as uow:
        revoke_key(key_id, uow=uow, clock=parts.clock)
    parts.keyring.forget(key_id)
    return redirect_after_form(request, HERE, "The key is revoked.")
