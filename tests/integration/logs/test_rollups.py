"""Daily rollups: each row counted once, whenever it comes and however it changes."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from services.application.logs.correct_rows import retry_row
from services.application.logs.roll_up import DAYS_A_PAGE, DAYS_A_TRANSACTION, RollUp
from services.application.monitoring.overview import MeteredEnds
from services.persistence.tables.transfers import NO_LINK
from tests.records import ndjson, record
from tests.stack import Tenant

GB = 10**9


def upload(api: str, tenant: Tenant, *records: dict[str, Any]) -> None:
    with tenant.client(api) as client:
        assert client.post("/v1/logs", content=ndjson(list(records))).status_code in {201, 422}


def moved(day: str, **changed: Any) -> dict[str, Any]:
    """A record of 1 GB in 40 s on that day."""
    known = record(id=str(uuid4()), started_at=f"{day}T10:00:00Z", ended_at=f"{day}T10:00:40Z")
    known["outcome"] |= {"status": "succeeded", "bytes_moved": GB, "throughput_bps": 8 * GB / 40}
    return known | changed


def roll_up(tenant: Tenant) -> int:
    return RollUp(tenant.parts.store.unit_of_work).run(tenant.id)


def rollups(tenant: Tenant) -> dict[str, Any]:
    """Rows by day."""
    with tenant.parts.store.unit_of_work(tenant.id) as uow:
        found = uow.connection.exec_driver_sql("SELECT * FROM daily_rollups ORDER BY day").mappings().all()
    return {row["day"].isoformat(): row for row in found}


@contextmanager
def session_of(tenant: Tenant) -> Iterator[psycopg.Connection]:
    """The application in a transaction of its own."""
    with psycopg.connect(tenant.database_url) as connection:
        connection.execute("SELECT set_config('tradewind.tenant', %s, false)", [str(tenant.id)])
        connection.commit()
        yield connection


def test_a_day_counts_each_transfer_once(api: str, tenant: Tenant) -> None:
    transfer_id = str(uuid4())
    whole = moved("2026-03-01", transfer_id=transfer_id, chunk="whole")
    chunks = [moved("2026-03-01", transfer_id=transfer_id, chunk=chunk) for chunk in ("small", "large")]
    single = moved("2026-03-01")
    upload(api, tenant, whole, *chunks, single)
    upload(api, tenant, single)
    assert roll_up(tenant) == 1
    (row,) = rollups(tenant).values()
    assert (row["transfers"], row["succeeded"], row["bytes_moved"], row["duration_s"]) == (2, 2, 2 * GB, 80)
    assert roll_up(tenant) == 0


def test_transfer_logged_twice_counts_by_the_record_received_last(api: str, tenant: Tenant) -> None:
    transfer_id = str(uuid4())
    first, last = (moved("2026-03-01", transfer_id=transfer_id) for _ in range(2))
    first["outcome"] = first["outcome"] | {"status": "failed", "bytes_moved": GB // 2, "throughput_bps": GB / 10}
    upload(api, tenant, first)
    upload(api, tenant, last)
    without_id = [moved("2026-03-01"), moved("2026-03-01")]
    upload(api, tenant, *without_id)
    roll_up(tenant)
    (row,) = rollups(tenant).values()
    assert (row["transfers"], row["succeeded"], row["bytes_moved"], row["duration_s"]) == (3, 3, 3 * GB, 120)


def test_rows_whose_energies_cannot_be_added_up_are_refused_and_stop_no_rollup(api: str, tenant: Tenant) -> None:
    absurd = {"host": "source", "total_j": 1.7e308, "method": "rapl", "quality": "measured"}
    with tenant.client(api) as client:
        rows = [*(moved("2026-03-01", energy=[absurd]) for _ in range(2)), moved("2026-03-01")]
        receipt = client.post("/v1/logs", content=ndjson(rows)).json()
    assert receipt["accepted"] == 1
    assert {rejection["field"] for rejection in receipt["rejections"]} == {"energy.0.total_j"}
    assert roll_up(tenant) == 1
    assert [row["transfers"] for row in rollups(tenant).values()] == [1]


def test_rate_next_to_zero_stops_no_rollup(api: str, tenant: Tenant) -> None:
    transfer_id = str(uuid4())
    slow = moved("2026-03-01", transfer_id=transfer_id)
    slow["outcome"] |= {"bytes_moved": 2**63 - 1, "throughput_bps": 5e-324}
    with tenant.client(api) as client:
        ended = client.post(f"/v1/transfers/{transfer_id}/complete", json={"records": [slow], "heartbeats": []})
    assert ended.json()["accepted"] == 1
    roll_up(tenant)
    assert [row["ended"] for row in rollups(tenant).values()] == [1]


def test_latest_two_days_are_summed_up_by_hour_too(api: str, tenant: Tenant) -> None:
    def hour_of(at: datetime, **changed: Any) -> dict[str, Any]:
        times = {"started_at": at.isoformat(), "ended_at": (at + timedelta(seconds=40)).isoformat()}
        return moved("2026-03-01") | times | changed

    def hours(link_id: UUID | None = None) -> list[tuple[str, int, int]]:
        with tenant.parts.store.unit_of_work(tenant.id) as uow:
            found = uow.outcomes.list_hours(yesterday + timedelta(hours=1), link_id)
        return [(each.day, each.transfers, each.bytes_moved) for each in found]

    soon = datetime.now(UTC) + timedelta(minutes=2)  # the day may end during this test
    yesterday = soon.replace(hour=0, minute=5, second=0, microsecond=0) - timedelta(days=1)
    first, second = (yesterday + timedelta(hours=hour) for hour in (1, 13))
    corrected = hour_of(second, id=(twice := str(uuid4())), transfer_id=str(uuid4()))
    upload(api, tenant, *(hour_of(yesterday + timedelta(hours=n)) for n in (-1, 0)), hour_of(first), corrected)
    roll_up(tenant)
    assert hours() == [(f"{first:%Y-%m-%d %H}:00", 1, GB), (f"{second:%Y-%m-%d %H}:00", 1, GB)]
    with session_of(tenant) as session:
        session.execute("DELETE FROM transfer_logs WHERE id = %s", [twice])
    upload(api, tenant, hour_of(first), hour_of(first, destination="elsewhere"))
    roll_up(tenant)
    assert hours() == [(f"{first:%Y-%m-%d %H}:00", 3, 3 * GB)]
    assert hours(uuid4()) == []
    with session_of(tenant) as session:
        session.execute("UPDATE hourly_rollups SET day = day - 1")
        session.execute(
            "INSERT INTO rollup_marks (tenant_id, day, link_id) SELECT links.tenant_id, day, links.id FROM links, "
            "(SELECT DISTINCT day FROM daily_rollups) days"
        )
    roll_up(tenant)
    assert hours() == [(f"{first:%Y-%m-%d %H}:00", 3, 3 * GB)]
    with session_of(tenant) as session:
        assert session.execute("SELECT count(DISTINCT day) FROM hourly_rollups").fetchone() == (1,)


def test_measured_energy_is_distinguished_from_modelled(api: str, tenant: Tenant) -> None:
    rapl = {"host": "source", "total_j": 300.0, "method": "rapl", "quality": "measured"}
    model = {"host": "destination", "total_j": 70.0, "method": "cpu_model", "quality": "assumed"}
    records = [moved("2026-03-01", energy=[rapl, model]), moved("2026-03-01", energy=[rapl])]
    upload(api, tenant, *records, moved("2026-03-01", energy=[]))
    roll_up(tenant)
    (row,) = rollups(tenant).values()
    assert (row["measured_energy_j"], row["modelled_energy_j"], row["metered_bytes"]) == (600, 70, 2 * GB)


def test_energy_is_summed_by_the_ends_that_were_metered(api: str, tenant: Tenant) -> None:
    def energy(*ends: str) -> list[dict[str, Any]]:
        return [{"host": each, "total_j": 100.0, "method": "rapl", "quality": "measured"} for each in ends]

    metered = [energy("source", "destination"), energy("source"), energy("source"), energy("destination"), []]
    with tenant.client(api) as client:
        for each in metered:
            known = moved("2026-03-01", transfer_id=str(uuid4()), energy=each)
            told = client.post(f"/v1/transfers/{known['transfer_id']}/complete", json={"records": [known]})
            assert told.status_code == 200
    roll_up(tenant)
    (row,) = rollups(tenant).values()
    assert [row[f"metered_{ends}"] for ends in MeteredEnds] == [2, 1, 1]
    assert [row[f"tuned_{ends}_j"] for ends in MeteredEnds] == [200, 100, 200]
    assert [row[f"tuned_{ends}_bytes"] for ends in MeteredEnds] == [2 * GB, GB, GB]
    assert row["tuned_energy_j"] == 500


def test_late_logs_rebuild_their_own_day_only(api: str, tenant: Tenant) -> None:
    upload(api, tenant, *(moved(f"2026-03-0{day}") for day in range(1, 6)))
    assert roll_up(tenant) == 5
    before = rollups(tenant)
    upload(api, tenant, moved("2026-03-02"))
    assert roll_up(tenant) == 1
    after = rollups(tenant)
    assert [day for day in after if after[day] != before[day]] == ["2026-03-02"]
    assert after["2026-03-02"]["transfers"] == 2


def test_rows_that_are_changed_or_removed_change_what_they_were_added_to(
    api: str, tenant: Tenant, admin_database_url: str
) -> None:
    upload(api, tenant, moved("2026-03-01"), moved("2026-03-01"), moved("2026-03-02"))
    roll_up(tenant)
    with psycopg.connect(admin_database_url) as admin:
        own = "WHERE tenant_id = %s AND started_at"
        admin.execute(f"UPDATE transfer_logs SET bytes_moved = 7 {own} < '2026-03-02'", [tenant.id])
        admin.execute(f"DELETE FROM transfer_logs {own} >= '2026-03-02'", [tenant.id])
    assert roll_up(tenant) == 2
    assert {day: row["bytes_moved"] for day, row in rollups(tenant).items()} == {"2026-03-01": 14}


def test_row_corrected_in_quarantine_is_counted(api: str, tenant: Tenant) -> None:
    good, bad = moved("2026-03-01"), moved("2026-03-02", protocol=None)
    upload(api, tenant, good, bad)
    roll_up(tenant)
    assert list(rollups(tenant)) == ["2026-03-01"]
    with tenant.parts.store.unit_of_work(tenant.id) as uow:
        (refused,) = uow.quarantine.list_page(limit=2)
        mended = ndjson([moved("2026-03-02")]).decode()
        retry_row(refused.id, mended, uow=uow, clock=tenant.parts.clock)
    roll_up(tenant)
    assert list(rollups(tenant)) == ["2026-03-01", "2026-03-02"]


ONE_MORE = """
    INSERT INTO transfer_logs (tenant_id, id, link_id, batch_id, received_at, started_at, ended_at, protocol, direction,
        file_count, total_bytes, mean_file_bytes, status, bytes_moved, files_done, files_failed, throughput_bps)
    SELECT tenant_id, gen_random_uuid(), link_id, batch_id, received_at, started_at, ended_at, protocol, direction,
           file_count, total_bytes, mean_file_bytes, status, bytes_moved, files_done, files_failed, throughput_bps
      FROM transfer_logs LIMIT 1
