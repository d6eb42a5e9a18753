"""Pages of web connections whose logs leave things out."""

import pytest

from services.application.access.authenticate import Scope
from tests.integration.admin.visitors import person, signed_in
from tests.integration.api.test_connections_api import ANALYSE, query
from tests.stack import new_tenant
from tests.unit.connections.hars import entry, har


@pytest.fixture
def surfer(parts, database_url):
    return new_tenant(parts, database_url)


@pytest.fixture
def visitor(parts, api, surfer):
    with signed_in(api, person(parts, surfer, Scope.ANALYST)) as opened:
        yield opened


def test_page_without_times_shows_and_counts_no_idle_time(parts, api, surfer, visitor):
    with surfer.client(api, Scope.AGENT, Scope.ANALYST) as agent:
        (page,) = agent.post(ANALYSE, json=har(entry(size=500) | {"timings": {}}, load_ms=2000)).json()["pages"]
        (row,) = query(agent, "SELECT idle_s, net_transfer_s, load_s FROM page_loads")
    assert row == {"idle_s": None, "net_transfer_s": None, "load_s": 2.0}
    assert (page["idle_s"], page["idle_share"], page["net_transfer_s"]) == (None, None, None)
    shown = visitor.get(f"/admin/connections/{page['id']}").text
    assert "the log has no times of receiving" in shown
    assert "nothing was received" not in shown
    assert visitor.get("/admin/connections").status_code == 200
    with parts.store.unit_of_work(surfer.id) as uow:
        assert uow.page_loads.find(page["id"]).page.idle_s is None
        assert uow.page_loads.compute_distributions(newest=10, objects=10).idle_shares == {}
