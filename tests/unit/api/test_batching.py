"""Planning a queue takes up to seconds of processor: it holds no transaction then, and is done one queue at a time."""

import asyncio
from contextlib import contextmanager
from types import SimpleNamespace
from uuid import uuid4

import pytest

from services.api.routes.batching import advise
from services.application.access.authenticate import Principal, Scope
from services.application.shared.slots import Slots
from services.application.shared.yielding_processes import YieldingProcesses
from tradewind.errors import Unavailable
from tradewind.wire.batching import BatchingRequest

ASKED = BatchingRequest(radio="lte", jobs=({"name": "a", "total_bytes": 1000, "throughput_bps": 8e6},))
PROVIDER = Principal(tenant_id=uuid4(), key_id=uuid4(), scopes=frozenset({Scope.AGENT, Scope.PROVIDER}))


class OneTransaction:
    """Tells whether it is open."""

    is_open = False

    @contextmanager
    def unit_of_work(self, tenant_id, actor):
        self.is_open = True
        yield SimpleNamespace(owners=None)
        self.is_open = False


def advised(store, turns):
    return advise(ASKED, SimpleNamespace(store=store, planning_slots=turns, computing=YieldingProcesses()), PROVIDER)


def test_no_transaction_waits_for_a_plan():
    store, seen = OneTransaction(), []

    class Watched(Slots):
        def hold(self, group=None, member=None):
            seen.append((store.is_open, group))
            return super().hold(group, member)

    advice = asyncio.run(advised(store, Watched("queues of jobs")))
    assert (len(advice.bursts), seen) == (1, [(False, PROVIDER.tenant_id)])


def test_a_queue_waits_for_a_slot_for_a_bounded_time():
    async def story():
        turns = Slots("queues of jobs", done="planned", at_once=1, patience_s=0.01)
        async with turns.hold():
            with pytest.raises(Unavailable, match="faster than they are planned"):
                await advised(OneTransaction(), turns)
        return await advised(OneTransaction(), turns)

    assert len(asyncio.run(story()).bursts) == 1
