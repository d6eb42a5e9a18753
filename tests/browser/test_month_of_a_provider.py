"""A provider's month: label links, price by rule and file, review, publish, negotiate with a customer of two keys,
move, miss an SLA, credit it, bill it.
"""

import csv
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal
from io import StringIO
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import redis
from playwright.sync_api import Page, expect

from services.application.access.authenticate import Scope, make_secret
from services.application.access.keys import create_key
from services.bootstrap import Container
from services.queue.quote_recorder import QUOTES
from tests.browser.accessibility import offences
from tests.browser.conftest import to_page
from tests.browser.test_prices import expect_status, save_screenshot
from tests.integration.billing.quotes import journalled
from tests.integration.pricing.test_credits import MET_S, MISSED_S, move
from tests.stack import Tenant
from tradewind.wire.inventory import NewKey

WIDTHS_PX = (1440, 820, 390)
A4_WIDTH_PX = 672
"""The width of an A4 sheet within margins of 1.6 cm, at 96 to the inch."""

STICKS_OUT = """width => [...document.querySelectorAll("main :is(tbody th, td, caption, dd)")]
    .filter(each => each.checkVisibility() && each.getBoundingClientRect().right > width + 1)
    .map(each => each.textContent.trim())"""
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
    keys = [f"mover {site} {uuid4().hex[:6]}" for site in ("north", "south")]
    secrets = [make_key(learned, name) for name in keys]
    customer_is_made(page, keys)
    prices_are_negotiated(page)
    with redis.Redis.from_url(redis_url) as store:
        store.delete(QUOTES)
        moved = []
        for secret, seconds in zip(secrets, ((MET_S, MISSED_S), (MET_S, MISSED_S, MET_S)), strict=True):
            with httpx.Client(base_url=api, headers={"Authorization": f"Bearer {secret}"}, timeout=60) as agent:
                moved += [(move(agent, each), each == MISSED_S) for each in seconds]
        with learned.client(api, Scope.AGENT) as stranger:
            alone = [move(stranger, MET_S) for _ in range(30)]
        journalled(parts, store, *(made for made, _ in moved), *alone)
    usage_is_read(page, alone)
    statement_is_read(page, [(price_by_hand(made, "0.9"), missed) for made, missed in moved], keys)


def make_key(tenant: Tenant, name: str) -> str:
    with tenant.parts.store.unit_of_work(tenant.id) as uow:
        new = NewKey(name=name, scopes=(Scope.AGENT,))
        return create_key(new, make_secret(), uow=uow, clock=tenant.parts.clock).secret


def price_by_hand(made: dict[str, Any], factor: str = "1") -> Decimal:
    """The price of `RULE` for what was moved, at the share of it that a customer pays."""
    cost = Decimal("0.10") + Decimal("0.02") * Decimal(made["total_bytes"]) / 10**9
    return round(cost * Decimal("1.2") * Decimal(factor), 6)


def customer_is_made(page: Page, keys: Sequence[str]) -> None:
    """A blank name is refused next to its field; what was typed stays."""
    to_page(page, "Customers")
    expect(page.get_by_role("heading", name="No customers yet")).to_be_visible()
    page.get_by_label("Name").fill("   ")
    page.get_by_label("Contact").fill("Ann Ames")
    page.get_by_label("E-mail").fill("ann@acme.example")
    page.get_by_label("Note").fill("Backups of the two sites, each night.")
    page.get_by_label("Most in a month").fill("1e5")
    for key in keys:
        page.get_by_role("checkbox", name=key).check()
    make = page.get_by_role("button", name="Make the customer")
    make.click()
    refusal = page.get_by_role("alert")
    expect(refusal).to_contain_text("'1e5' has an exponent")
    expect(page.get_by_label("Most in a month")).to_have_attribute("aria-invalid", "true")
    page.get_by_label("Most in a month").fill("250")
    make.click()
    expect(refusal).to_contain_text("Name is blank")
    expect(page.get_by_label("Most in a month")).not_to_have_attribute("aria-invalid", "true")
    expect(page.get_by_label("Name")).to_be_focused()
    save_at_each_width(page, "customer-refused")
    page.get_by_label("Name").fill("Acme Archives")
    make.dblclick()
    expect_status(page, "Acme Archives is a customer")
    to_page(page, "Customers")
    expect(page.get_by_role("row").filter(has_text="Acme Archives")).to_have_count(1)
    page.get_by_label("Name", exact=True).fill("acme archives")
    page.get_by_role("button", name="Make the customer").click()
    expect(page.get_by_role("alert")).to_contain_text("Name is that of another customer")
    save_at_each_width(page, "customers")
    assert offences(page) == []


