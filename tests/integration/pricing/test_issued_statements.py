"""An issued statement never changes; what its month comes to later is billed once, by later statements, to the cent."""

import csv
import random
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from decimal import ROUND_HALF_UP, Decimal
from io import StringIO
from typing import Any

import httpx
import psycopg
import pytest

from services.application.access.authenticate import Scope
from services.application.billing.usage import Billing, Month, UsageLine
from services.application.logs.retain import DaysOfMonth
from tests.integration.admin.visitors import entries, person, signed_in
from tests.integration.pricing.past_transfers import CREDIT, FIRST, SECOND, THIRD, THIS_MONTH, Billed
from tests.stack import Tenant, new_tenant

OK, CREATED, NOT_PERMITTED, CONFLICT = 200, 201, 403, 409
CENT = Decimal("0.01")


@pytest.fixture
def provider(api: str, tenant: Tenant) -> Iterator[httpx.Client]:
    with tenant.client(api) as opened:
        yield opened


@pytest.fixture
def acme(tenant: Tenant, api: str, admin_database_url: str) -> Billed:
    return Billed.new(tenant, api, admin_database_url)


def to_cents(exact: Decimal) -> Decimal:
    return exact.quantize(CENT, ROUND_HALF_UP)


def get_payable(statement: dict[str, Any]) -> Decimal:
    (due,) = statement["to_pay"]
    return Decimal(due["payable"])


def list_rows(answer: httpx.Response) -> Sequence[dict[str, str]]:
    return list(csv.DictReader(StringIO(answer.raise_for_status().text)))


def test_every_difference_is_billed_once_by_a_later_statement(provider: httpx.Client, acme: Billed) -> None:
    amounts = random.Random(5)

    def draw() -> str:
        return f"{amounts.randrange(1, 3_000_000) / 10**6:.6f}"

    met = [draw() for _ in range(7)]
    missed = [draw() for _ in range(4)]
    for amount in met:
        acme.move(FIRST, amount)
    for amount in missed:
        acme.move(FIRST, amount, kept=False)
    before_issue = acme.read(provider, FIRST)
    assert (before_issue["issued"], before_issue["final"]) == (None, False)
    first = acme.issue(provider, FIRST)
    assert first.status_code == CREATED, first.text
    of_first = sum(map(Decimal, met)) + sum(Decimal(each) * (1 - CREDIT) for each in missed)
    assert get_payable(first.json()) == get_payable(before_issue) == to_cents(of_first)
    file_then = acme.read_file(provider, FIRST).text

    late = [(draw(), True), (draw(), False)]
    late_ids = [acme.move(FIRST, amount, kept=kept, day=20) for amount, kept in late]
    raised = draw()
    corrected = acme.move(SECOND, raised)
    difference = Decimal(late[0][0]) + Decimal(late[1][0]) * (1 - CREDIT)
    changed = acme.read(provider, FIRST)
    assert changed["to_pay"] == before_issue["to_pay"] == first.json()["to_pay"]
    assert changed["billed"] == before_issue["billed"]
    (change,) = changed["changes"]
    assert Decimal(change["amount"]) - Decimal(change["credit"]) == difference
    assert change["transfers"] == 2
    assert acme.read_file(provider, FIRST).text == file_then

    preview = acme.read(provider, SECOND)
    second = acme.issue(provider, SECOND).raise_for_status().json()
    assert get_payable(preview) == get_payable(second) == to_cents(Decimal(raised) + difference)
    assert [(each["number"], each["month"]) for each in second["adjustments"]] == [(1, str(FIRST))]
    settled = acme.read(provider, FIRST)["changes"][0]
    assert (Decimal(settled["amount"]), Decimal(settled["credit"])) == (0, 0)
    assert Decimal(settled["adjusted_amount"]) == Decimal(late[0][0]) + Decimal(late[1][0])
    assert {each["payable"] for each in acme.read(provider, SECOND)["billed"]} == {None}, "to_pay has what is paid"

    acme.correct(late_ids[0], amount="0.000001")
    acme.correct(corrected, kept=False)
    own = [draw() for _ in range(3)]
    for amount in own:
        acme.move(THIRD, amount)
    third = acme.issue(provider, THIRD).raise_for_status().json()
    lowered = Decimal("0.000001") - Decimal(late[0][0]) - Decimal(raised) * CREDIT
    assert get_payable(third) == to_cents(sum(map(Decimal, own)) + lowered)
    assert {each["number"] for each in third["adjustments"]} == {1, 2}

    issued = [each.json() for each in [first]] + [second, third]
    exact = sum(
        Decimal(due["amount"]) - Decimal(due["credit"]) + Decimal(due["adjustment"])
        for each in issued
        for due in each["to_pay"]
    )
    assert exact == of_first + difference + Decimal(raised) + sum(map(Decimal, own)) + lowered
    for month, statement in zip((FIRST, SECOND, THIRD), issued, strict=True):
        rows = list_rows(acme.read_file(provider, month))
        in_file = sum(Decimal(row["amount"]) - Decimal(row["credit"] or 0) for row in rows)
        assert to_cents(in_file) == get_payable(statement), "rows of the file add up to what is paid"
        assert {row["issued_number"] for row in rows} == {str(statement["number"])}
    assert acme.read_file(provider, FIRST).text == file_then


