"""What changes a bill between the seal of a month and its drop is on the bill, or the month is not dropped yet.

Months are closed for the whole service and for good: each test has a year of its own, later than those before it.
"""

from decimal import Decimal
from pathlib import Path
from uuid import UUID

import psycopg
import pytest

from services.application.billing.refresh_usage import RefreshUsage
from services.application.billing.usage import Billing, Holder, Month
from services.persistence.lake import ParquetLake
from services.persistence.lake_files import open_storage
from services.persistence.log_reader import LogReader
from tests.integration.pricing.past_transfers import CREDIT, Billed
from tests.integration.warehouse.house import Facts, House
from tests.stack import Tenant
from tradewind.errors import Conflict, Unavailable


@pytest.fixture
def house(api: str, tenant: Tenant, logs: LogReader, tmp_path: Path) -> House:
    return House(tenant, api, tmp_path, ParquetLake(open_storage(str(tmp_path)), logs), Facts())


@pytest.fixture
def acme(tenant: Tenant, api: str, admin_database_url: str) -> Billed:
    return Billed.new(tenant, api, admin_database_url)


def seal(house: House, month: Month) -> None:
    """Do what a run does that is killed before it drops the month."""
    add_up_days(house)
    house.tenant.parts.store.months_of_logs.close(month.after)
    house.retention(f"{month.after.after.after}-20")._seal(house.tenant.id, month)
    compute(house)


def add_up_days(house: House) -> None:
    """Do what holds a drop by itself where a day has changed."""
    house.roll_up()
    house.export()


def compute(house: House) -> None:
    """Do what workers do every ten seconds."""
    RefreshUsage(house.tenant.parts.store.unit_of_work).run(house.tenant.id)


def sum_billed(house: House, month: Month, customer_id: UUID) -> list[tuple[Decimal | None, Decimal, int, int]]:
    with house.tenant.parts.store.unit_of_work(house.tenant.id) as uow:
        return [
            (line.amount, line.credit, line.met, line.missed)
            for line in uow.usage.list_sums(month, Holder(customer_id=customer_id))
            if line.billing is Billing.BILLED
        ]


@pytest.mark.parametrize("is_computed", [False, True], ids=["marked", "computed"])
def test_transfer_that_is_judged_after_the_seal_holds_its_month_until_it_is_sealed_with_it(
    house: House, acme: Billed, *, is_computed: bool
) -> None:
    month = Month.parse("2002-01" if is_computed else "2001-01")
    transfer_id = acme.move(month, "10")
    seal(house, month)
    acme.correct(transfer_id, kept=False)
    add_up_days(house)
    if is_computed:
        compute(house)
    with pytest.raises(Conflict, match="has changed since it was sealed"):
        house.tenant.parts.store.months_of_logs.drop(month)
    (due,) = [each for each in house.retention(f"{month.after.after.after}-20").run() if each.stored.month == month]
    assert (due.dropped, list(due.obstacles)) == (True, [])
    assert sum_billed(house, month, acme.id) == [(Decimal(10), 10 * CREDIT, 0, 1)]


def test_month_is_not_dropped_while_a_transfer_of_it_is_judged(
    house: House, acme: Billed, admin_database_url: str
) -> None:
    month = Month.parse("2003-01")
    transfer_id = acme.move(month, "10")
    seal(house, month)
    months = house.tenant.parts.store.months_of_logs
    with psycopg.connect(admin_database_url) as judging:
        judging.execute("UPDATE transfers SET agreement_kept = false WHERE id = %s", [transfer_id])
        with pytest.raises(Unavailable):
            months.drop(month)
        judging.commit()
    add_up_days(house)
    with pytest.raises(Conflict, match="has changed since it was sealed"):
        months.drop(month)


def test_transfer_of_another_month_that_is_judged_after_the_seal_holds_nothing(house: House, acme: Billed) -> None:
    month = Month.parse("2004-01")
    acme.move(month, "10")
    later = acme.move(month.after, "20")
    seal(house, month)
    acme.correct(later, kept=False)
    house.tenant.parts.store.months_of_logs.drop(month)
    assert sum_billed(house, month, acme.id) == [(Decimal(10), Decimal(0), 1, 0)]


@pytest.mark.parametrize("change", ["quote", "key", "book", "tenant"])
def test_every_kind_of_change_of_a_bill_after_the_seal_holds_the_month(
    house: House, acme: Billed, admin_database_url: str, change: str
) -> None:
    month = Month(2005 + ["quote", "key", "book", "tenant"].index(change), 1)
    transfer_id = acme.move(month, "10")
    seal(house, month)
    marks = {
        "key": "INSERT INTO usage_marks (tenant_id, key_id) VALUES (%(tenant)s, %(key)s)",
        "book": "INSERT INTO usage_marks (tenant_id, book_id) SELECT tenant_id, book_id FROM quotes "
        "WHERE transfer_id = %(transfer)s",
        "tenant": "INSERT INTO usage_marks (tenant_id) VALUES (%(tenant)s)",
        "quote": "UPDATE quotes SET amount = 11 WHERE transfer_id = %(transfer)s",
    }
    with psycopg.connect(admin_database_url) as admin:
        admin.execute(marks[change], {"tenant": house.tenant.id, "key": acme.key["id"], "transfer": transfer_id})
    add_up_days(house)
    with pytest.raises(Conflict, match="has changed since it was sealed"):
        house.tenant.parts.store.months_of_logs.drop(month)


@pytest.mark.parametrize("avoided", ["nestloop", "hashjoin"])
def test_month_is_dropped_whatever_order_the_catalogue_is_read_in(
    house: House, acme: Billed, admin_database_url: str, avoided: str
) -> None:
    month = Month(2010 + ["nestloop", "hashjoin"].index(avoided), 1)
    acme.move(month, "10")
    seal(house, month)
    with psycopg.connect(admin_database_url) as owner:
        owner.execute(f"SET enable_{avoided} = off")
        owner.execute("SET enable_mergejoin = off")
        owner.execute("SELECT drop_month_of_logs(%s)", [month.begins_at.date()])
    assert str(month) not in house.logged_months()