def prices_are_negotiated(page: Page) -> None:
    page.get_by_role("link", name="Acme Archives", exact=True).click()
    page.get_by_label("Change of the book's prices, %").fill("-10")
    page.get_by_role("button", name="Set these prices").click()
    expect(page.get_by_role("alert")).to_contain_text("write it without a sign")
    page.get_by_label("Change of the book's prices, %").fill("10")
    page.get_by_role("button", name="Set these prices").click()
    expect_status(page, "The prices are negotiated")
    expect(page.get_by_role("cell", name="10 % off")).to_be_visible()
    save_at_each_width(page, "customer")
    assert offences(page) == []


def usage_is_read(page: Page, alone: Sequence[dict[str, Any]]) -> None:
    to_page(page, "Usage")
    save_at_each_width(page, "usage")
    assert offences(page) == []
    page.get_by_role("row").filter(has_text="key without a customer").get_by_role("link").click()
    paid = sum(map(price_by_hand, alone), Decimal(0)).quantize(Decimal("0.01"), ROUND_HALF_UP)
    expect(page.get_by_role("row").filter(has_text="EUR").first).to_contain_text(f"{paid}")
    expect(page.get_by_text("Page 1 of 2")).to_be_visible()
    save_at_each_width(page, "statement-of-key")
    to_page(page, "Usage")


def statement_is_read(page: Page, amounts: Sequence[tuple[Decimal, bool]], keys: Sequence[str]) -> None:
    """What is to be paid for both keys, less credits, is the same by hand, to the cent."""
    credit = sum((amount * Decimal("0.35") for amount, missed in amounts if missed), Decimal(0))
    payable = (sum((amount for amount, _ in amounts), Decimal(0)) - credit).quantize(Decimal("0.01"), ROUND_HALF_UP)
    page.get_by_role("link", name="Acme Archives", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("-0001")
    for text in ("Acme Archives", "Ann Ames", "ann@acme.example", *keys):
        expect(page.get_by_role("main")).to_contain_text(text)
    expect(page.get_by_role("row").filter(has_text="EUR").first).to_contain_text(f"{payable}")
    expect(page.get_by_role("cell", name="missed", exact=True)).to_have_count(2)
    page.get_by_text("By day").click()
    save_at_each_width(page, "statement")
    no_column_is_lost(page)
    assert offences(page) == []
    with page.expect_download() as downloading:
        page.get_by_role("link", name="Its transfers as CSV").click()
    assert downloading.value.suggested_filename.endswith("-0001.csv")
    rows = list(csv.DictReader(StringIO(Path(downloading.value.path()).read_text(encoding="utf-8"))))
    assert {row["customer"] for row in rows} == {"Acme Archives"}
    assert sorted(Decimal(row["amount"]) for row in rows) == sorted(amount for amount, _ in amounts)
    page.emulate_media(media="print")
    expect(page.get_by_role("button", name="Print, or save as PDF")).to_be_hidden()
    page.set_viewport_size({"width": A4_WIDTH_PX, "height": 990})
    assert page.evaluate(STICKS_OUT, A4_WIDTH_PX) == [], "all of it is on the paper"
    save_screenshot(page, "statement-printed")
    page.set_viewport_size({"width": 1360, "height": 900})
    page.emulate_media(media="screen")
    page.locator("table").last.get_by_role("link").last.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("origin")


def no_column_is_lost(page: Page) -> None:
    """On a phone each cell is to be seen, with the heading of its column, and no table has to be moved sideways."""
    page.set_viewport_size({"width": min(WIDTHS_PX), "height": 900})
    expect(page.locator("table.stacks").last).to_be_visible()
    tables = page.locator("main table")
    for number in range(tables.count()):
        table = tables.nth(number)
        assert [cell.is_visible() for cell in table.locator("tbody :is(th, td)").all()].count(False) == 0
    assert page.evaluate(STICKS_OUT, min(WIDTHS_PX)) == []
    page.set_viewport_size({"width": 1360, "height": 900})


def links_are_labelled(page: Page, label: str) -> None:
    to_page(page, "Links")
    page.get_by_role("checkbox").first.check()
    page.get_by_role("button", name="Add to the chosen links").click()
    expect(page.get_by_role("alert")).to_contain_text("Label must be letters")
    page.get_by_label("Label", exact=True).fill(label)
    page.get_by_role("button", name="Add to the chosen links").click()
    expect_status(page, f"The label {label} is added to 1 link")
    expect(page.get_by_role("rowheader", name=label)).to_be_visible()
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
