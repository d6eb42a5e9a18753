"""The editor of queries: names are completed and inserted, rows are sorted where they are, a query has an address."""

import re

from playwright.sync_api import Page, expect

from tests.browser.accessibility import offences
from tests.browser.conftest import to_page


def test_names_of_views_and_columns_are_completed_by_keys(signed_in: Page) -> None:
    page = signed_in
    to_page(page, "SQL")
    query = page.get_by_label("Query")
    query.fill("")
    query.press_sequentially("SELECT count(*) FROM whole_tr")
    expect(page.get_by_role("option", name="whole_transfers")).to_be_visible()
    assert offences(page) == []
    query.press("ArrowDown")
    query.press("Enter")
    expect(query).to_have_value("SELECT count(*) FROM whole_transfers")
    expect(page.get_by_role("listbox")).to_be_hidden()
    query.press_sequentially(" WHERE through")
    expect(page.get_by_role("option").first).to_have_text("throughput_bps")
    query.press("Escape")
    expect(page.get_by_role("listbox")).to_be_hidden()
    query.press("Enter")
    expect(query).to_have_value("SELECT count(*) FROM whole_transfers WHERE through\n")


def test_a_click_on_a_column_puts_it_where_the_caret_is(signed_in: Page) -> None:
    page = signed_in
    to_page(page, "SQL")
    query = page.get_by_label("Query")
    query.fill("SELECT  FROM links")
    query.evaluate("each => each.setSelectionRange(7, 7)")
    page.locator("[data-view=links] summary").click()
    page.locator("[data-view=links]").get_by_role("button", name="mover", exact=True).click()
    expect(query).to_have_value("SELECT mover FROM links")
    query.press("Control+z")
    expect(query).to_have_value("SELECT  FROM links")


def test_rows_are_sorted_by_the_head_of_a_column_and_the_address_is_that_of_the_query(signed_in: Page) -> None:
    page = signed_in
    to_page(page, "SQL")
    page.get_by_label("Query").fill("SELECT * FROM (VALUES (10, 'b'), (9, NULL), (100, 'a')) rows (n, word)")
    page.get_by_role("button", name="Run").click()
    cells = page.locator("#answer tbody tr td:first-child")
    expect(cells).to_have_text(["10", "9", "100"])
    head = page.locator("#answer").get_by_role("button", name="n", exact=True)
    head.click()
    expect(cells).to_have_text(["9", "10", "100"])
    head.click()
    expect(cells).to_have_text(["100", "10", "9"])
    page.locator("#answer").get_by_role("button", name="word", exact=True).click()
    expect(cells).to_have_text(["100", "10", "9"])
    assert offences(page) == []
    assert re.search(r"/admin/sql\?sql=SELECT", page.url)
    page.reload()
    expect(page.get_by_label("Query")).to_have_value(re.compile("VALUES"))
