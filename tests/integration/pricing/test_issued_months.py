"""All statements of a month: listed with what each comes to, and issued at once."""

import random
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import httpx
import psycopg
import pytest

from services.application.access.authenticate import Scope
from tests.integration.admin.visitors import person, signed_in
from tests.integration.pricing.past_transfers import FIRST, SECOND, THIRD, THIS_MONTH, Billed
from tests.integration.pricing.test_customers import new_key
from tests.stack import Tenant

OK, NOT_PERMITTED, CONFLICT, UNPROCESSABLE = 200, 403, 409, 422


@pytest.fixture
def provider(api: str, tenant: Tenant) -> Iterator[httpx.Client]:
    with tenant.client(api) as opened:
        yield opened


@pytest.fixture
def acme(tenant: Tenant, api: str, admin_database_url: str) -> Billed:
    return Billed.new(tenant, api, admin_database_url)


@pytest.fixture
def beta(tenant: Tenant, api: str, admin_database_url: str) -> Billed:
    return Billed.new(tenant, api, admin_database_url)


def issue_all(provider: httpx.Client, month: object, **more: Any) -> httpx.Response:
    return provider.post("/v1/issued-statements/months", json={"month": str(month)} | more)


def list_outcomes(answer: httpx.Response) -> dict[str | None, str]:
    return {each["customer_id"]: each["outcome"] for each in answer.raise_for_status().json()["statements"]}


def list_usage(provider: httpx.Client, month: object) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = provider.get("/v1/usage-statements", params={"month": str(month)}).json()
    return listed


def test_customer_that_pays_differences_of_earlier_months_alone_is_listed_with_what_it_pays(
    api: str, parts: Any, tenant: Tenant, provider: httpx.Client, acme: Billed, beta: Billed
) -> None:
    corrected = acme.move(FIRST, "10.005")
    acme.issue(provider, FIRST).raise_for_status()
    acme.correct(corrected, amount="1.001")
    acme.move(FIRST, "0.5", currency="USD")
    beta.move(SECOND, "7")
    listed = {each["customer_id"]: each for each in list_usage(provider, SECOND)}
    assert set(listed) == {str(acme.id), str(beta.id)}
    alone = listed[str(acme.id)]
    assert (alone["key_id"], alone["billed"], alone["customer_billed"], alone["unbilled"]) == (None, [], [], [])
    paid = {due["currency"]: (Decimal(due["adjustment"]), due["payable"]) for due in alone["customer_to_pay"]}
    assert paid == {"EUR": (Decimal("-9.004"), "-9.00"), "USD": (Decimal("0.5"), "0.50")}
    assert [due["payable"] for due in listed[str(beta.id)]["customer_to_pay"]] == ["7.00"]
    with signed_in(api, person(parts, tenant, "provider")) as visitor:
        before = visitor.get(f"/admin/usage?month={SECOND}").text
        issued = acme.issue(provider, SECOND).raise_for_status().json()
        after = visitor.get(f"/admin/usage?month={SECOND}").text
    for page in (before, after):
        (row,) = re.findall(
            rf"<tr>(?:(?!</tr>).)*?{acme.customer['name']}(?:(?!</tr>).)*?<strong>−9\.00 EUR.*?</tr>", page, re.DOTALL
        )
        assert f"adjustments of earlier months: {FIRST}" in row
        assert "−2.00" in page, "7 and −9 together"
    assert f"issued as No. {issued['number']}: −9.00 EUR, 0.50 USD" in after
    assert {each["customer_id"] for each in list_usage(provider, SECOND)} == {str(acme.id), str(beta.id)}