def test_month_is_issued_once_and_only_when_it_is_over(
    api: str, tenant: Tenant, provider: httpx.Client, acme: Billed
) -> None:
    acme.move(THIRD, "1.005")
    early = acme.issue(provider, THIS_MONTH)
    assert (early.status_code, "is not over" in early.json()["detail"]) == (CONFLICT, True)
    nothing = acme.issue(provider, SECOND)
    assert (nothing.status_code, "nothing is billed" in nothing.json()["detail"]) == (CONFLICT, True)
    with tenant.client(api, Scope.AGENT) as agent, tenant.client(api, Scope.ANALYST) as analyst:
        assert {acme.issue(each, THIRD).status_code for each in (agent, analyst)} == {NOT_PERMITTED}
    first, again = acme.issue(provider, THIRD), acme.issue(provider, THIRD)
    assert (first.status_code, again.status_code) == (CREATED, OK)
    assert first.json() == again.json()
    assert first.json()["to_pay"][0]["payable"] == "1.01"
    assert provider.get(f"/v1/issued-statements/{first.json()['id']}").json() == first.json()
    assert provider.get("/v1/issued-statements", params={"month": str(THIRD)}).json() == [first.json()]
    assert provider.get("/v1/issued-statements", params={"month": str(SECOND)}).json() == []
    assert provider.get(f"/v1/issued-statements/{acme.id}").status_code == 404


def test_numbers_are_consecutive_while_many_are_issued_at_once(
    tenant: Tenant, api: str, admin_database_url: str, provider: httpx.Client
) -> None:
    customers = [Billed.new(tenant, api, admin_database_url) for _ in range(6)]
    for each in customers:
        each.move(FIRST, "1")
        each.move(SECOND, "2")
    wanted = [(each, month) for each in customers for month in (FIRST, SECOND)] * 3
    random.Random(3).shuffle(wanted)
    with ThreadPoolExecutor(12) as threads:
        answers = list(threads.map(lambda pair: pair[0].issue(provider, pair[1]), wanted))
    assert {answer.status_code for answer in answers} == {OK, CREATED}
    assert sum(answer.status_code == CREATED for answer in answers) == 12
    listed = provider.get("/v1/issued-statements").json()
    assert [each["number"] for each in listed] == list(range(1, 13))
    assert len({(each["customer_id"], each["month"]) for each in listed}) == 12


def test_difference_is_billed_once_by_statements_that_are_issued_at_once(provider: httpx.Client, acme: Billed) -> None:
    acme.move(FIRST, "5")
    acme.issue(provider, FIRST).raise_for_status()
    acme.move(FIRST, "0.25")
    for month in (SECOND, THIRD):
        acme.move(month, "1")
    with ThreadPoolExecutor(6) as threads:
        answers = list(threads.map(lambda month: acme.issue(provider, month), [SECOND, THIRD] * 3))
    for answer in answers:
        answer.raise_for_status()
    issued = {answer.json()["number"]: answer.json() for answer in answers}
    adjusted = [Decimal(each["amount"]) for statement in issued.values() for each in statement["adjustments"]]
    assert adjusted == [Decimal("0.25")]
    assert sum(map(get_payable, issued.values())) == Decimal("2.25")


