"""Pages of tiers and price books by plain HTTP: what is sent, and what is refused with nothing changed."""

import re
from datetime import UTC, datetime, timedelta
from html import escape
from uuid import uuid4

import pytest

from services.admin.formatting.field_labels import LABELS
from tests.integration.admin.visitors import person, signed_in
from tests.integration.live_transfers import learned
from tests.stack import new_tenant

__all__ = ["learned"]

PRICE = {"base": "0.1", "per_gb": "0.02", "per_kwh": "0.3", "margin": "20"}


@pytest.fixture
def visitor(parts, api, learned):
    with signed_in(api, person(parts, learned, "provider")) as opened:
        yield opened


def drafted(visitor, name=None, currency="EUR"):
    answer = visitor.submit("/admin/price-books", name=name or f"Winter {uuid4()}", currency=currency)
    assert answer.status_code == 303, answer.text
    return answer.headers["location"]


def books(learned):
    with learned.parts.store.unit_of_work(learned.id) as uow:
        return {f"/admin/price-books/{book.id}": book for book in uow.price_books.list_all()}


def tiers_in(text):
    """Ids of the tiers in the first table that can be edited."""
    return re.findall(r'name="base\.([0-9a-f-]{36})"', text.partition("</table>")[0])


def fields(tier, **changes):
    return {f"{part}.{tier}": value for part, value in (PRICE | changes).items()}


def test_a_row_of_the_table_is_the_price_of_its_tier(visitor, learned):
    here = drafted(visitor)
    tier = tiers_in(visitor.get(here).text)[0]
    assert visitor.submit(f"{here}/prices", version=1, **fields(tier)).status_code == 303
    (price,) = books(learned)[here].prices.values()
    assert str(price.per_kwh) == "0.300000"
    cleared = dict.fromkeys(PRICE, "")
    visitor.submit(f"{here}/prices", version=2, **fields(tier, **cleared))
    assert books(learned)[here].prices == {}


@pytest.mark.parametrize("part", PRICE)
@pytest.mark.parametrize("value", ["-1", "", "1e30", "0.1234567", "NaN", "<script>alert(1)</script>"])
def test_invalid_price_is_refused_and_the_draft_stays(visitor, learned, part, value):
    here = drafted(visitor)
    tier = tiers_in(visitor.get(here).text)[0]
    refused = visitor.submit(f"{here}/prices", version=1, **fields(tier, **{part: value}))
    assert refused.status_code == 422
    assert LABELS[part] in refused.text
    assert "<script>alert" not in refused.text
    assert books(learned)[here].prices == {}


@pytest.mark.parametrize("cost", ["-1", "1e30", "0.1234567", "NaN", "0.2 EUR"])
def test_invalid_cost_of_energy_is_refused_and_the_draft_stays(visitor, learned, cost):
    here = drafted(visitor)
    refused = visitor.submit(f"{here}/energy-cost", version=1, energy_cost_per_kwh=cost)
    assert refused.status_code == 422
    assert "What a kWh costs you" in refused.text
    assert books(learned)[here].version == 1


def test_a_margin_is_typed_in_per_cent(visitor, learned):
    here = drafted(visitor)
    page = visitor.get(here).text
    tier = tiers_in(page)[0]
    assert "Mark-up, %" in page
    refused = visitor.submit(f"{here}/prices", version=1, **fields(tier, margin="2500"))
    assert (refused.status_code, "Mark-up is above 1,000 %" in refused.text) == (422, True)
    visitor.submit(f"{here}/prices", version=1, **fields(tier, margin="25"))
    (price,) = books(learned)[here].prices.values()
    assert str(price.margin) == "0.250000"
    shown = visitor.get(here).text
    assert f'name="margin.{tier}" value="25"' in shown
    assert "0.3/kWh EUR, mark-up 25 %" in shown


@pytest.mark.parametrize("form", ["prices", "together", "energy-cost"])
def test_filter_of_a_draft_survives_each_of_its_forms(visitor, learned, form):
    here = drafted(visitor)
    with learned.parts.store.unit_of_work(learned.id) as uow:
        (link,) = uow.links.list_all()
    shown = f"link={link.id}&confidence=0.8&basis=dynamic"
    assert visitor.get(f"{here}?{shown}").text.count(f'name="shown" value="{escape(shown)}"') == 3
    sent = PRICE | {"version": 1, "link": link.id, "energy_cost_per_kwh": "0.2", "shown": shown}
    assert f"{here}?{shown}" in visitor.submit(f"{here}/{form}", **sent).headers["location"]


