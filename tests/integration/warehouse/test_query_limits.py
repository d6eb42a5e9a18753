"""Limits of a query hold whatever its text, its values and its client do."""

from collections.abc import Iterator

import pytest

from services.application.authenticate import Scope
from services.application.query_warehouse import QueryLimits
from tests.integration.limited_queries import api, parts, provider
from tests.stack import Tenant
from tradewind.units import MIB
from tradewind_agent.client import Client

__all__ = ["api", "parts", "provider"]

LIMITS = QueryLimits(rows=1_000, seconds=2.0, row_bytes=MIB, at_once=2)


@pytest.fixture
def client(provider: Tenant, api: str) -> Iterator[Client]:
    with Client(api, provider.key(Scope.ANALYST)) as made:
        yield made


@pytest.mark.parametrize("limit", [LIMITS.rows, LIMITS.rows + 1])
def test_rows_beyond_the_limit_of_the_service_are_cut_where_a_limit_was_asked_for(client: Client, limit: int) -> None:
    cut = client.warehouse.query("SELECT generate_series(1, 2000)", limit=limit)
    assert (b"".join(cut.csv()).count(b"\n"), cut.cut) == (1 + LIMITS.rows, True)
    assert (len(cut.rows()), cut.cut) == (LIMITS.rows, True)
    assert (cut.arrow().num_rows, cut.cut) == (LIMITS.rows, True)