def test_database_refuses_to_change_what_was_issued(
    api: str,
    parts: Any,
    tenant: Tenant,
    provider: httpx.Client,
    acme: Billed,
    admin_database_url: str,
    database_url: str,
) -> None:
    acme.move(FIRST, "5")
    acme.issue(provider, FIRST).raise_for_status()
    acme.move(FIRST, "1")
    acme.move(SECOND, "1")
    acme.issue(provider, SECOND).raise_for_status()
    other = new_tenant(parts, database_url)
    with other.client(api) as stranger:
        assert stranger.get("/v1/issued-statements").json() == []
        foreign = Billed.new(other, api, admin_database_url)
        foreign.move(FIRST, "7")
        assert foreign.issue(stranger, FIRST).json()["number"] == 1
        assert acme.issue(stranger, FIRST).status_code == 404
    tables = ("issued_statements", "issued_sums", "issued_adjustments", "issued_transfers")
    with psycopg.connect(admin_database_url, autocommit=True) as admin:
        for table in tables:
            for command in (
                f"UPDATE {table} SET tenant_id = tenant_id",
                f"DELETE FROM {table}",
                f"TRUNCATE {table} CASCADE",
            ):
                with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match="never changes"):
                    admin.execute(command)
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState):
            admin.execute("DELETE FROM issued_statements WHERE number = 2")
    with parts.store.unit_of_work(tenant.id) as uow, pytest.raises(Exception, match="permission denied"):
        uow.connection.exec_driver_sql("DELETE FROM issued_statements")
    with psycopg.connect(admin_database_url, autocommit=True) as admin:
        admin.execute("DELETE FROM tenants WHERE id = %s", [tenant.id])
        left = [admin.execute(f"SELECT count(*) FROM {table} WHERE tenant_id = %s", [tenant.id]) for table in tables]
        assert [each.fetchone() for each in left] == [(0,)] * 4, "they go with their tenant"


def test_page_issues_once_and_keeps_names_and_addresses_as_of_then(
    api: str, parts: Any, tenant: Tenant, provider: httpx.Client, acme: Billed
) -> None:
    provider.put("/v1/statement-issuer", json={"name": "Nordkabel", "address": ["Kai 1", "Hamburg"]}).raise_for_status()
    assert provider.get("/v1/statement-issuer").json() == {"name": "Nordkabel", "address": ["Kai 1", "Hamburg"]}
    path = f"/v1/customers/{acme.id}"
    provider.patch(path, json={"name": "Acme AG", "address": "Ring 2\n\n 8000 Zürich "}).raise_for_status()
    corrected = acme.move(THIRD, "12.345678")
    acme.move(THIS_MONTH, "1", day=1)
    query = f"month={THIRD}&customer={acme.id}"
    with signed_in(api, person(parts, tenant, "provider")) as visitor:
        now = visitor.get(f"/admin/usage/statement?month={THIS_MONTH}&customer={acme.id}").text
        assert "preliminary" in now
        assert "Issue this statement" not in now
        assert "Issue this statement" in visitor.get(f"/admin/usage/statement?{query}").text
        fields = {"month": str(THIRD), "customer": str(acme.id)}
        for _ in range(2):
            assert visitor.submit("/admin/usage/statement/issue", **fields).status_code == 303
        provider.put("/v1/statement-issuer", json={"name": "Other", "address": []}).raise_for_status()
        provider.patch(path, json={"name": "Renamed", "address": ""}).raise_for_status()
        acme.move(THIRD, "1")
        acme.correct(corrected, amount="12")
        page = visitor.get(f"/admin/usage/statement?{query}").text
        assert "Statement No. 1 " in page
        assert "<strong>Nordkabel</strong><br>Kai 1<br>Hamburg" in page
        assert "<strong>Acme AG</strong><br>Ring 2<br>8000 Zürich" in page
        assert "<strong>12.35</strong>" in page
        assert "Changes since it was issued" in page
        assert page.partition('id="transfers"')[2].count("/admin/transfers/") == 1, "the late transfer is not on it"
        changes = page.partition('id="changes"')[2].partition("</section>")[0]
        assert "logged later" in changes
        assert "corrected" in changes
        usage = visitor.get(f"/admin/usage?month={THIRD}").text
        assert "issued as No. 1: 12.35 EUR" in usage
        assert "changed since" in usage
        assert "No. 1</a>" in visitor.get(f"/admin/customers/{acme.id}").text
    listed = provider.get("/v1/issued-statements").json()
    assert [(each["customer"], each["customer_address"]) for each in listed] == [("Acme AG", "Ring 2\n8000 Zürich")]
    assert [action for action, _, _ in entries(parts, tenant, "statements.issued")] == ["statements.issued"]


