"""Parts of pages that follow what goes on: they end with the session."""

from asyncio import run
from itertools import islice
from uuid import uuid4

import pytest

from services.admin.events import FULL, TENANT_SLOTS, _stream_in_slot, make_page_slots
from services.application.access.authenticate import Scope
from services.application.access.users import change_roles
from services.streaming.tenant_slots import TenantSlots
from tests.integration.admin.visitors import person, signed_in
from tradewind.errors import Unavailable

LOOKED_FOR = 60
"""Lines of a stream, two of each look in which nothing is new: it ends long before."""


def test_stream_of_a_missing_transfer_is_not_found(parts, api, tenant):
    with signed_in(api, person(parts, tenant)) as visitor:
        assert visitor.get(f"/admin/transfers/{uuid4()}/live").status_code == 404


def test_a_stream_ends_with_its_session(parts, api, tenant):
    with signed_in(api, person(parts, tenant)) as visitor, visitor.stream("GET", "/admin/transfers/live") as stream:
        told = stream.iter_lines()
        assert next(told).startswith("data: ")
        assert visitor.submit("/admin/sign-out").status_code == 303
        left = list(islice(told, LOOKED_FOR))
    assert len(left) < LOOKED_FOR


def test_a_stream_ends_when_a_role_is_taken_away(parts, api, tenant):
    follower = person(parts, tenant, Scope.OPERATOR, Scope.ANALYST)
    person(parts, tenant, Scope.OPERATOR)  # who is left
    with signed_in(api, follower) as visitor, visitor.stream("GET", "/admin/logs/work/live") as stream:
        told = stream.iter_lines()
        next(told)
        with parts.store.unit_of_work(tenant.id) as uow:
            (user,) = (each for each in uow.users.list_all() if each.login == follower.login)
            change_roles(user.id, {Scope.ANALYST}, uow=uow)
        left = list(islice(told, LOOKED_FOR))
        assert visitor.get("/admin/logs/work/live").status_code == 403
    assert len(left) < LOOKED_FOR


def test_change_streams_of_one_tenant_leave_slots_to_others():
    one, other = uuid4(), uuid4()

    async def one_change():
        yield "data: a\n\n"

    async def stream_changes():
        slots = TenantSlots("pages", at_once=1, in_all=2)
        first = _stream_in_slot(one_change(), slots, one)
        seen = [await anext(first)]
        for tenant_id in (one, other):
            seen += [each async for each in _stream_in_slot(one_change(), slots, tenant_id)]
        await first.aclose()
        return seen + [each async for each in _stream_in_slot(one_change(), slots, one)]

    assert run(stream_changes()) == ["data: a\n\n", FULL, "data: a\n\n", "data: a\n\n"]


def test_page_slots_of_one_tenant_are_not_all():
    slots, one = make_page_slots(), uuid4()
    for _ in range(TENANT_SLOTS):
        slots.take(one)
    with pytest.raises(Unavailable, match="20 pages"):
        slots.take(one)
    slots.take(uuid4())
