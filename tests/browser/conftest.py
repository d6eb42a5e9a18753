"""Debian's Chromium on the pages of a running API, with real PostgreSQL and Valkey behind it."""

import shutil
from collections.abc import Iterator
from uuid import uuid4

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Request,
    Response,
    expect,
    sync_playwright,
)

from services.application.access.users import ROLES, add_user
from services.bootstrap import Container
from tests.conditions import stretched
from tests.integration.live_transfers import learned
from tests.stack import (
    Tenant,
    admin_database_url,
    api,
    database_url,
    logs,
    new_tenant,
    parts,
    postgres,
    redis_url,
    valkey,
)

__all__ = ["admin_database_url", "api", "database_url", "learned", "logs", "parts", "postgres", "redis_url", "valkey"]

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
REFUSED = "Failed to load resource"  # a form that was refused; pages and their parts are watched by their answers
PASSWORD = "a password of my own"
PATIENCE_S = 30.0
"""What is expected is waited for as long as Playwright waits for a page; for both longer on a busy machine."""


def patience_ms() -> float:
    return 1e3 * stretched(PATIENCE_S)


@pytest.fixture(scope="module")  # not longer: while it is open, nothing else in this process can run an event loop
def browser() -> Iterator[Browser]:
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("there is no chromium; as root: infra/install-test-tools")
    expect.set_options(timeout=patience_ms())
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=program, args=FLAGS, timeout=patience_ms())
        yield chromium
        chromium.close()


class Watched:
    """A page that notes what a visitor should never meet."""

    def __init__(self, context: BrowserContext, own: str) -> None:
        context.set_default_timeout(patience_ms())
        self.page = context.new_page()
        self.complaints: list[str] = []
        self.page.on("console", self._on_message)
        self.page.on("pageerror", lambda error: self._note(str(error)))
        self.page.on("request", self._on_request)
        self.page.on("response", self._on_response)
        self._own = own

    def _on_message(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not message.text.startswith(REFUSED):
            self._note(message.text)

    def _on_request(self, request: Request) -> None:
        if not request.url.startswith((self._own, "data:", "blob:")):
            self._note(f"asked {request.url}")

    def _on_response(self, response: Response) -> None:
        if response.status >= 400 and response.request.method == "GET":
            self._note(f"{response.status} from {response.url}")

    def _note(self, what: str) -> None:
        self.complaints.append(what)


@pytest.fixture
def login(parts: Container, database_url: str) -> tuple[str, str]:
    """Login and first password of an operator of a tenant of its own."""
    tenant = new_tenant(parts, database_url)
    login = f"olive-{tenant.id}"
    with parts.store.unit_of_work(tenant.id) as uow:
        return login, add_user(login, ROLES, passwords=parts.passwords, uow=uow, clock=parts.clock)[1]


@pytest.fixture
def page(browser: Browser, api: str) -> Iterator[Page]:
    """A page of a fresh profile; the test fails for errors on its console and requests to elsewhere."""
    with browser.new_context(base_url=api, viewport={"width": 1360, "height": 900}) as context:
        watched = Watched(context, api)
        yield watched.page
        assert watched.complaints == []


@pytest.fixture
def signed_in(page: Page, login: tuple[str, str]) -> Page:
    """The page of an operator who has signed in and chosen a password."""
    sign_in(page, *login)
    choose_password(page, login[1])
    return page


@pytest.fixture
def provider(page: Page, parts: Container, learned: Tenant) -> Page:
    """The page of somebody of a tenant with a release, signed in."""
    login = f"pat-{uuid4()}"
    with parts.store.unit_of_work(learned.id) as uow:
        first = add_user(login, ROLES, passwords=parts.passwords, uow=uow, clock=parts.clock)[1]
    sign_in(page, login, first)
    choose_password(page, first)
    return page


def sign_in(page: Page, login: str, password: str) -> None:
    page.goto("/admin")
    page.get_by_label("Login").fill(login)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()


def choose_password(page: Page, first: str, chosen: str = PASSWORD) -> None:
    page.get_by_label("Password until now").fill(first)
    page.get_by_label("New password", exact=False).first.fill(chosen)
    page.get_by_label("New password again").fill(chosen)
    page.get_by_role("button", name="Change the password").click()
    page.get_by_role("heading", name="Overview").wait_for()


def to_page(page: Page, name: str) -> None:
    """Open a page by the navigation that every page has, and wait until it has loaded."""
    link = page.get_by_role("navigation").get_by_role("link", name=name, exact=True)
    address = link.get_attribute("href")
    with page.expect_navigation(url=f"**{address}*"):
        link.click()
