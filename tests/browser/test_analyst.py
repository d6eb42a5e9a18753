"""An analyst's story: from a question on the page of SQL to the same rows in a tool of their own."""

from pathlib import Path
from uuid import uuid4

import psycopg
from playwright.sync_api import Page, expect

from services.bootstrap import Container
from tests.browser.conftest import sign_in, to_page
from tests.conditions import eventually
from tests.integration.admin.visitors import PASSWORD, person
from tests.integration.warehouse.test_readers import postgres
from tests.records import ndjson, record
from tests.stack import Tenant, new_tenant, tenant

__all__ = ["postgres", "tenant"]

OWN, THEIRS = 3, 2
COUNT = "SELECT count(*) AS transfers FROM transfers"


def logged(tenant: Tenant, api: str, rows: int) -> None:
    with tenant.client(api) as client:
        client.post("/v1/logs", content=ndjson([record(id=str(uuid4())) for _ in range(rows)])).raise_for_status()


def test_an_analyst_asks_on_a_page_and_goes_on_in_a_tool_of_their_own(
    page: Page, api: str, parts: Container, tenant: Tenant, database_url: str
) -> None:
    stranger = new_tenant(parts, database_url)
    logged(tenant, api, OWN)
    logged(stranger, api, THEIRS)
    login = person(parts, tenant, "analyst").login
    sign_in(page, login, PASSWORD)
    assert downloaded(page) == f"transfers\n{OWN}\n"
    page.get_by_role("link", name=login).click()
    page.get_by_role("button", name="Make one").click()
    with psycopg.connect(page.locator("#secret").inner_text(), autocommit=True) as session:
        assert session.execute(COUNT).fetchone() == (OWN,)
        session.execute("SELECT set_config('tradewind.tenant', %s, false)", [str(stranger.id)])
        assert session.execute(COUNT).fetchone() == (OWN,)
        page.get_by_role("link", name="Done").click()
        expect(page.get_by_role("button", name="Replace it")).to_be_visible()
        assert session.info.user in page.locator("main").inner_text()


def downloaded(page: Page) -> str:
    """The file of a query whose rows the page has shown."""
    to_page(page, "SQL")
    page.get_by_label("Query").fill(COUNT)
    page.get_by_role("button", name="Run").click()
    expect(page.locator("#answer").get_by_role("cell")).to_have_text([f"{OWN}"])
    with page.expect_download() as coming:
        page.get_by_role("button", name="Download").click()
    return Path(coming.value.path()).read_text()


def test_a_query_that_is_cancelled_on_the_page_ends_in_the_database(
    page: Page, parts: Container, tenant: Tenant, admin_database_url: str
) -> None:
    sign_in(page, person(parts, tenant, "analyst").login, PASSWORD)
    to_page(page, "SQL")
    page.get_by_label("Query").fill("SELECT pg_sleep(100) AS cancelled_on_a_page")
    # While a page is on its way nobody can ask where the button is, only click there.
    x, y = page.locator("[data-stops]").evaluate(
        "each => { each.hidden = false; const at = each.getBoundingClientRect(); each.hidden = true;"
        " return [at.x + at.width / 2, at.y + at.height / 2]; }"
    )
    with psycopg.connect(admin_database_url, autocommit=True) as admin:

        def runs() -> bool:
            asked = (
                "SELECT FROM pg_stat_activity WHERE query LIKE '%%cancelled_on_a_page%%' AND state = %s AND pid <> %s"
            )
            return admin.execute(asked, ["active", admin.info.backend_pid]).fetchone() is not None

        page.get_by_role("button", name="Run").click(no_wait_after=True)
        eventually(runs)
        page.mouse.click(x, y)
        eventually(lambda: not runs())
    expect(page.get_by_role("button", name="Run")).to_be_enabled()
    expect(page.get_by_role("button", name="Cancel")).to_be_hidden()
