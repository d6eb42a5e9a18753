"""Rows of a link, as a fit reads them."""

import time
from contextlib import closing
from datetime import UTC, datetime
from uuid import uuid4

import psycopg
import pytest

from services.application.logs.roll_up import RollUp
from services.application.models.learned_model import StoredLink
from services.persistence.log_reader import LogReader
from tests.integration.models.refreshes import upload as store
from tests.integration.models.test_releases import opened, upload
from tests.records import record
from tests.stack import Tenant
from tradewind.errors import Unavailable


def test_rows_of_a_link_are_read_as_columns(api: str, tenant: Tenant, logs: LogReader) -> None:
    upload(api, tenant, 0, ["omega", "psi", "omega"])
    with opened(tenant) as uow:
        links = {link.key.destination: link for link in uow.links.list_all()}
    omega, psi = links["omega"], links["psi"]
    with logs.fit_rows(tenant.id, omega.id) as batches:
        (batch,) = batches
    assert batch.column("concurrency").to_pylist() == [4, 4]
    assert batch.column("cores").null_count == 2
    with logs.read_month_rows(tenant.id, psi.source_id, datetime(2026, 3, 1, tzinfo=UTC)) as batches:
        assert sum(each.num_rows for each in batches) == 3
    with logs.read_rows_between(tenant.id, psi) as batches:
        assert sum(each.num_rows for each in batches) == 1
    with logs.fit_rows(uuid4(), omega.id) as batches:
        assert sum(each.num_rows for each in batches) == 0


@pytest.mark.parametrize("limit", ["nic_bps", "disk_bps", "cores", "frequency_hz", "memory_bytes"])
def test_transfers_that_their_user_limited_are_no_evidence_but_known_load(
    api: str, tenant: Tenant, logs: LogReader, limit: str
) -> None:
    settings = {"concurrency": 4, "parallelism": 2}
    rows = [*(record(n, parameters=settings) for n in range(18)), record(20, parameters=settings | {limit: 2})]
    store(api, tenant, rows)
    link = only_link(tenant)
    with logs.fit_rows(tenant.id, link.id) as batches:
        assert sum(each.num_rows for each in batches) == 18
    with logs.read_rows_between(tenant.id, link) as batches:
        assert sum(each.num_rows for each in batches) == 19


@pytest.mark.parametrize("habit", ["cores", "frequency_hz", "memory_bytes"])
def test_a_resource_that_every_transfer_states_is_a_setting_and_no_limit(
    api: str, tenant: Tenant, logs: LogReader, habit: str
) -> None:
    store(api, tenant, [record(n, parameters={"concurrency": 4, habit: 1 + n % 4}) for n in range(12)])
    with logs.fit_rows(tenant.id, only_link(tenant).id) as batches:
        assert sum(each.num_rows for each in batches) == 12


def test_a_rate_limit_above_the_rate_of_the_path_limits_nothing(api: str, tenant: Tenant, logs: LogReader) -> None:
    path = {"bandwidth_bps": 1e9, "rtt_s": 0.06}
    store(api, tenant, [record(n, path=path, parameters={"concurrency": 4, "nic_bps": 2e9}) for n in range(3)])
    with logs.fit_rows(tenant.id, only_link(tenant).id) as batches:
        assert sum(each.num_rows for each in batches) == 3


def test_a_transfer_that_was_logged_twice_is_evidence_once_its_day_is_summed_up(
    api: str, tenant: Tenant, logs: LogReader
) -> None:
    transfer_id = str(uuid4())
    rows = [record(0, id=str(uuid4()), transfer_id=transfer_id, parameters={"concurrency": n}) for n in (4, 8)]
    for row in rows:
        store(api, tenant, [row])
    RollUp(tenant.parts.store.unit_of_work).run(tenant.id)
    with logs.fit_rows(tenant.id, only_link(tenant).id) as batches:
        assert [each for batch in batches for each in batch.column("concurrency").to_pylist()] == [8]
    with logs.read_rows_between(tenant.id, only_link(tenant)) as batches:
        assert sum(each.num_rows for each in batches) == 1


def only_link(tenant: Tenant) -> StoredLink:
    with opened(tenant) as uow:
        (link,) = uow.links.list_all()
    return link


def test_rows_that_cannot_be_read_now_may_be_read_later() -> None:
    with (
        closing(LogReader("postgresql://nobody@127.0.0.1:1/nowhere")) as away,
        pytest.raises(Unavailable),
        away.fit_rows(uuid4(), uuid4()),
    ):
        pass


def test_rows_of_a_link_are_read_without_those_of_others(
    api: str, tenant: Tenant, logs: LogReader, admin_database_url: str
) -> None:
    rows = [record(n, destination=f"site-{n % 40}") for n in range(4_000)]
    store(api, tenant, rows)
    with psycopg.connect(admin_database_url, autocommit=True) as admin:
        admin.execute("VACUUM ANALYZE transfer_logs")
    with opened(tenant) as uow:
        link = uow.links.list_all()[0]
    before = entries_read(admin_database_url)
    while before != (before := entries_read(admin_database_url, after_s=1.5)):
        pass  # sessions of the upload report what they read a little later
    with logs.read_rows_between(tenant.id, link) as batches:
        assert sum(each.num_rows for each in batches) == 100
    assert 100 <= entries_read(admin_database_url, after_s=1.5) - before < 400


def entries_read(admin_database_url: str, *, after_s: float = 0.0) -> int:
    """Entries of indexes of logs that have been read."""
    time.sleep(after_s)
    query = "SELECT coalesce(sum(idx_tup_read), 0)::bigint FROM pg_stat_user_indexes WHERE relname ^@ 'transfer_logs_'"
    with psycopg.connect(admin_database_url, autocommit=True) as admin:
        (read,) = admin.execute(query).fetchone() or (0,)
    return int(read)
