"""*API keys*: made, scoped, shown once, revoked."""

from http import HTTPStatus
from typing import Annotated
from uuid import UUID

from fastapi import Form, Request, Response

from services.admin.pages import done, page, page_router
from services.admin.visitors import Operator, Parts
from services.application.authenticate import Scope, new_secret
from services.application.manage_keys import create_key, revoke_key, weigh_key
from tradewind.wire.base import Name
from tradewind.wire.inventory import NewKey

router = page_router("/keys")

HERE = "/admin/keys"
Weight = Annotated[float, Form(ge=0.01, le=100)]


@router.get("")
def keys_page(request: Request, visit: Operator, parts: Parts) -> Response:
    """All keys, those in use before those revoked."""
    with parts.store.unit_of_work(visit.visitor.tenant_id) as uow:
        keys = sorted(uow.keys.all(), key=lambda key: key.revoked_at is not None)
    return page(request, "keys.html", visit, keys=keys, scopes=tuple(Scope))


@router.post("")
def add(
    request: Request,
    visit: Operator,
    parts: Parts,
    *,
    name: Annotated[Name, Form()],
    scopes: Annotated[list[Scope], Form(min_length=1, max_length=len(Scope))],
    weight: Weight = 1.0,
) -> Response:
    """A new key, whose secret is shown this once."""
    new = NewKey(name=name, scopes=tuple(scopes), weight=weight)
    with parts.store.unit_of_work(visit.visitor.tenant_id, visit.visitor.actor) as uow:
        created = create_key(new, new_secret(), uow=uow, clock=parts.clock)
    return page(
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
def weigh(request: Request, key_id: UUID, visit: Operator, parts: Parts, weight: Weight) -> Response:
    """Another weight where transfers of several keys share a cap."""
    with parts.store.unit_of_work(visit.visitor.tenant_id, visit.visitor.actor) as uow:
        weigh_key(key_id, weight, uow=uow)
    parts.keyring.forget(key_id)
    return done(request, HERE, "The weight is changed; live transfers follow at their next heartbeat.")


@router.post("/{key_id}/revoke")
def revoke(request: Request, key_id: UUID, visit: Operator, parts: Parts) -> Response:
    """Refuse a key from now on."""
    with parts.store.unit_of_work(visit.visitor.tenant_id, visit.visitor.actor) as uow:
        revoke_key(key_id, uow=uow, clock=parts.clock)
    parts.keyring.forget(key_id)
    return done(request, HERE, "The key is revoked.")
