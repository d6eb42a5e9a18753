"""A provider's story: from the tiers of a link to a price that an agent's recommendation quotes."""

import os
from pathlib import Path

from playwright.sync_api import Page, expect

from services.application.authenticate import Scope
from tests.browser.conftest import to_page
from tests.integration.live_transfers import ENQUIRY
from tests.stack import Tenant

SEEN = {"dataset": {"file_count": 300, "total_bytes": 30_000_000}}


def kept(page: Page, name: str) -> None:
    """A picture, where somebody wants to look at it."""
    folder = os.environ.get("TRADEWIND_SCREENSHOTS")
    if folder is not None:
        page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)


def test_a_price_goes_from_a_draft_to_an_agents_quote(provider: Page, api: str, learned: Tenant) -> None:
    page = provider
    page.get_by_role("link", name="SLA tiers").click()
    expect(page.get_by_role("row").filter(has_text="max throughput")).not_to_have_count(0)
    kept(page, "tiers")
    page.get_by_role("link", name="throughput at least").first.click()
    page.get_by_role("link", name="Split tier 1").click()
    expect(page.get_by_role("heading", name="As it would be")).to_be_visible()
    kept(page, "tier-cuts")
    page.get_by_role("button", name="Keep these tiers").click()
    expect(page.get_by_role("status")).to_contain_text("cut so from now on")
    to_page(page, "Price books")
    page.get_by_label("Name").fill("Winter")
    page.get_by_role("button", name="Make the draft").click()
    together = page.locator("section.card").filter(has_text="One price for many tiers")
    for name, value in (("Base", "0.10"), ("per GB", "0.02"), ("per kWh", "0.30"), ("Margin", "0.2")):
        together.get_by_label(name).fill(value)
    together.get_by_role("button", name="Set all").click()
    expect(page.get_by_role("status")).to_contain_text("is set")
    first = page.locator("table input[name^='base.']").first
    first.fill("-5")
    page.get_by_role("button", name="Set the prices of cluster 1").click()
    assert first.evaluate("field => field.validationMessage") != ""
    first.fill("0.5")
    page.get_by_role("button", name="Set the prices of cluster 1").click()
    expect(page.get_by_role("status")).to_contain_text("prices are set")
    kept(page, "draft")
    expect(page.get_by_role("cell", name="0.5 + 0.02/GB")).to_have_count(1)
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Publish").click()
    expect(page.get_by_role("row").filter(has_text="Winter")).to_contain_text("in force")
    kept(page, "books")
    to_page(page, "Usage")
    expect(page.get_by_role("heading", name="Usage")).to_be_visible()
    kept(page, "usage")
    page.set_viewport_size({"width": 420, "height": 900})
    kept(page, "usage-narrow")
    with learned.client(api, Scope.AGENT) as agent:
        price = agent.post("/v1/recommend", json=ENQUIRY | SEEN).json()["sla"]["price"]
    assert price["currency"] == "EUR"
    assert float(price["amount"]) > 0.12
