"""A provider's story: from a link and its tiers to the amount that an agent's recommendation quotes."""

import os
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import redis
from playwright.sync_api import Locator, Page, expect

from services.application.access.authenticate import Scope
from services.bootstrap import Container
from services.queue.quote_recorder import QUOTES
from tests.browser.conftest import to_page
from tests.integration.billing.quotes import journalled, logged
from tests.integration.live_transfers import ENQUIRY
from tests.stack import Tenant

SEEN = ENQUIRY | {"dataset": {"file_count": 300, "total_bytes": 30_000_000}}
PRICE = {"Base": "0.10", "per GB": "0.02", "per kWh": "0.30", "Mark-up": "20"}
JOULES_PER_KWH = 3_600_000
SHOWN_DECIMALS = 4  # four digits of an amount of twelve cents


def save_screenshot(page: Page, name: str, *, full_page: bool = True) -> None:
    """A picture, where somebody wants to look at it."""
    folder = os.environ.get("TRADEWIND_SCREENSHOTS")
    if folder is not None:
        page.screenshot(path=Path(folder) / f"{name}.png", full_page=full_page)


def expect_status(page: Page, what: str) -> None:
    expect(page.get_by_role("status")).to_contain_text(what)


def kwh_of(made: dict[str, Any]) -> Decimal:
    return Decimal(made["predicted"]["energy_j"]["mean"]) / JOULES_PER_KWH


def amount(made: dict[str, Any]) -> Decimal:
    """What `PRICE` makes of a request of 0.03 GB, by hand."""
    cost = Decimal("0.10") + Decimal("0.02") * Decimal("0.03") + Decimal("0.30") * kwh_of(made)
    return cost * Decimal("1.2")


def test_a_price_goes_from_a_link_to_the_amount_that_an_agent_is_quoted(
    provider: Page, api: str, learned: Tenant, parts: Container, redis_url: str
) -> None:
    page = provider
    with learned.client(api, Scope.AGENT) as agent, redis.Redis.from_url(redis_url) as store:
        store.delete(QUOTES)
        asked = agent.post("/v1/recommend", json=SEEN).json()
        assert asked["sla"]["price"] is None
        journalled(parts, store, asked)
        logged(agent, asked)
        tiers_are_changed(page, asked["sla"]["tier_id"])
        draft_is_priced(page)
        draft_is_tried(page, asked)
        draft_is_published(page)
        quoted = agent.post("/v1/recommend", json=SEEN).json()
    price = quoted["sla"]["price"]
    assert price["amount"] == str(amount(quoted).quantize(Decimal("0.000001")))
    assert (price["currency"], price["basis"], quoted["sla"]["tier"]) == ("EUR", "total", "Gold")
    assert page.url.endswith(f"/admin/price-books/{price['book_id']}")
    to_page(page, "Usage")
    expect(page.get_by_role("heading", name="Usage")).to_be_visible()
    save_screenshot(page, "usage")
    page.set_viewport_size({"width": 420, "height": 900})
    save_screenshot(page, "usage-narrow")


def tiers_are_changed(page: Page, tier_id: str) -> None:
    """One is renamed; the bounds of others are looked at, left as they are, and then split."""
    to_page(page, "Links")
    page.get_by_role("rowheader").get_by_role("link").first.click()
    expect(page.get_by_role("link", name="Surface and tiers").first).to_be_visible()
    to_page(page, "SLA tiers")
    form = page.locator(f"form[action='/admin/tiers/{tier_id}/name']")
    form.locator("xpath=..").locator("summary").click()
    form.get_by_role("textbox").fill("Gold")
    form.get_by_role("button", name="Rename").click()
    expect(page.get_by_role("rowheader", name="Gold")).to_be_visible()
    save_screenshot(page, "tiers")
    page.get_by_role("link", name="throughput at least").first.click()
    tiers = page.get_by_role("button", name="Save these tiers")
    expect(tiers).to_be_hidden()
    page.get_by_role("link", name="Split tier 1").click()
    expect(page.get_by_role("heading", name="As it would be")).to_be_visible()
    page.get_by_label("Tier 1 to, ").fill("5")
    expect(page.locator("[data-shows='to-1']")).to_have_text("5")
    save_screenshot(page, "tier-cuts")
    page.get_by_role("link", name="Leave them as they are").click()
    expect(page.get_by_role("heading", name="As it is")).to_be_visible()
    expect(tiers).to_be_hidden()
    page.get_by_role("link", name="Split tier 1").click()
    tiers.click()
    expect_status(page, "hold from now on")