def test_customer_with_transfers_and_differences_is_listed_with_both(
    api: str, parts: Any, tenant: Tenant, provider: httpx.Client, acme: Billed
) -> None:
    acme.move(FIRST, "1")
    acme.issue(provider, FIRST).raise_for_status()
    acme.move(FIRST, "0.255")
    acme.move(SECOND, "2")
    (listed,) = list_usage(provider, SECOND)
    assert [due["payable"] for due in listed["customer_to_pay"]] == ["2.26"]
    assert [line["payable"] for line in listed["customer_billed"]] == [None]
    with signed_in(api, person(parts, tenant, "provider")) as visitor:
        page = visitor.get(f"/admin/usage?month={SECOND}").text
    assert "<strong>2.26 EUR</strong>" in page
    assert "with adjustments of +0.255" in page


def test_all_customers_are_issued_once_and_a_second_call_issues_what_is_left(
    provider: httpx.Client, tenant: Tenant, api: str, acme: Billed, beta: Billed, admin_database_url: str
) -> None:
    acme.move(THIRD, "1.005")
    planned = issue_all(provider, THIRD, dry_run=True)
    assert list_outcomes(planned) == {str(acme.id): "to_issue"}
    assert provider.get("/v1/issued-statements").json() == []
    assert list_outcomes(issue_all(provider, THIRD)) == {str(acme.id): "issued"}
    beta.move(THIRD, "2")
    second = issue_all(provider, THIRD)
    assert (second.status_code, list_outcomes(second)) == (
        OK,
        {str(acme.id): "already_issued", str(beta.id): "issued"},
    )
    by_customer = {each["customer_id"]: each for each in second.json()["statements"]}
    assert [by_customer[str(each.id)]["number"] for each in (acme, beta)] == [1, 2]
    assert by_customer[str(acme.id)]["to_pay"] == planned.json()["statements"][0]["to_pay"]
    assert set(list_outcomes(issue_all(provider, THIRD)).values()) == {"already_issued"}
    assert [each["number"] for each in provider.get("/v1/issued-statements").json()] == [1, 2]


def test_month_that_is_not_over_or_has_nothing_to_bill_is_refused(
    tenant: Tenant, api: str, provider: httpx.Client, acme: Billed
) -> None:
    acme.move(THIRD, "1")
    for dry_run in (True, False):
        early = issue_all(provider, THIS_MONTH, dry_run=dry_run)
        assert (early.status_code, "is not over" in early.json()["detail"]) == (CONFLICT, True)
        nothing = issue_all(provider, FIRST, dry_run=dry_run)
        assert (nothing.status_code, f"nothing is billed for {FIRST}" in nothing.json()["detail"]) == (CONFLICT, True)
    assert issue_all(provider, "2026-13").status_code == UNPROCESSABLE
    with tenant.client(api, Scope.AGENT) as agent, tenant.client(api, Scope.ANALYST) as analyst:
        assert {issue_all(each, THIRD).status_code for each in (agent, analyst)} == {NOT_PERMITTED}
    assert provider.get("/v1/issued-statements").json() == []


def test_two_that_issue_a_month_at_once_issue_each_statement_once_and_leave_no_gap(
    provider: httpx.Client, tenant: Tenant, api: str, admin_database_url: str
) -> None:
    customers = [Billed.new(tenant, api, admin_database_url) for _ in range(5)]
    for each in customers:
        each.move(FIRST, "1")
        each.move(SECOND, "2")
    months = [FIRST, SECOND] * 3
    random.Random(4).shuffle(months)
    with ThreadPoolExecutor(6) as threads:
        answers = list(threads.map(lambda month: issue_all(provider, month), months))
    outcomes = [each["outcome"] for answer in answers for each in answer.raise_for_status().json()["statements"]]
    assert (outcomes.count("issued"), outcomes.count("already_issued")) == (10, 20)
    listed = provider.get("/v1/issued-statements").json()
    assert [each["number"] for each in listed] == list(range(1, 11))
    assert len({(each["customer_id"], each["month"]) for each in listed}) == 10


