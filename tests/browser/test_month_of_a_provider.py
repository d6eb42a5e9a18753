"""A provider's month: label links, price by rule and file, review, publish, move, miss an SLA, credit it, bill it."""

import csv
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal
from io import StringIO
from pathlib import Path
from typing import Any
from uuid import uuid4

import redis
from playwright.sync_api import Page, expect

from services.application.access.authenticate import Scope
from services.bootstrap import Container
from services.queue.quote_recorder import QUOTES
from tests.browser.accessibility import offences
from tests.browser.conftest import to_page
from tests.browser.test_prices import expect_status, save_screenshot
from tests.integration.billing.quotes import journalled
from tests.integration.pricing.test_credits import MET_S, MISSED_S, move
from tests.stack import Tenant

WIDTHS_PX = (1440, 820, 390)
RULE = {"Base": "0.10", "per GB": "0.02", "per kWh": "0", "Mark-up, %": "20", "Credit, %": "35"}


def save_at_each_width(page: Page, name: str) -> None:
    """Pictures at the widths of a desk, a tablet and a phone; nothing may stick out at the side."""
    for width in WIDTHS_PX:
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        save_screenshot(page, f"{name}-{width}", full_page=name != "review")
    page.set_viewport_size({"width": 1360, "height": 900})


def test_month_of_a_provider_from_labels_to_a_statement(
    provider: Page, api: str, learned: Tenant, parts: Container, redis_url: str, tmp_path: Path
) -> None:
    page, label = provider, f"europe-{uuid4().hex[:6]}"
    links_are_labelled(page, label)
    to_page(page, "Price books")
    page.get_by_label("Name").fill("Spring rules")
    page.get_by_role("button", name="Make the draft").click()
    rules_are_set(page, label)
    file_is_read(page, tmp_path)
    page.get_by_role("button", name="Review and publish").click()
    review = page.get_by_role("dialog")
    expect(review).to_contain_text("Tiers without a price")
    expect(review).to_contain_text("no book is current")
    review.locator("summary").first.click()
    save_at_each_width(page, "review")
    assert offences(page) == []
    review.get_by_role("button", name="Publish", exact=True).click()
    row = page.get_by_role("row").filter(has_text="Spring rules")
    expect(row).to_contain_text("current")
    row.get_by_role("link", name="Spring rules").click()
    expect(page.get_by_role("heading", name="What it changed")).to_be_visible()
    save_at_each_width(page, "published")
    with learned.client(api, Scope.AGENT) as agent, redis.Redis.from_url(redis_url) as store:
        store.delete(QUOTES)
        moved = [move(agent, seconds) for seconds in (MET_S, MET_S, MISSED_S)]
        journalled(parts, store, *moved)
    statement_is_read(page, [price_by_hand(each) for each in moved])


def price_by_hand(made: dict[str, Any]) -> Decimal:
    """The price of `RULE` for what was moved."""
    cost = Decimal("0.10") + Decimal("0.02") * Decimal(made["total_bytes"]) / 10**9
    return round(cost * Decimal("1.2"), 6)


def statement_is_read(page: Page, amounts: Sequence[Decimal]) -> None:
    """The last of the transfers missed its SLA; what is to be paid is the same by hand."""
    payable = (sum(amounts) - amounts[-1] * Decimal("0.35")).quantize(Decimal("0.01"), ROUND_HALF_UP)
    to_page(page, "Usage")
    save_at_each_width(page, "usage")
    page.locator("table").first.get_by_role("link").first.click()
    expect(page.get_by_role("heading", name="Statement")).to_be_visible()
    expect(page.get_by_role("row").filter(has_text="EUR").first).to_contain_text(f"{payable}")
    expect(page.get_by_role("cell", name="missed", exact=True)).to_have_count(1)
    save_at_each_width(page, "statement")
    assert offences(page) == []
    page.emulate_media(media="print")
    expect(page.get_by_role("button", name="Print, or save as PDF")).to_be_hidden()
    save_screenshot(page, "statement-printed")
    page.emulate_media(media="screen")
    page.locator("table").last.get_by_role("link").last.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("origin")


def links_are_labelled(page: Page, label: str) -> None:
    to_page(page, "Links")
    page.get_by_role("checkbox").first.check()
    page.get_by_role("button", name="Add to the chosen links").click()
    expect(page.get_by_role("alert")).to_contain_text("Label must be letters")
    page.get_by_label("Label", exact=True).fill(label)
    page.get_by_role("button", name="Add to the chosen links").click()
    expect_status(page, f"The label {label} is added to 1 link")
    expect(page.get_by_role("cell", name=label)).to_be_visible()
    save_at_each_width(page, "labels")
    assert offences(page) == []


def rules_are_set(page: Page, label: str) -> None:
    page.get_by_role("link", name="Price by rule").click()
    page.get_by_label("Links of rule 1").select_option(label)
    page.get_by_label("Below, Mbit/s, of rule 1").fill("0")
    for name, value in RULE.items():
        page.get_by_label(f"{name} of rule 1").fill(value)
    page.get_by_role("button", name="Save the rules").click()
    expect(page.get_by_role("alert")).to_contain_text("Rule 1, Below, Mbit/s must be above")
    page.get_by_label("Below, Mbit/s, of rule 1").fill("")
    page.get_by_role("button", name="Save the rules").click()
    expect_status(page, "The rules are saved: they price")
    expect(page.get_by_role("status")).not_to_contain_text("price 0 tiers")
    save_at_each_width(page, "rules")
    assert offences(page) == []
    page.get_by_role("link", name="Spring rules", exact=True).click()


def file_is_read(page: Page, folder: Path) -> None:
    """The first tier gets a price of its own in a spreadsheet."""
    with page.expect_download() as downloading:
        page.get_by_role("link", name="Download all prices as CSV").click()
    rows = list(csv.DictReader(StringIO(Path(downloading.value.path()).read_text(encoding="utf-8"))))
    rows[0]["base"] = "7"
    changed = folder / "prices.csv"
    with changed.open("w", encoding="utf-8", newline="") as opened:
        writer = csv.DictWriter(opened, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    page.get_by_text("Read prices from a CSV file").click()
    page.get_by_label("File", exact=True).set_input_files(changed)
    expect(page.get_by_label("Its text")).to_have_value(changed.read_text(encoding="utf-8"))
    save_at_each_width(page, "file")
    page.get_by_role("button", name="Set these prices").click()
    expect_status(page, "1 price changed")