def draft_is_priced(page: Page) -> None:
    """One price for all tiers, another for the first one."""
    to_page(page, "Price books")
    page.get_by_label("Name").fill("Winter")
    page.get_by_role("button", name="Make the draft").click()
    together = page.locator("section.card").filter(has_text="One price for many tiers")
    for name, value in PRICE.items():
        together.get_by_label(name).fill(value)
    together.get_by_role("button", name="Set all").click()
    expect_status(page, "is set")
    row = page.get_by_role("row").filter(has_text="throughput at least").first
    base = row.locator("input[name^='base.']")
    base.fill("-5")
    page.get_by_role("button", name="Set the prices").click()
    assert base.evaluate("field => field.validationMessage") != ""
    base.fill("0.5")
    page.get_by_role("button", name="Set the prices").click()
    expect_status(page, "prices are set")
    check_refusal_replaces_the_former_message(page, base)
    expect(page.get_by_role("cell", name="0.5 + 0.02/GB")).to_have_count(1)


def check_refusal_replaces_the_former_message(page: Page, base: Locator) -> None:
    """What was typed stays, and the page can be loaded again."""
    here = page.url
    base.fill("")
    page.get_by_role("button", name="Set the prices").click()
    expect(page.get_by_role("alert")).to_contain_text("Base is empty")
    expect(page.get_by_text("The prices are set")).to_have_count(0)
    assert (base.input_value(), page.url) == ("", here)
    page.reload()
    expect(base).to_have_value("0.5")


def draft_is_tried(page: Page, asked: dict[str, Any]) -> None:
    """What was asked for before any book was there, at the draft's prices and the provider's cost of energy."""
    base = page.locator("input[name^='base.']").first
    before = base.input_value()
    base.fill("0.6")
    page.get_by_label("What a kWh costs you, EUR").fill("360")
    keep = page.get_by_role("button", name="Save the cost of energy")
    page.once("dialog", lambda dialog: dialog.dismiss())  # a price was typed and not set: it would be lost
    keep.click()
    expect(base).to_have_value("0.6")
    base.fill(before)
    keep.click()
    expect_status(page, "cost of energy is saved")
    save_screenshot(page, "draft")
    revenue, cost = round(amount(asked), SHOWN_DECIMALS), round(360 * kwh_of(asked), SHOWN_DECIMALS)
    summary = page.locator("#what-if")
    for name, shown in (("Revenue", revenue), ("Energy cost", cost), ("Margin", revenue - cost)):
        row = summary.get_by_role("row").filter(has=page.get_by_role("rowheader", name=re.compile(f"^{name}")))
        expect(row.get_by_role("cell").first).to_have_text(f"{shown}")


def draft_is_published(page: Page) -> None:
    """Not when the dialog is closed, not from a date that has passed, and then for good."""
    review = page.get_by_role("button", name="Review and publish")
    publish = page.get_by_role("button", name="Publish", exact=True)
    review.click()
    save_screenshot(page, "publish", full_page=False)
    page.get_by_role("button", name="Not yet").click()
    expect(publish).to_be_hidden()
    review.click()
    page.get_by_label("From (UTC)").fill("2001-01-01T00:00")
    publish.click()
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("has passed")
    page.get_by_label("From (UTC)").fill("")
    publish.click()
    row = page.get_by_role("row").filter(has_text="Winter")
    expect(row).to_contain_text("current")
    save_screenshot(page, "books")
    row.get_by_role("link", name="Winter").click()
    expect(page.locator("p.lead").first).to_contain_text("current")
    expect(publish).to_be_hidden()
