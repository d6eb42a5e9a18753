"""A draft's page tries it on what was asked for lately."""

import re
from collections.abc import Iterator, Sequence
from datetime import timedelta
from decimal import Decimal
from uuid import uuid4

import httpx
import pytest
import redis

from services.application.access.authenticate import Scope
from services.application.billing.what_if import Demand
from services.bootstrap import Container
from services.embedded.valkey import EmbeddedValkey
from tests.integration.admin.visitors import person, signed_in
from tests.integration.billing.quotes import PRICE, journalled, logged, publish_book, quoted
from tests.integration.live_transfers import learned
from tests.stack import Tenant, grant_shares_at_once

__all__ = ["learned"]


@pytest.fixture(scope="module")
def valkey() -> Iterator[EmbeddedValkey]:
    """A store whose stream has quotes of this module alone."""
    with EmbeddedValkey.temporary() as server:
        grant_shares_at_once(server.url())
        yield server


def demands(parts: Container, tenant: Tenant) -> Sequence[Demand]:
    with parts.store.unit_of_work(tenant.id) as uow:
        return uow.quotes.sum_demand(parts.clock.now() - timedelta(days=1))


def cell(text: str, row: str) -> list[str]:
    """The cells of a row of the summary."""
    found = re.search(rf'<th scope="row">{row}(?: <small>[^<]*</small>)?</th>(.*?)</tr>', text, re.DOTALL)
    assert found is not None, text
    return [re.sub("<.*?>", "", each).strip() for each in re.findall(r"<td.*?</td>", found[1], re.DOTALL)]


def test_a_draft_is_tried_on_the_completed_transfers_of_the_last_month(
    api: str, learned: Tenant, parts: Container, redis_url: str
) -> None:
    with (
        learned.client(api, Scope.PROVIDER, Scope.AGENT) as provider,
        redis.Redis.from_url(redis_url) as store,
        signed_in(api, person(parts, learned, "provider")) as visitor,
    ):
        first = publish_book(provider)

        def shown(draft: dict[str, str]) -> str:
            return visitor.get(f"/admin/price-books/{draft['id']}").text

        draft = provider.post("/v1/price-books", json={"name": f"Spring {uuid4()}", "copy_of": first["id"]}).json()
        assert "No transfer of the last 30 days" in shown(draft)
        made = quoted(provider)
        tier = made["sla"]["tier_id"]
        journalled(parts, store, made)
        assert "No transfer of the last 30 days" in shown(draft)  # a request alone earns nothing
        logged(provider, made)
        now, same, change = cell(shown(draft), "Revenue")
        assert (now, float(change)) == (same, 0)
        parts_of_it = ("Base and GB charged", "Energy charged", "Mark-up charged")
        amounts = [cell(shown(draft), row)[1].replace("&lt;", "<") for row in parts_of_it]
        assert sum(0 if each.startswith("<") else float(each) for each in amounts) == pytest.approx(
            float(same), abs=1e-9
        )
        assert [float(each) for each in amounts if not each.startswith("<")].count(0) == 0
        assert cell(shown(draft), "Margin")[:2] == ["–", "–"]
        here = f"/admin/price-books/{draft['id']}"
        asked = {"version": draft["version"], "energy_cost_per_kwh": "36000"}
        assert visitor.submit(f"{here}/energy-cost", **asked).status_code == 303
        (what_if_energy_j,) = [demand.energy_j for demand in demands(parts, learned)]
        cost, margin = (float(cell(shown(draft), row)[1]) for row in ("Energy cost", "Margin"))
        assert cost == pytest.approx(what_if_energy_j / 100, abs=0.006)
        assert margin == pytest.approx(float(cell(shown(draft), "Revenue")[1]) - cost, abs=1e-9)
        told = provider.get(f"/v1/price-books/{draft['id']}/what-if").json()
        assert Decimal(told["book"]["energy_cost"]) == round(Decimal(what_if_energy_j) / 100, 6)
        assert (told["energy_source"], told["energy_basis"]) == ("modelled", "total")
        assert [each["tier_id"] for each in told["tiers"]] == [tier]
        dearer = PRICE | {"base": "100"}
        provider.put(f"/v1/price-books/{draft['id']}/tiers/{tier}", json=dearer).raise_for_status()
        now, dear, change = cell(shown(draft), "Revenue")
        assert float(dear) == pytest.approx(float(now) + 1.2 * 99.9, abs=0.011)
        assert float(change) == pytest.approx(float(dear) - float(now), abs=1e-9)
        again = quoted(provider)
        journalled(parts, store, again)
        logged(provider, again)
        logged(provider, again)
        assert float(cell(shown(draft), "Revenue")[1]) == pytest.approx(2 * float(dear), abs=0.011)
        provider.delete(f"/v1/price-books/{draft['id']}/tiers/{tier}").raise_for_status()
        assert cell(shown(draft), "Transfers not priced") == ["0", "2", "+2"]


def test_the_cost_of_energy_and_what_it_leaves_are_for_those_who_set_prices(
    api: str, learned: Tenant, parts: Container
) -> None:
    with (
        learned.client(api, Scope.PROVIDER) as provider,
        signed_in(api, person(parts, learned, "provider")) as visitor,
        signed_in(api, person(parts, learned, "analyst")) as analyst,
    ):
        draft = provider.post("/v1/price-books", json={"name": f"Autumn {uuid4()}", "currency": "EUR"}).json()
        here = f"/admin/price-books/{draft['id']}"
        visitor.submit(f"{here}/energy-cost", version=draft["version"], energy_cost_per_kwh="0.7654")
        told = ("0.7654", "energy cost set", 'id="what-if"')
        assert [each in visitor.get(here).text for each in told] == [True] * 3
        shown = analyst.get(here)
        assert (shown.status_code, [each in shown.text for each in told]) == (200, [False] * 3)
        assert "price book drafted" in shown.text


def test_other_currencies_stand_side_by_side_without_a_difference(api: str, learned: Tenant, parts: Container) -> None:
    with (
        learned.client(api, Scope.PROVIDER, Scope.AGENT) as provider,
        signed_in(api, person(parts, learned, "provider")) as visitor,
    ):
        answer: httpx.Response = provider.post("/v1/price-books", json={"name": f"Yen {uuid4()}", "currency": "JPY"})
        text = visitor.get(f"/admin/price-books/{answer.json()['id']}").text
    assert len(cell(text, "Revenue")) == 2
    assert "Quotes change from EUR to JPY." in text
    assert re.search(
        r"<p class=\"problem warn\">(\d+) of \1 transfers of the last 30 days would have had no price", text
    )