"""


def test_rows_that_are_stored_while_a_day_is_made_are_not_lost(api: str, tenant: Tenant) -> None:
    upload(api, tenant, moved("2026-03-01"))
    with session_of(tenant) as uploading:
        uploading.execute(ONE_MORE)
        assert roll_up(tenant) == 1
        assert rollups(tenant)["2026-03-01"]["transfers"] == 1
        uploading.commit()
    assert roll_up(tenant) == 1
    assert rollups(tenant)["2026-03-01"]["transfers"] == 2


def test_a_day_that_was_not_finished_is_made_again(api: str, tenant: Tenant) -> None:
    upload(api, tenant, moved("2026-03-01"))
    with tenant.parts.store.unit_of_work(tenant.id) as killed:
        assert killed.rollups.compute_marked_days(10) == 1
        with tenant.parts.store.unit_of_work(tenant.id) as rival:
            assert rival.rollups.compute_marked_days(10) == 0
    assert rollups(tenant) == {}
    assert roll_up(tenant) == 1


def test_more_days_than_a_transaction_takes_are_all_made(api: str, tenant: Tenant) -> None:
    upload(api, tenant, moved("2026-03-01"))
    extra = 2 * DAYS_A_TRANSACTION + 1
    with session_of(tenant) as connection:
        connection.execute("SELECT ensure_log_partitions(ARRAY(SELECT generate_series('2024-01-01'::timestamp,"
                           " '2025-12-01', '1 month')::date))")  # fmt: skip
        one_a_day = ONE_MORE.replace("started_at, ended_at, protocol, direction,\n           file",
            "at, at + interval '1 s', protocol, direction,\n           file")  # fmt: skip
        connection.execute(
            one_a_day.replace("LIMIT 1", ", generate_series(1, %s) n, LATERAL (SELECT '2024-01-01Z'::timestamptz"
                                         " + n * interval '1 day' AS at) d"), [extra]
        )  # fmt: skip
        connection.commit()
    assert roll_up(tenant) == extra + 1
    assert len(rollups(tenant)) == extra + 1


def test_a_page_makes_the_small_days_and_leaves_the_large_ones_to_workers(api: str, tenant: Tenant) -> None:
    upload(api, tenant, *(moved("2026-03-01") for _ in range(3)), moved("2026-03-02"), moved("2026-03-03"))
    with tenant.parts.store.unit_of_work(tenant.id) as uow:
        assert uow.rollups.compute_marked_days(10, most_rows=2) == 2
        assert uow.rollups.compute_marked_days(10, most_rows=2) == 0
        assert uow.rollups.count_waiting(10) == 1
        uow.commit()
    assert set(rollups(tenant)) == {"2026-03-02", "2026-03-03"}
    assert roll_up(tenant) == 1


def test_a_page_leaves_all_days_to_workers_where_more_are_marked_than_it_can_sum(api: str, tenant: Tenant) -> None:
    upload(api, tenant, *(moved(f"2026-03-{day:02}") for day in range(1, DAYS_A_PAGE + 2)))
    of_page = RollUp(tenant.parts.store.unit_of_work)
    of_page.update_for_page(tenant.id)
    assert rollups(tenant) == {}
    with tenant.parts.store.unit_of_work(tenant.id) as uow:
        assert uow.rollups.compute_marked_days(1) == 1
        uow.commit()
    of_page.update_for_page(tenant.id)
    assert len(rollups(tenant)) == DAYS_A_PAGE + 1


def test_analysts_see_their_own_rollups_with_units(api: str, tenant: Tenant) -> None:
    upload(api, tenant, moved("2026-03-01"), moved("2026-03-02"))
    roll_up(tenant)
    asked = """
        SELECT r.day, r.bytes_moved = sum(t.bytes_moved) AND r.transfers = count(*) AS same FROM daily_rollups r
          JOIN transfers t USING (link_id, day) GROUP BY r.day, r.bytes_moved, r.transfers ORDER BY 1
    """
    with tenant.client(api) as client:
        rows = client.post("/v1/warehouse/query", json={"sql": asked}).json()["rows"]
        views = client.get("/v1/warehouse/schema").json()["views"]
    assert rows == [{"day": "2026-03-01", "same": True}, {"day": "2026-03-02", "same": True}]
    (view,) = (view for view in views if view["name"] == "daily_rollups")
    comments = {column["name"]: column["comment"] for column in view["columns"]}
    assert comments["measured_energy_j"].startswith("J: ")
    assert all(comments.values())


ENDED = """
    INSERT INTO transfers (tenant_id, id, started_at, source, destination, mover, file_count, total_bytes, sequence,
        journalled_sequence, bytes_moved, throughput_bps, energy_j, ended_at, status, agreement_kept)
    VALUES (%s, gen_random_uuid(), '2026-03-01Z', 'a', 'b', 'm', 1, 1, 0, 0, 1000, 8000, 5, '2026-03-02Z', 'succeeded',
        %s)