@pytest.fixture
def refused(acme: Billed, admin_database_url: str) -> Iterator[None]:
    """The database cannot store statements of this customer for now."""
    with psycopg.connect(admin_database_url, autocommit=True) as admin:
        admin.execute(
            "CREATE FUNCTION refuse_one() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RAISE EXCEPTION 'not now' USING ERRCODE = 'lock_not_available'; END $$"
        )
        admin.execute("GRANT EXECUTE ON FUNCTION refuse_one() TO PUBLIC")
        admin.execute(
            "CREATE TRIGGER refuse_one BEFORE INSERT ON issued_statements FOR EACH ROW "
            f"WHEN (NEW.customer_id = '{acme.id}') EXECUTE FUNCTION refuse_one()"
        )
        yield
        admin.execute("DROP FUNCTION refuse_one() CASCADE")


@pytest.mark.usefixtures("refused")
def test_customer_that_cannot_be_billed_stops_no_other_and_takes_no_number(
    api: str, parts: Any, tenant: Tenant, provider: httpx.Client, acme: Billed, beta: Billed, admin_database_url: str
) -> None:
    gamma = Billed.new(tenant, api, admin_database_url)
    for each in (acme, beta, gamma):
        each.move(FIRST, "1")
        each.move(SECOND, "1")
    made = issue_all(provider, FIRST)
    assert list_outcomes(made) == {str(acme.id): "not_issued", str(beta.id): "issued", str(gamma.id): "issued"}
    (reason,) = [each["reason"] for each in made.json()["statements"] if each["customer_id"] == str(acme.id)]
    assert "another request holds" in reason
    assert [each["number"] for each in provider.get("/v1/issued-statements").json()] == [1, 2]
    with signed_in(api, person(parts, tenant, "provider")) as visitor:
        done = visitor.submit("/admin/usage/issue", month=str(SECOND))
        page = visitor.get(done.headers["location"]).text
    assert "2 statements issued, No. 3 to 4. Not issued: 1." in page
    assert f"{acme.customer['name']}: another request holds" in page


def test_page_issues_all_after_it_stated_how_many_and_how_much(
    api: str, parts: Any, tenant: Tenant, provider: httpx.Client, acme: Billed, beta: Billed, admin_database_url: str
) -> None:
    alone = Billed(tenant, api, admin_database_url, {}, new_key(provider))
    acme.move(THIRD, "1.25")
    beta.move(THIRD, "2.5")
    beta.move(THIRD, "3", currency="USD")
    alone.move(THIRD, "9")
    with signed_in(api, person(parts, tenant, "provider")) as visitor:
        page = visitor.get(f"/admin/usage?month={THIRD}").text
        (confirm,) = re.findall(r'data-confirm="(Issue 2 statements[^"]*)"', page)
        assert "3.75 EUR, 3.00 USD?" in confirm
        assert "1 cannot be issued" in confirm
        assert f"Not issued: {alone.key['name']}" in page
        assert "data-confirm" not in visitor.get(f"/admin/usage?month={THIS_MONTH}").text
        done = visitor.submit("/admin/usage/issue", month=str(THIRD))
        assert "2 statements issued, No. 1 to 2." in visitor.get(done.headers["location"]).text
        assert "All statements of customers are issued." in visitor.get(f"/admin/usage?month={THIRD}").text
        again = visitor.submit("/admin/usage/issue", month=str(THIRD))
        assert "No statements issued." in visitor.get(again.headers["location"]).text
        assert visitor.submit("/admin/usage/issue", month=str(THIS_MONTH)).status_code == CONFLICT
    with signed_in(api, person(parts, tenant, "analyst")) as analyst:
        assert analyst.submit("/admin/usage/issue", month=str(THIRD)).status_code == NOT_PERMITTED
    keys = [each for each in issue_all(provider, THIRD).json()["statements"] if each["customer_id"] is None]
    assert [(each["name"], each["outcome"]) for each in keys] == [(alone.key["name"], "not_issued")]
    assert "belongs to no customer" in keys[0]["reason"]
