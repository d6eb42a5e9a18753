"""A provider issues the statement of a month that is over: on the page, on a phone and on paper."""

from decimal import Decimal

from playwright.sync_api import Page, expect

from tests.browser.accessibility import offences
from tests.browser.test_month_of_a_provider import A4_WIDTH_PX, STICKS_OUT, no_column_is_lost, save_at_each_width
from tests.browser.test_prices import expect_status, save_screenshot
from tests.integration.pricing.past_transfers import SECOND, THIRD, Billed
from tests.stack import Tenant

COUNT = 60


def test_statement_is_issued_once_and_prints_its_transfers(
    provider: Page, api: str, learned: Tenant, admin_database_url: str
) -> None:
    page, amounts = provider, [Decimal("0.123457") * (number + 1) for number in range(COUNT)]
    acme = Billed.new(
        learned,
        api,
        admin_database_url,
        name="Acme Archives",
        contact_name="Ann Ames",
        contact_email="ann@acme.example",
        address="Ringstrasse 2\n8000 Zürich\nCHE-123.456.789",
    )
    with learned.client(api) as client:
        issuer = {"name": "Nordkabel Netz GmbH", "address": ["Kaistraße 1", "20457 Hamburg", "DE 123456789"]}
        client.put("/v1/statement-issuer", json=issuer).raise_for_status()
        acme.move(SECOND, "20")
        acme.issue(client, SECOND).raise_for_status()
        acme.move(SECOND, "1.5")
        acme.move(SECOND, "2", kept=False)
        for number, amount in enumerate(amounts):
            acme.move(THIRD, f"{amount}", day=1 + number % 28, kept=number % 7 != 3)
    open_page(page, acme, THIRD)
    expect(page.get_by_text("not issued", exact=True)).to_be_visible()
    save_at_each_width(page, "statement-to-issue")
    page.once("dialog", lambda dialog: dialog.dismiss())
    page.get_by_role("button", name="Issue this statement").click()
    expect(page.get_by_text("not issued", exact=True)).to_be_visible()
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Issue this statement").dblclick()
    expect_status(page, "Statement No. 2 is issued")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Statement No. 2")
    expect(page.get_by_text("Adjustments of earlier statements")).to_be_visible()
    with learned.client(api) as client:
        assert [each["number"] for each in client.get("/v1/issued-statements").json()] == [1, 2]
    acme.move(THIRD, "3.25")
    page.reload()
    expect(page.get_by_role("heading", name="Changes since it was issued")).to_be_visible()
    expect(page.locator("#changes")).to_contain_text("+3.25")
    expect(page.locator("table.itemised tbody tr:visible")).to_have_count(25)
    save_at_each_width(page, "statement-issued")
    assert offences(page) == []
    page.emulate_media(media="print")
    page.set_viewport_size({"width": A4_WIDTH_PX, "height": 990})
    expect(page.locator("table.itemised tbody tr:visible")).to_have_count(COUNT)
    expect(page.locator("#changes")).to_be_hidden()
    assert page.evaluate(STICKS_OUT, A4_WIDTH_PX) == [], "all of it is on the paper"
    save_screenshot(page, "statement-issued-printed")
    page.emulate_media(media="screen")
    page.set_viewport_size({"width": 1360, "height": 900})
    open_page(page, acme, SECOND)
    expect(page.locator("#changes")).to_contain_text("Billed later")
    page.get_by_text("By day").click()
    no_column_is_lost(page)
    page.goto(f"{api}/admin/customers/{acme.id}")
    save_at_each_width(page, "customer-with-issued")
    page.goto(f"{api}/admin/usage?month={THIRD}")
    expect(page.get_by_text("changed since")).to_be_visible()
    save_at_each_width(page, "usage-with-issued")


def open_page(page: Page, acme: Billed, month: object) -> None:
    address = page.url.split("/admin")[0]
    page.goto(f"{address}/admin/usage/statement?month={month}&customer={acme.id}")
