"""Transfers as people follow them: a list that grows by itself, and a timeline of what was decided and why."""

import json
from collections.abc import Iterator

import httpx
import pytest
import redis
from playwright.sync_api import Page, expect

from services.bootstrap import Container
from services.queue.sessions import JOURNAL
from tests.browser.conftest import to_page
from tests.integration.live_transfers import Transfer, client
from tests.integration.transfers.test_journal import Journal

__all__ = ["client"]


@pytest.fixture
def journal(parts: Container, redis_url: str) -> Iterator[Journal]:
    with redis.Redis.from_url(redis_url) as store:
        store.delete(JOURNAL)
        yield Journal(parts, store)


def test_new_transfer_appears_and_its_timeline_grows_while_the_page_is_open(
    provider: Page, client: httpx.Client, journal: Journal
) -> None:
    page = provider
    to_page(page, "Transfers")
    expect(page.get_by_text("None now")).to_be_visible()
    transfer = Transfer(client)
    transfer.beat(0)
    transfer.beat(1)
    journal.run()
    row = page.get_by_role("row").filter(has=page.locator(f"a[href='/admin/transfers/{transfer.id}']"))
    expect(row.get_by_text("live")).to_be_visible()
    row.get_by_role("link").click()
    for sequence in range(2, 6):
        transfer.beat(sequence, 20e6 if sequence > 3 else 80e6)
    journal.run()
    expect(page.get_by_role("table").last.get_by_role("row").nth(1).get_by_role("cell").first).to_have_text("5")
    drawn = json.loads(page.locator("[data-chart]").get_attribute("data-chart"))
    assert drawn["series"][0]["data"] == [[5.0, 80.0], [10.0, 80.0], [15.0, 80.0], [20.0, 20.0], [25.0, 20.0]]
    expect(page.locator(".chart svg")).to_be_visible()


def test_a_list_is_narrowed_by_state_and_place(provider: Page, client: httpx.Client, journal: Journal) -> None:
    transfer = Transfer(client)
    transfer.beat(0)
    journal.run()
    page = provider
    page.goto("/admin/transfers?state=ended")
    expect(page.get_by_text("No transfer matches")).to_be_visible()
    page.get_by_label("State").select_option("live")
    page.get_by_label("To").fill("amber")
    page.get_by_role("button", name="Show").click()
    expect(page.locator(f"a[href='/admin/transfers/{transfer.id}']")).to_be_visible()
