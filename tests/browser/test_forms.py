"""Forms in a browser: what was typed outlives a session, one form is done once, and the focus is never hidden."""

from playwright.sync_api import Page, expect

from services.bootstrap import Container
from tests.browser.accessibility import offences
from tests.browser.conftest import sign_in, to_page
from tests.integration.admin.visitors import PASSWORD, person
from tests.stack import Tenant, tenant

__all__ = ["tenant"]


def end_sessions(parts: Container, tenant: Tenant, login: str) -> None:
    with parts.store.unit_of_work(tenant.id) as uow:
        user = next(each for each in uow.users.list_all() if each.login == login)
        uow.user_sessions.end_all(user.id)
        uow.commit()


def sign_in_again(page: Page, login: str) -> None:
    page.get_by_label("Login").fill(login)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()


def test_typed_values_are_there_again_after_the_next_sign_in(page: Page, parts: Container, tenant: Tenant) -> None:
    login = person(parts, tenant).login
    sign_in(page, login, PASSWORD)
    to_page(page, "API keys")
    page.get_by_label("Name", exact=True).fill("for a mover")
    page.get_by_label("provider").check()
    page.get_by_label("Weight", exact=True).fill("3")
    end_sessions(parts, tenant, login)
    page.get_by_role("button", name="Make the key").click()
    sign_in_again(page, login)
    expect(page.get_by_text("What you typed is here again")).to_be_visible()
    expect(page.get_by_label("Name", exact=True)).to_have_value("for a mover")
    expect(page.get_by_label("provider")).to_be_checked()
    expect(page.get_by_label("Weight", exact=True)).to_have_value("3")
    assert offences(page) == []
    page.get_by_role("button", name="Make the key").click()
    expect(page.locator("#secret")).to_be_visible()
    page.goto("/admin/keys")
    expect(page.get_by_label("Name", exact=True)).to_have_value("")
    with parts.store.unit_of_work(tenant.id) as uow:
        assert [key.name for key in uow.keys.list_all()].count("for a mover") == 1


def test_another_login_does_not_find_what_was_typed(page: Page, parts: Container, tenant: Tenant) -> None:
    login, other = person(parts, tenant).login, person(parts, tenant).login
    sign_in(page, login, PASSWORD)
    to_page(page, "API keys")
    page.get_by_label("Name", exact=True).fill("for a mover")
    end_sessions(parts, tenant, login)
    page.get_by_role("button", name="Make the key").click()
    sign_in_again(page, other)
    expect(page.get_by_role("heading", name="API keys")).to_be_visible()
    expect(page.get_by_label("Name", exact=True)).to_have_value("")


def test_two_clicks_make_one_key(page: Page, parts: Container, tenant: Tenant) -> None:
    sign_in(page, person(parts, tenant).login, PASSWORD)
    to_page(page, "API keys")
    page.get_by_label("Name", exact=True).fill("once")
    page.get_by_role("button", name="Make the key").dblclick(no_wait_after=True)
    expect(page.locator("#secret")).to_be_visible()
    with parts.store.unit_of_work(tenant.id) as uow:
        assert [key.name for key in uow.keys.list_all()].count("once") == 1


def test_a_user_is_deleted_after_a_question(page: Page, parts: Container, tenant: Tenant) -> None:
    leaver = person(parts, tenant, "analyst").login
    sign_in(page, person(parts, tenant).login, PASSWORD)
    to_page(page, "Users")
    row = page.get_by_role("row").filter(has_text=leaver)
    page.once("dialog", lambda question: question.dismiss())
    row.get_by_role("button", name="Delete").click()
    expect(row).to_be_visible()
    page.once("dialog", lambda question: question.accept())
    row.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("is deleted")).to_be_visible()
    expect(row).to_have_count(0)


def test_the_focus_is_never_behind_the_bar_at_the_bottom(provider: Page) -> None:
    page = provider
    page.goto("/admin/price-books")
    page.get_by_label("Name").fill("Focus")
    page.get_by_role("button", name="Make the draft").click()
    page.locator(".keeps").wait_for()
    page.set_viewport_size({"width": 820, "height": 500})
    hidden = page.evaluate(
        """() => [...document.querySelectorAll("main input, main select, main button")]
          .filter((each) => each.offsetParent && !each.closest(".keeps") && each.type !== "hidden")
          .filter((each) => {
            each.focus();
            const bar = document.querySelector(".keeps").getBoundingClientRect();
            const own = each.getBoundingClientRect();
            return own.bottom > bar.top + 1 && own.top < bar.bottom && !each.closest("dialog");
          })
          .map((each) => each.outerHTML.slice(0, 120))"""
    )
    assert hidden == []