"""


def test_transfer_that_ended_without_a_record_is_counted_by_day(tenant: Tenant) -> None:
    with session_of(tenant) as connection:
        for kept in (True, True, False, None):
            connection.execute(ENDED, [tenant.id, kept])
    assert roll_up(tenant) == 1
    (row,) = rollups(tenant).values()
    assert (row["link_id"], row["ended"], row["kept"], row["missed"]) == (NO_LINK, 4, 2, 1)
    assert (row["transfers"], row["tuned_transfers"]) == (0, 0)


@pytest.mark.parametrize("change", ["agreement_kept = false", "link_id = %(link)s", "ended_at = NULL, status = NULL"])
def test_an_end_that_is_corrected_is_counted_as_it_is_now(tenant: Tenant, change: str) -> None:
    link = UUID(int=7)
    with session_of(tenant) as connection:
        connection.execute(ENDED, [tenant.id, True])
        connection.commit()
        roll_up(tenant)
        connection.execute(f"UPDATE transfers SET {change}", {"link": link})
        connection.commit()
    roll_up(tenant)
    counted = {(row["link_id"], row["kept"], row["missed"]) for row in rollups(tenant).values()}
    assert (
        counted
        == {
            "agreement_kept = false": {(NO_LINK, 0, 1)},
            "link_id = %(link)s": {(link, 1, 0)},
            "ended_at = NULL, status = NULL": set(),
        }[change]
    )


def test_a_heartbeat_of_a_transfer_that_goes_on_marks_nothing(tenant: Tenant) -> None:
    with session_of(tenant) as connection:
        connection.execute(ENDED.replace("'2026-03-02Z', 'succeeded'", "NULL, NULL"), [tenant.id, None])
        connection.execute("UPDATE transfers SET bytes_moved = 7")
    assert roll_up(tenant) == 0


def test_a_tenant_can_be_removed(tenant: Tenant, admin_database_url: str) -> None:
    with session_of(tenant) as connection:
        connection.execute(ENDED, [tenant.id, True])
    with psycopg.connect(admin_database_url) as admin:
        admin.execute("DELETE FROM tenants WHERE id = %s", [tenant.id])
    assert tenant.id not in tenant.parts.store.registry.list_tenants_with_changed_days()
