"""Months of logs that are dropped: only what is exported, and nothing that outlives their rows is lost.

Months are closed for the whole service and for good: each test has a year of its own, later than those of the tests
before it.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime
from pathlib import Path
from uuid import UUID, uuid4

import psycopg
import pyarrow.parquet as pq
import pytest

from services.application.access.authenticate import Scope
from services.application.billing.usage import Holder, Month
from services.application.logs.export import View, find_folder
from services.application.logs.retain import MonthDue
from services.application.shared.events import LogsDropped, LogsRetained
from services.bootstrap import Container, Options, build_container
from services.persistence.lake import ParquetLake
from services.persistence.lake_files import open_storage
from services.persistence.log_reader import LogReader
from tests.integration.admin.visitors import person, signed_in
from tests.integration.warehouse.house import Facts, House
from tests.integration.warehouse.other_facts import beaten, quote
from tests.stack import Tenant, new_tenant, serving
from tradewind.errors import Conflict, Unavailable
from workers.retain import main

GB = 10**9


@pytest.fixture
def house(api: str, tenant: Tenant, logs: LogReader, tmp_path: Path) -> House:
    return House(tenant, api, tmp_path, ParquetLake(open_storage(str(tmp_path)), logs), Facts())


def of_its_year(due: Sequence[MonthDue]) -> Sequence[MonthDue]:
    """Without months that tests before have left."""
    newest = max((each.stored.month.year for each in due), default=0)
    return [each for each in due if each.stored.month.year == newest]


def obstacles(due: Sequence[MonthDue]) -> dict[str, list[str]]:
    return {str(each.stored.month): list(each.obstacles) for each in of_its_year(due)}


def dropped(due: Sequence[MonthDue]) -> list[str]:
    return [str(each.stored.month) for each in of_its_year(due) if each.dropped]


def test_heartbeats_go_with_their_month_and_quotes_two_months_later(house: House) -> None:
    # Before all other tests, which leave months: quotes wait for all statements up to two months later.
    began = datetime.fromisoformat("2000-06-03T10:00:00+00:00")
    house.upload("2000-06-03", "2000-07-03", "2000-08-03")
    beaten(house.tenant, began, sequence=0)
    quote(house.tenant, at=began)
    house.roll_up()
    assert obstacles(house.retention("2000-09-20").plan())["2000-06"] == [
        f"tenant {house.tenant.id}: days to export: 3"
    ]
    house.export()
    assert dropped(house.retention("2000-09-20").run()) == ["2000-06"]
    assert house.rows("SELECT FROM transfer_samples") == []
    assert len(house.rows("SELECT FROM quotes")) == 1
    assert dropped(house.retention("2000-11-20").run()) == ["2000-07", "2000-08"]
    assert house.rows("SELECT FROM quotes") == []


def test_a_month_goes_and_what_outlives_its_rows_stays(house: House) -> None:
    house.upload("2001-01-03", "2001-01-04", "2001-02-05", "2001-03-06", "2001-04-07")
    house.export()
    before, used = house.rollups(), house.used("2001-01")
    assert used == [("not_quoted", 2, 2 * GB)]
    assert obstacles(house.retention("2001-04-20").plan()) == {"2001-01": []}
    assert house.logged_months() == {"2001-01", "2001-02", "2001-03", "2001-04"}
    assert dropped(house.retention("2001-04-20").run()) == ["2001-01"]
    assert house.logged_months() == {"2001-02", "2001-03", "2001-04"}
    assert house.rows("SELECT to_regclass('public.transfer_logs_2001_01')") == [{"to_regclass": None}]
    assert house.rollups() == before
    assert house.used("2001-01") == used
    assert pq.read_table(house.file("2001-01-03")).num_rows == 1
    assert LogsDropped in {type(fact) for fact in house.facts}
    with house.tenant.parts.store.unit_of_work(house.tenant.id) as uow:
        entries = uow.audit.list_page(limit=2)
        with pytest.raises(Conflict, match="2001-01 are in the exports"):
            next(uow.usage.iterate_transfers(Month.parse("2001-01")))
    assert [(each.action, each.subject, each.detail["rows"]) for each in entries] == [
        ("logs.dropped", "2001-01", 2),
        ("logs.sealed", "2001-01", 2),
    ]


def test_transfers_of_a_month_that_is_dropped_meanwhile_are_refused_and_not_none(house: House) -> None:
    house.upload("2001-08-03")
    house.export()
    with house.tenant.parts.store.unit_of_work(house.tenant.id) as uow:
        transfers = uow.usage.iterate_transfers(Month.parse("2001-08"))
        assert dropped(house.retention("2001-12-20").run()) == ["2001-08"]
        with pytest.raises(Conflict, match="2001-08 are in the exports"):
            list(transfers)


def test_rows_that_come_later_are_quarantined_and_change_nothing(house: House) -> None:
    house.upload("2002-01-03", "2002-06-03")
    house.export()
    house.retention("2002-06-20").run()
    before, content = house.rollups(), house.file("2002-01-03").read_bytes()
    (refused,) = house.upload("2002-01-03")
    assert refused["field"] == "started_at"
    assert refused["reason"] == "lies in a month that is closed; logs are accepted from 2002-04 on"
    assert house.rows("SELECT field FROM log_quarantine") == [{"field": "started_at"}]
    # Nor may anything else make its days or files again: an end that comes late, versions that somebody set back.
    with house.tenant.parts.store.unit_of_work(house.tenant.id) as uow:
        uow.connection.exec_driver_sql("INSERT INTO rollup_marks (tenant_id, day, link_id) "
            "SELECT tenant_id, day, link_id FROM daily_rollups")  # fmt: skip
        uow.connection.exec_driver_sql("UPDATE log_days SET exported_version = 0")
        uow.commit()
    house.roll_up()
    assert house.export() == [date(2002, 6, 3)]
    assert house.rollups() == before
    assert house.file("2002-01-03").read_bytes() == content


def test_months_with_unexported_days_are_retained_and_the_obstacle_is_reported(house: House) -> None:
    house.upload("2003-01-03", "2003-01-04")
    due = house.retention("2003-06-20").run()
    assert obstacles(due) == {"2003-01": [f"tenant {house.tenant.id}: days to export: 2"]}
    assert house.logged_months() == {"2003-01"}
    assert LogsRetained in {type(fact) for fact in house.facts}
    house.export()
    house.file("2003-01-04").write_bytes(b"something else")
    folder = find_folder(View.TRANSFERS, house.tenant.id, date(2003, 1, 4))
    assert obstacles(house.retention("2003-06-20").run()) == {
        "2003-01": [f"{folder}: the exported file is missing or changed"]
    }
    house.file("2003-01-04").unlink()
    assert dropped(house.retention("2003-06-20").run()) == []
    with house.tenant.parts.store.unit_of_work(house.tenant.id) as uow:
        uow.connection.exec_driver_sql("UPDATE log_days SET exported_version = 0")
        uow.commit()
    house.export()
    assert dropped(house.retention("2003-06-20").run()) == ["2003-01"]


def test_the_rows_of_another_tenant_hold_a_month_too(house: House, parts: Container, database_url: str) -> None:
    house.upload("2004-01-03")
    house.export()
    neighbour = House(new_tenant(parts, database_url), house.api, house.folder, house.lake, Facts())
    neighbour.upload("2004-01-05")
    assert dropped(house.retention("2004-06-20").run()) == []
    neighbour.export()
    assert dropped(house.retention("2004-06-20").run()) == ["2004-01"]


@contextmanager
def storing(house: House) -> Iterator[None]:
    """Somebody is in the middle of an upload."""
    with house.tenant.parts.store.unit_of_work(house.tenant.id) as uow:
        uow.closed_months.hold()
        yield


def test_a_month_is_not_closed_while_rows_are_stored(house: House) -> None:
    house.upload("2005-01-03")
    house.export()
    with storing(house):
        due = house.retention("2005-06-20").run()
        assert obstacles(due) == {"2005-01": ["logs are being stored; the next run closes the month"]}
    assert house.upload("2005-01-04") == []
    house.export()
    assert dropped(house.retention("2005-06-20").run()) == ["2005-01"]


def test_a_month_is_not_closed_while_a_transfer_of_it_is_live(house: House, admin_database_url: str) -> None:
    house.upload("2006-01-03")
    house.export()
    transfer_id = uuid4()
    with psycopg.connect(admin_database_url, autocommit=True) as admin:
        admin.execute(
            "INSERT INTO transfers (tenant_id, id, started_at, silent_at, source, destination, mover, file_count,"
            " total_bytes, sequence, journalled_sequence, bytes_moved)"
            " VALUES (%s, %s, '2006-01-09Z', now() + interval '1 hour', 'a', 'b', 'c', 1, 1, 0, 0, 0)",
            [house.tenant.id, transfer_id],
        )
        assert obstacles(house.retention("2006-06-20").run()) == {
            "2006-01": ["a transfer that started in it or before is live"]
        }
        assert house.upload("2006-01-04") == []
        admin.execute("UPDATE transfers SET ended_at = now(), status = 'succeeded' WHERE id = %s", [transfer_id])
    house.roll_up()
    house.export()
    assert dropped(house.retention("2006-06-20").run()) == ["2006-01"]


def test_month_that_changed_after_its_export_is_not_dropped(house: House, admin_database_url: str) -> None:
    house.upload("2007-01-03", "2007-01-04")
    house.export()
    months, january = house.tenant.parts.store.months_of_logs, Month.parse("2007-01")
    with pytest.raises(Conflict, match="not closed"):
        months.drop(january)
    months.close(Month.parse("2007-03"))
    with pytest.raises(Conflict, match="sealed"):
        months.drop(january)
    retention = house.retention("2007-06-20")
    retention._seal(house.tenant.id, january)  # as a run does that is killed before it drops
    with psycopg.connect(admin_database_url, autocommit=True) as admin:
        admin.execute("DELETE FROM transfer_logs WHERE started_at < '2007-01-04'")
    with pytest.raises(Conflict, match="added up"):
        months.drop(january)
    house.roll_up()
    with pytest.raises(Conflict, match="not exported"):
        months.drop(january)
    house.export()
    with pytest.raises(Conflict, match="sealed"):
        months.drop(january)
    with house.tenant.parts.store.unit_of_work(house.tenant.id) as reading:
        reading.connection.exec_driver_sql("SELECT count(*) FROM transfer_logs")
        retention._seal(house.tenant.id, january)
        with pytest.raises(Unavailable):
            months.drop(january)
    assert dropped(retention.run()) == ["2007-01"]
    assert house.used("2007-01") == [("not_quoted", 1, GB)]


def test_month_whose_usage_changed_after_it_was_sealed_is_dropped_with_its_usage_of_then(house: House) -> None:
    house.upload("2007-09-03")
    house.export()
    house.tenant.parts.store.months_of_logs.close(Month.parse("2007-10"))
    retention, september = house.retention("2007-12-20"), Month.parse("2007-09")
    retention._seal(house.tenant.id, september)  # as a run does that cannot drop
    with house.tenant.client(house.api) as provider:
        keys = [key["id"] for key in provider.get("/v1/keys").json()]
        customer = provider.post("/v1/customers", json={"name": "Acme", "key_ids": keys}).raise_for_status().json()
    assert dropped(retention.run()) == ["2007-09"]
    with house.tenant.parts.store.unit_of_work(house.tenant.id) as uow:
        (line,) = uow.usage.list_sums(september, Holder(customer_id=UUID(customer["id"])))
    assert (line.billing, line.transfers) == ("not_quoted", 1)


def test_a_transfer_that_was_logged_in_two_months_is_on_one_statement(house: House) -> None:
    transfer = {"transfer_id": str(uuid4())}
    house.upload("2008-01-31", "2008-02-01", **transfer)
    house.upload("2008-02-02")
    expected = [("not_quoted", 1, GB)]
    assert (house.used("2008-01"), house.used("2008-02")) == (expected, expected)
    house.export()
    assert dropped(house.retention("2008-04-20").run()) == ["2008-01"]
    assert (house.used("2008-01"), house.used("2008-02")) == (expected, expected)
    assert dropped(house.retention("2008-05-20").run()) == ["2008-02"]
    assert house.used("2008-02") == expected


def test_transfer_stays_on_one_statement_while_its_second_month_waits_to_be_dropped(house: House) -> None:
    house.upload("2008-06-30", "2008-07-01", transfer_id=str(uuid4()))
    house.upload("2008-07-02", "2008-08-02")
    house.export()
    assert dropped(house.retention("2008-09-20").run()) == ["2008-06"]
    retention = house.retention("2008-11-20")
    house.tenant.parts.store.months_of_logs.close(Month.parse("2008-09"))
    for month in ("2008-07", "2008-08"):
        retention._seal(house.tenant.id, Month.parse(month))  # as a run does that cannot drop
    with house.tenant.parts.store.unit_of_work(house.tenant.id) as uow:
        uow.connection.exec_driver_sql("INSERT INTO usage_marks (tenant_id) VALUES (%s)", (house.tenant.id,))
        uow.commit()
    assert house.used("2008-07") == [("not_quoted", 1, GB)]


def test_page_shows_retained_months_and_what_happens_next(
    database_url: str, redis_url: str, logs: LogReader, tmp_path: Path
) -> None:
    with build_container(
        database_url=database_url, redis_url=redis_url, options=Options(export_place=str(tmp_path), log_months=2)
    ) as parts, serving(parts) as api:  # fmt: skip
        tenant = new_tenant(parts, database_url)
        house = House(tenant, api, tmp_path, ParquetLake(open_storage(str(tmp_path)), logs), Facts())
        house.upload("2009-01-03", "2009-02-03", "2009-02-04", "2009-09-01")
        with signed_in(api, person(parts, tenant)) as operator:
            told = _section(operator.get("/admin/logs").text)
            assert "0 of 2 files" in told
            assert "closed by the next run" in told
            house.retention("2009-12-01").run()
            assert "dropped once 2 files more are written" in _section(operator.get("/admin/logs").text)
            house.export()
            house.retention("2009-12-01").run()
            told = _section(operator.get("/admin/logs").text)
            assert told.count(">dropped<") == 3
            assert "its rows are in the exports alone" in told
            refused = operator.get("/admin/usage/transfers.csv?month=2009-01")
            assert (refused.status_code, "in the exports alone" in refused.text) == (409, True)
        with tenant.client(api, Scope.PROVIDER) as client:
            answer = client.get("/v1/usage-statements?month=2009-01&format=csv")
            assert (answer.status_code, "in the exports alone" in answer.json()["detail"]) == (409, True)


def _section(page: str) -> str:
    return page[page.index('id="retention"') :]


@pytest.fixture
def command(
    database_url: str,
    redis_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Callable[..., tuple[int, str, str]]:
    """``python -m workers.retain`` with the settings of this test."""

    def run(*arguments: str, **environment: str) -> tuple[int, str, str]:
        known = {"DATABASE_URL": database_url, "REDIS_URL": redis_url, "TRADEWIND_EXPORT": str(tmp_path)}
        for name, value in (known | environment).items():
            monkeypatch.setenv(name, value)
        code = main(arguments)
        told = capsys.readouterr()
        return code, told.out, told.err

    return run


def test_the_command_says_what_it_would_do_before_it_does(
    house: House, command: Callable[..., tuple[int, str, str]]
) -> None:
    house.upload("2010-01-03")
    code, out, _ = command("--months", "2")
    told = out[out.index("2010-01  about ") :]
    assert code == 0
    assert "cannot be dropped yet" in told
    assert f"tenant {house.tenant.id}: days to export: 1" in told
    house.export()
    assert re.search("2010-01  about .*  would be dropped", command("--months", "2")[1])
    assert house.logged_months() == {"2010-01"}
    _, out, err = command("--months", "2", "--drop")
    assert re.search("2010-01  about .*  dropped", out)
    assert "logs.dropped" in {json.loads(line)["event"] for line in err.splitlines()}
    assert house.logged_months() == set()
    assert command("--months", "1200")[1] == "no month is due: the current one and the 1200 before it stay\n"


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({}, "TRADEWIND_LOG_MONTHS: must be set, or --months given"),
        ({"TRADEWIND_LOG_MONTHS": "0"}, "TRADEWIND_LOG_MONTHS: must be a whole number from 1"),
        ({"TRADEWIND_LOG_MONTHS": "3", "TRADEWIND_EXPORT": ""}, "TRADEWIND_LOG_MONTHS: needs TRADEWIND_EXPORT"),
        ({"DATABASE_URL": ""}, "DATABASE_URL: must be set"),
    ],
)
def test_wrong_settings_are_reported_in_one_line(
    command: Callable[..., tuple[int, str, str]], environment: dict[str, str], said: str
) -> None:
    code, out, err = command(**environment)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert said in err
