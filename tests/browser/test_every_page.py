"""Every page that the navigation names, and those behind them: accessible, without errors, on small screens too."""

import json
from urllib.parse import urlencode
from uuid import uuid4

import httpx
import pytest
from playwright.sync_api import Page, expect

from services.application.billing.customers import CustomerDetails, add_customer
from services.application.billing.price_books import draft_book
from services.bootstrap import Container
from tests.browser.accessibility import offences
from tests.browser.conftest import to_page
from tests.integration.admin.test_overview import end
from tests.integration.live_transfers import DESTINATION, client
from tests.records import record
from tests.stack import Tenant
from tradewind.sla.kinds import EnergyBasis

pytestmark = pytest.mark.long

__all__ = ["client"]

SMALL = {"width": 390, "height": 800}


def addresses(page: Page) -> list[str]:
    """Of the pages in the navigation, and one's own account."""
    links = page.locator(".side nav a").all()
    return [*(str(each.get_attribute("href")) for each in links), "/admin/account"]


@pytest.fixture
def behind(learned: Tenant, parts: Container, client: httpx.Client) -> list[str]:
    """Pages of one thing each."""
    transfer = end(client, {"kind": "deadline", "target": 41}, energy_j=300)["transfer_id"]
    rows = [record(destination="elsewhere"), record(1) | {"source": ""}]
    client.post("/v1/logs", content="\n".join(map(json.dumps, rows))).raise_for_status()
    with parts.store.unit_of_work(learned.id) as uow:
        release = uow.releases.find_current()
        link = next(each for each in uow.links.list_all() if each.key.destination == DESTINATION)
        model = uow.models.of_link(release, link.id)
        (refused, *_) = uow.quarantine.list_page(limit=1)
    with parts.store.unit_of_work(learned.id) as uow:
        book = draft_book(
            f"Spring {uuid4()}",
            currency="EUR",
            energy_basis=EnergyBasis.TOTAL,
            copy_of=None,
            uow=uow,
            clock=parts.clock,
        )
    with parts.store.unit_of_work(learned.id) as uow:
        customer = add_customer(CustomerDetails(name=f"Acme {uuid4().hex[:6]}"), (), uow=uow, clock=parts.clock)
    return [
        f"/admin/customers/{customer.id}",
        f"/admin/usage/statement?month=2026-11&customer={customer.id}",
        f"/admin/transfers/{transfer}",
        "/admin/transfers?state=ended&sla=deadline",
        "/admin/transfers?source=nowhere",
        "/admin/logs/quarantine",
        f"/admin/logs/quarantine?{urlencode({'field': refused.field, 'reason': refused.reason})}",
        "/admin/logs/exports",
        f"/admin/price-books/{book.id}",
        f"/admin/price-books/{book.id}/rules",
        f"/admin/links/{link.id}",
        f"/admin/clusters/{model.leaves[0].cluster_id}",
        f"/admin/releases/{release}",
        f"/admin/tiers/{model.leaves[0].cluster_id}/throughput_at_least",
        "/admin/sql?sql=SELECT+1",
    ]


def test_every_page_passes_axe_and_draws_its_charts(provider: Page, behind: list[str]) -> None:
    page = provider
    found = []
    for address in (*addresses(page), *behind):
        page.goto(address)
        for each in page.locator(".chart[data-chart]").all():
            expect(each.locator("svg, canvas").first, f"a chart of {address}").to_be_attached()
        found += offences(page)
    assert found == []


def test_the_secret_of_a_new_key_is_shown_once_on_a_page_that_passes_axe(provider: Page) -> None:
    page = provider
    to_page(page, "API keys")
    page.get_by_label("Name").fill("for a mover")
    page.get_by_label("agent").check()
    page.get_by_role("button", name="Make").click()
    secret = page.locator(".secret").inner_text()
    assert offences(page) == []
    page.goto("/admin/keys")
    assert secret not in page.content()


def test_the_answer_and_the_error_of_a_query_pass_axe(provider: Page) -> None:
    page = provider
    to_page(page, "SQL")
    page.get_by_label("Query").fill("SELECT n AS files, n * n AS rate FROM generate_series(1, 9) n")
    page.get_by_label("Query").press("Control+Enter")
    page.locator("#answer svg").wait_for()
    found = offences(page)
    page.get_by_label("Query").fill("SELECT 1,\n  nonsense")
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("alert")).to_contain_text("does not exist")
    assert [*found, *offences(page)] == []
    assert page.evaluate("document.activeElement.selectionStart") == len("SELECT 1,\n  ")


def test_the_rows_of_a_query_are_drawn_with_a_line_for_each_text(provider: Page) -> None:
    page = provider
    to_page(page, "SQL")
    page.get_by_label("Query").fill("SELECT n % 2 || '' AS odd, n / 2 AS half, n FROM generate_series(1, 8) n")
    page.get_by_role("button", name="Run").click()
    page.locator("#answer svg").wait_for()
    expect(page.get_by_label("A line for each")).to_contain_text("by itself: odd")
    page.locator("select[name=up]").select_option("n")
    page.get_by_role("button", name="Draw again").click()
    expect(page.locator("select[name=up]")).to_have_value("n")
    assert offences(page) == []


def test_the_page_to_sign_in_passes_axe(page: Page) -> None:
    page.goto("/admin")
    assert offences(page) == []


def test_no_page_is_wider_than_a_small_screen(provider: Page, behind: list[str]) -> None:
    page = provider
    wanted = (*addresses(page), *behind)
    page.set_viewport_size(SMALL)
    wide = []
    for address in wanted:
        page.goto(address)
        width = page.evaluate("document.documentElement.scrollWidth")
        wide += [f"{address}: {width} px"] if width > SMALL["width"] else []
    assert wide == []
    page.goto("/admin")
    page.get_by_text("Menu").press("Enter")
    to_page(page, "Links")
    expect(page.get_by_role("heading", name="Links", exact=True)).to_be_visible()


def test_the_bounds_of_tiers_are_edited_on_any_screen_without_scrolling_sideways(provider: Page) -> None:
    page = provider
    to_page(page, "SLA tiers")
    page.get_by_role("link", name="throughput at least").first.click()
    page.get_by_role("link", name="Split tier 1").click()
    region = page.locator(".scroll").first
    for width in (1280, SMALL["width"]):
        page.set_viewport_size({"width": width, "height": 900})
        assert region.evaluate("each => each.scrollWidth - each.clientWidth") == 0
        assert region.get_by_role("textbox").evaluate_all("fields => fields.every(each => each.offsetWidth > 60)")
    assert offences(page) == []
    cell = page.locator("tbody tr").first.locator("td").nth(1)
    assert cell.evaluate("each => getComputedStyle(each, '::before').content") == '"To, Mbit/s"'


def test_a_page_is_reached_by_keys_alone(provider: Page) -> None:
    page = provider
    page.goto("/admin")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    page.get_by_role("navigation").get_by_role("link", name="Releases", exact=True).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Releases", exact=True)).to_be_visible()