def test_two_users_who_edit_one_price_book_do_not_overwrite_each_other(visitor, learned, parts, api):
    here = drafted(visitor)
    tier = tiers_in(visitor.get(here).text)[0]
    with signed_in(api, person(parts, learned)) as other:
        assert other.submit(f"{here}/prices", version=1, **fields(tier, base="7")).status_code == 303
    refused = visitor.submit(f"{here}/prices", version=1, **fields(tier))
    assert refused.status_code == 409
    assert "meanwhile" in refused.text
    assert [price.base for price in books(learned)[here].prices.values()] == [7]


def test_changes_of_a_draft_are_shown_next_to_current_prices(visitor, learned):
    first = drafted(visitor, currency="CHF")
    with learned.parts.store.unit_of_work(learned.id) as uow:
        (link,) = uow.links.list_all()
    assert visitor.submit(f"{first}/together", version=1, link=link.id, **PRICE).status_code == 303
    emptied = visitor.submit(f"{first}/together", version=2, link=link.id, **dict.fromkeys(PRICE, ""))
    assert (emptied.status_code, "The price is empty" in emptied.text) == (422, True)
    assert books(learned)[first].prices
    assert visitor.submit(f"{first}/publish", version=books(learned)[first].version).status_code == 303
    assert books(learned)[first].is_current(learned.parts.clock.now())
    assert "0.1 + 0.02/GB + 0.3/kWh CHF, mark-up 20 %" in visitor.get("/admin/tiers").text
    assert "<option selected>CHF</option>" in visitor.get("/admin/price-books").text
    copy = visitor.submit("/admin/price-books", name="Dearer", copy_of=first.rpartition("/")[2]).headers["location"]
    assert "its prices are the current ones" in visitor.get(copy).text
    tier = tiers_in(visitor.get(copy).text)[0]
    visitor.submit(f"{copy}/prices", version=2, **fields(tier, base="0.5"))
    told = visitor.get(copy).text.partition("What it changes")[2]
    assert "0.1 + 0.02/GB" in told
    assert "0.5 + 0.02/GB" in told


def test_a_book_is_published_from_a_later_date_on_but_not_from_the_past(visitor, learned):
    here = drafted(visitor)
    tier = tiers_in(visitor.get(here).text)[0]
    visitor.submit(f"{here}/prices", version=1, **fields(tier))
    at = (datetime.now(UTC) + timedelta(days=40)).replace(second=0, microsecond=0, tzinfo=None)
    for wrong in ("2001-01-01T00:00", "soon", "9" * 50):
        assert visitor.submit(f"{here}/publish", version=2, effective_from=wrong).status_code == 422
    assert visitor.submit(f"{here}/publish", version=2, effective_from=at.isoformat()).status_code == 303
    assert books(learned)[here].effective_from == at.replace(tzinfo=UTC)


def test_a_book_is_withdrawn_before_its_date_and_its_draft_deleted(visitor, learned, parts, api):
    here = drafted(visitor, name="Taken back")
    tier = tiers_in(visitor.get(here).text)[0]
    visitor.submit(f"{here}/prices", version=1, **fields(tier))
    at = (datetime.now(UTC) + timedelta(days=50)).replace(second=0, microsecond=0, tzinfo=None)
    visitor.submit(f"{here}/publish", version=2, effective_from=at.isoformat())
    assert "Withdraw the book" in visitor.get(here).text
    assert f'action="{here}/withdraw"' in visitor.get("/admin/price-books").text
    with signed_in(api, person(parts, learned, "analyst")) as analyst:
        assert "Withdraw the book" not in analyst.get(here).text
        assert analyst.submit(f"{here}/withdraw", version=3).status_code == 403
        assert analyst.submit(f"{here}/delete", version=3).status_code == 403
    assert visitor.submit(f"{here}/withdraw", version=2).status_code == 409
    assert visitor.submit(f"{here}/withdraw", version=3).status_code == 303
    assert "price book withdrawn" in visitor.get(here).text
    refused = visitor.submit(f"{here}/delete", version=3)
    assert "meanwhile" in refused.text
    assert visitor.submit(f"{here}/delete", version=4).status_code == 303
    assert here not in books(learned)


def test_an_analyst_reads_prices_and_changes_none(visitor, learned, parts, api):
    here = drafted(visitor)
    with signed_in(api, person(parts, learned, "analyst")) as analyst:
        assert tiers_in(analyst.get(here).text) == []
        for address, sent in (
            ("/admin/price-books", {"name": "Mine", "currency": "EUR"}),
            (f"{here}/publish", {"version": 1}),
            (f"{here}/prices", {"version": 1}),
        ):
            assert analyst.submit(address, **sent).status_code == 403


