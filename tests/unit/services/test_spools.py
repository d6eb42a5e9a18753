"""Room for bodies of uploads: nobody has all of it, however long bodies take to arrive."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack
from uuid import UUID, uuid4

import pytest

from services.spools import HELD_IN_MEMORY_BYTES, Spool, Spools
from tradewind.errors import Unavailable
from tradewind.units import MIB

ROOM_BYTES = 64 * MIB


@pytest.fixture
def spools() -> Spools:
    return Spools(ROOM_BYTES)


def receive(spool: Spool, count: int) -> None:
    """Receive so many bytes beyond what is held in memory."""

    async def send() -> AsyncIterator[bytes]:
        for _ in range((HELD_IN_MEMORY_BYTES + count) // MIB):
            yield bytes(MIB)

    asyncio.run(spool.receive(send()))


def fill(spools: Spools, opened: ExitStack, tenant_id: UUID, key_id: UUID) -> int:
    """Hold as many bodies of one MiB as are accepted; return their bytes."""
    for number in range(ROOM_BYTES // MIB + 1):
        try:
            receive(opened.enter_context(spools.open_spool(tenant_id, key_id)), MIB)
        except Unavailable:
            return number * MIB
    raise AssertionError("nothing is refused")


def test_one_key_has_half_of_all_room(spools: Spools) -> None:
    tenant_id, key_id = uuid4(), uuid4()
    with spools.open_spool(tenant_id, key_id) as spool:
        receive(spool, ROOM_BYTES // 2)
        with spools.open_spool(tenant_id, key_id) as another, pytest.raises(Unavailable, match="too much"):
            receive(another, MIB)


def test_bodies_of_one_key_leave_room_to_another_customer_and_to_other_tenants(spools: Spools) -> None:
    greedy = uuid4()
    with ExitStack() as opened:
        assert fill(spools, opened, greedy, uuid4()) == ROOM_BYTES // 2
        assert fill(spools, opened, greedy, uuid4()) >= 8 * MIB
        assert fill(spools, opened, uuid4(), uuid4()) >= 8 * MIB


def test_keys_of_one_tenant_leave_room_to_other_tenants(spools: Spools) -> None:
    greedy = uuid4()
    with ExitStack() as opened:
        for _ in range(20):
            fill(spools, opened, greedy, uuid4())
        assert fill(spools, opened, uuid4(), uuid4()) >= 8 * MIB


def test_room_is_free_again_once_a_body_is_read(spools: Spools) -> None:
    tenant_id, key_id = uuid4(), uuid4()
    for _ in range(3):
        with ExitStack() as opened:
            assert fill(spools, opened, tenant_id, key_id) == ROOM_BYTES // 2
    assert spools.free_bytes == ROOM_BYTES
