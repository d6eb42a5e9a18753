"""Whose query runs when there are more than the process takes."""

from collections.abc import Iterator
from uuid import uuid4

import pytest

from services.application.query_warehouse import QueryLimits
from services.query_turns import QueryTurns
from tradewind.errors import Unavailable

EAGER, BUSY, *OTHERS = (uuid4() for _ in range(8))


@pytest.fixture
def turns() -> Iterator[QueryTurns]:
    opened = QueryTurns(QueryLimits(at_once=4, in_all=8))
    yield opened
    opened.close()


def test_a_tenant_has_no_more_turns_than_are_its_own(turns: QueryTurns) -> None:
    for _ in range(4):
        turns.take(EAGER)
    with pytest.raises(Unavailable, match="4 queries are running already"):
        turns.take(EAGER)
    turns.give_back(EAGER)
    turns.take(EAGER)


def test_a_tenant_that_has_none_gets_one_whatever_two_others_do(turns: QueryTurns) -> None:
    for tenant in (EAGER, BUSY) * 4:
        try:
            turns.take(tenant)
        except Unavailable:
            continue
    for other in OTHERS[:4]:
        turns.take(other)
    with pytest.raises(Unavailable, match="of others too"):
        turns.take(OTHERS[4])
    for tenant in (EAGER, EAGER, BUSY, BUSY, *OTHERS[:4]):
        turns.give_back(tenant)
    for _ in range(4):
        turns.take(BUSY)