def test_another_tenants_book_is_not_there(visitor, learned, parts, database_url, api):
    here = drafted(visitor)
    with signed_in(api, person(parts, new_tenant(parts, database_url))) as stranger:
        assert stranger.get(here).status_code == 404
        assert stranger.submit(f"{here}/publish", version=1).status_code == 404
        assert "No tiers yet" in stranger.get("/admin/tiers").text
        assert "No prices yet" in stranger.get("/admin/price-books").text


def test_script_in_the_name_of_a_book_stays_text(visitor):
    here = drafted(visitor, "<script>alert(1)</script>")
    for address in (here, "/admin/price-books"):
        text = visitor.get(address).text
        assert "<script>alert" not in text
        assert "&lt;script&gt;alert" in text


@pytest.mark.parametrize("name", ["", "Win\x00ter", "Win\nter", "x" * 201])
def test_a_name_that_is_none_makes_no_book(visitor, learned, name):
    before = books(learned)
    assert visitor.submit("/admin/price-books", name=name, currency="EUR").status_code == 422
    assert books(learned) == before


def test_address_to_continue_at_cannot_break_out_of_its_header(visitor):
    here = drafted(visitor)
    page = visitor.get(here)
    tier = tiers_in(page.text)[0]
    sent = fields(tier) | {"shown": "link=1\r\nSet-Cookie: a=b", "version": 1, "form_token": visitor.token}
    answer = visitor.post(f"{here}/prices", data=sent, headers={"HX-Request": "true"})
    assert answer.headers["hx-redirect"].startswith(f"{here}?link=1%0D%0A")


def test_price_book_lists_who_changed_what(visitor, learned):
    here = drafted(visitor, name="Told <b>loud</b>")
    tier = tiers_in(visitor.get(here).text)[0]
    visitor.submit(f"{here}/prices", version=1, **fields(tier, base="7"))
    other = drafted(visitor)
    text = visitor.get(here).text.partition("<h2>History</h2>")[2]
    assert "price set" in text
    assert "before: <b>not priced</b>" in text
    assert "after: <b>7 + 0.02/GB + 0.3/kWh, mark-up 20 %</b>" in text
    assert tier not in text
    assert "price set" not in visitor.get(other).text.partition("<h2>History</h2>")[2]
    assert "<b>loud</b>" not in text


def test_one_price_for_many_tiers_is_one_entry_that_says_which(visitor, learned, parts, api):
    here = drafted(visitor)
    with learned.parts.store.unit_of_work(learned.id) as uow:
        (link,) = uow.links.list_all()
    told = visitor.submit(f"{here}/together", version=1, link=link.id, **PRICE)
    assert told.status_code == 303
    priced = len(books(learned)[here].prices)
    assert priced > 10
    with learned.parts.store.unit_of_work(learned.id) as uow:
        entry, drafting = uow.audit.list_page(limit=2)
    assert (entry.action, drafting.action) == ("price.set", "price_book.drafted")
    assert entry.detail["count"] == len(entry.detail["tier_ids"]) == priced
    assert entry.detail["tiers"][0].startswith(f"{link.key.source} → {link.key.destination} ({link.key.mover}), ")
    with signed_in(api, person(parts, learned)) as operator:
        page = operator.get("/admin/audit?about=price").text
    assert "prices of tiers</option>" in page
    assert "saved queries</option>" in page
    assert " others" in page
    assert entry.detail["tier_ids"][0] not in page


def test_earlier_changes_of_a_book_are_a_page_away(visitor):
    here = drafted(visitor)
    tier = tiers_in(visitor.get(here).text)[0]
    for version in range(1, 22):
        assert visitor.submit(f"{here}/prices", version=version, **fields(tier, base=str(version))).status_code == 303
    newest = visitor.get(here).text
    assert "drafted" not in newest.partition("<h2>History</h2>")[2]
    older = re.search(r'href="(\?older=\d+)[^"]*#history"', newest)[1]
    assert "price book drafted" in visitor.get(f"{here}{older}").text


def test_unknown_link_is_reported_as_not_found(visitor):
    here = drafted(visitor)
    for address in ("/admin/tiers", here):
        assert visitor.get(f"{address}?link=").status_code == 200
        for nonsense in ("none", uuid4()):
            refused = visitor.get(f"{address}?link={nonsense}")
            assert refused.status_code == 404
            assert "No such link" in refused.text


def test_form_with_many_tiers_is_read_completely(visitor):
    here = drafted(visitor)
    rows = {}
    for _ in range(99):
        rows |= fields(uuid4())
    refused = visitor.submit(f"{here}/prices", version=1, **rows)
    assert refused.status_code == 422  # read as a whole, and refused for what it says
    assert "no tier of yours" in refused.text