def test_page_shows_a_free_transfer_in_a_currency_of_its_own_that_was_logged_later(
    api: str, parts: Any, tenant: Tenant, provider: httpx.Client, acme: Billed
) -> None:
    acme.move(FIRST, "1")
    acme.issue(provider, FIRST).raise_for_status()
    acme.move(FIRST, "2")
    acme.move(FIRST, "0", currency="JPY")
    with signed_in(api, person(parts, tenant, "provider")) as visitor:
        page = visitor.get(f"/admin/usage/statement?month={FIRST}&customer={acme.id}")
    assert (page.status_code, page.text.count("logged later")) == (OK, 2)


def test_statement_of_differences_alone_may_pay_back(provider: httpx.Client, acme: Billed) -> None:
    corrected = acme.move(FIRST, "10.005")
    acme.issue(provider, FIRST).raise_for_status()
    acme.correct(corrected, amount="1.001")
    acme.move(FIRST, "0.5", currency="USD")
    second = acme.issue(provider, SECOND).raise_for_status().json()
    paid = {due["currency"]: (due["transfers"], Decimal(due["payable"])) for due in second["to_pay"]}
    assert paid == {"EUR": (0, Decimal("-9.00")), "USD": (0, Decimal("0.50"))}
    rows = list_rows(acme.read_file(provider, SECOND))
    assert [(row["billing"], row["currency"], Decimal(row["amount"])) for row in rows] == [
        ("adjustment", "EUR", Decimal("-9.004")),
        ("adjustment", "USD", Decimal("0.5")),
    ]
    assert {row["adjusts_number"] for row in rows} == {"1"}


def test_transfer_that_an_earlier_record_moves_to_another_month_is_billed_once(
    provider: httpx.Client, acme: Billed
) -> None:
    acme.move(FIRST, "1")
    moved = acme.move(SECOND, "3", quoted_at=FIRST.begins_at + timedelta(days=24))
    for month in (FIRST, SECOND):
        acme.issue(provider, month).raise_for_status()
    acme.log(moved, FIRST.begins_at + timedelta(days=25))
    acme.move(THIRD, "7")
    third = acme.issue(provider, THIRD).raise_for_status().json()
    amounts = {each["month"]: Decimal(each["amount"]) for each in third["adjustments"]}
    assert amounts == {str(FIRST): Decimal(3), str(SECOND): Decimal(-3)}
    assert get_payable(third) == Decimal("7.00")


def test_month_whose_rows_are_dropped_is_issued_with_its_sums(
    parts: Any, tenant: Tenant, provider: httpx.Client, acme: Billed, admin_database_url: str
) -> None:
    month = Month.parse("2020-02")
    line = UsageLine(
        key_id=None,
        key="mover",
        customer_id=acme.id,
        billing=Billing.BILLED,
        currency="EUR",
        transfers=3,
        bytes_moved=3,
        amount=Decimal("1.234567"),
        met=2,
        missed=1,
        from_log_alone=0,
        credit=Decimal("0.2"),
    )
    with parts.store.unit_of_work(tenant.id) as uow:
        days = DaysOfMonth(marked=0, to_export=0, versions=1, exported=[])
        uow.month_seals.seal(month, days, [line], at=parts.clock.now())
        uow.commit()
    with psycopg.connect(admin_database_url) as admin:
        admin.execute("INSERT INTO closed_months VALUES ('2020-02-01', now(), now())")
    issued = acme.issue(provider, month)
    assert (issued.status_code, get_payable(issued.json())) == (CREATED, Decimal("1.03"))
    assert acme.read(provider, month)["changes"] == []
    file = acme.read_file(provider, month)
    assert (file.status_code, "its sums are kept" in file.json()["detail"]) == (CONFLICT, True)
