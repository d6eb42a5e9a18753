"""People with one role alone: what the menu offers them, and what they are refused."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from services.admin.navigation import SECTIONS
from services.bootstrap import Container
from tests.browser.accessibility import offences
from tests.browser.conftest import patience_ms, sign_in
from tests.integration.admin.visitors import PASSWORD, person
from tests.stack import Tenant

FOR_ALL = (
    "Overview", "Transfers", "Web connections", "Links", "Gain", "Releases", "Compression", "Devices", "SLA tiers",
    "Endpoints", "Regions", "Price books",
)  # fmt: skip
MENUS = {"analyst": {*FOR_ALL, "SQL"}, "provider": {*FOR_ALL, "Customers", "Usage", "Limits"}}
FORBIDDEN, NOT_FOUND, OK = 403, 404, 200


@pytest.fixture(params=MENUS)
def role(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def page(role: str, browser: Browser, api: str, parts: Container, learned: Tenant) -> Iterator[Page]:
    """Of somebody with this role alone; refusals are what is looked for."""
    with browser.new_context(base_url=api, viewport={"width": 1280, "height": 900}) as context:
        context.set_default_timeout(patience_ms())
        page = context.new_page()
        sign_in(page, person(parts, learned, role).login, PASSWORD)
        page.get_by_role("heading", name="Overview").wait_for()
        yield page


def test_menu_has_the_pages_of_the_role_and_all_others_are_refused(page: Page, role: str) -> None:
    offered = {each.inner_text() for each in page.locator(".side nav a").all()}
    assert offered == MENUS[role]
    for entry in (entry for section in SECTIONS for entry in section.entries):
        answer = page.goto(entry.address)
        assert answer is not None
        if entry.name in offered:
            assert answer.ok, entry
        else:
            assert answer.status == FORBIDDEN, entry
            assert "needs the role" in page.get_by_role("alert").inner_text()
            expect(page.get_by_text("Ask an operator of your organisation")).to_be_visible()
            assert {each.inner_text() for each in page.locator(".side nav a").all()} == MENUS[role]
            assert offences(page) == []


def test_reader_sees_no_button_that_changes_a_release(page: Page, learned: Tenant, parts: Container) -> None:
    with parts.store.unit_of_work(learned.id) as uow:
        release = uow.releases.find_current()
    for address in ("/admin/releases", f"/admin/releases/{release}"):
        page.goto(address)
        assert page.locator("main form[method=post]").count() == 0
        assert page.locator("main").get_by_role("button").and_(page.locator(":not([role=search] *)")).count() == 0


def test_unknown_page_and_impossible_filter_lead_on_by_the_navigation(page: Page) -> None:
    for address, status, advice in (
        ("/admin/nowhere", NOT_FOUND, "Choose a page from the menu"),
        ("/admin/transfers?state=asleep", OK, "State must be"),
    ):
        answer = page.goto(address)
        assert answer is not None
        assert answer.status == status
        expect(page.get_by_text(advice)).to_be_visible()
        assert offences(page) == []
    page.get_by_role("link", name="All transfers").first.click()
    page.locator(".side nav").get_by_role("link", name="Links").click()
    expect(page.get_by_role("heading", name="Links", exact=True)).to_be_visible()
