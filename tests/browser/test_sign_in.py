"""Signing in, the first password, and keys and people as an operator manages them."""

from playwright.sync_api import Page, expect

from tests.browser.conftest import PASSWORD, choose_password, sign_in, to_page


def test_the_first_password_has_to_be_changed_before_any_other_page(page: Page, login: tuple[str, str]) -> None:
    sign_in(page, *login)
    expect(page.get_by_text("Choose your own password first")).to_be_visible()
    page.goto("/admin/keys")
    expect(page.get_by_text("Choose your own password first")).to_be_visible()
    choose_password(page, login[1])
    page.get_by_role("button", name="Sign out").click()
    page.get_by_label("Login").wait_for()
    sign_in(page, login[0], PASSWORD)
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()


def test_a_key_is_made_shown_once_weighed_and_revoked(signed_in: Page, api: str) -> None:
    page = signed_in
    to_page(page, "API keys")
    page.get_by_label("Name").fill("mover at site A")
    page.get_by_role("button", name="Make the key").click()
    secret = page.locator("#secret").inner_text()
    assert secret.startswith("tw_")
    page.get_by_role("link", name="Done").click()
    expect(page.get_by_text(secret)).to_have_count(0)
    row = page.get_by_role("row", name="mover at site A")
    row.get_by_label("Weight of mover at site A").fill("3")
    row.get_by_role("button", name="Set").first.click()
    expect(page.get_by_role("status")).to_contain_text("weight is changed")
    page.on("dialog", lambda dialog: dialog.accept())
    row.get_by_role("button", name="Revoke").click()
    expect(row.get_by_text("revoked")).to_be_visible()
    to_page(page, "Audit")
    for what in ("key created", "key changed", "key revoked"):
        expect(page.get_by_role("row", name=what).filter(has_text="mover at site A")).to_be_visible()


def test_refused_role_change_shows_its_reason_on_the_form(signed_in: Page) -> None:
    page = signed_in
    to_page(page, "Users")
    row = page.get_by_role("row").nth(1)
    row.get_by_label("operator").uncheck()
    with page.expect_response("**/roles") as refused:
        row.get_by_role("button", name="Set").click()
    assert refused.value.status == 409
    expect(page.get_by_role("alert")).to_contain_text("At least one user must stay an operator")
