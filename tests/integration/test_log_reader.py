"""Rows of a link, as a fit reads them."""

from contextlib import closing
from datetime import UTC, datetime
from uuid import uuid4

import pytest

from services.persistence.log_reader import LogReader
from tests.integration.test_releases import opened, upload
from tests.stack import Tenant
from tradewind.errors import Unavailable


def test_rows_of_a_link_are_read_as_columns(api: str, tenant: Tenant, logs: LogReader) -> None:
    upload(api, tenant, 0, ["omega", "psi", "omega"])
    with opened(tenant) as uow:
        links = {link.key.destination: link for link in uow.links.all()}
    omega, psi = links["omega"], links["psi"]
    with logs.fit_rows(tenant.id, omega.id) as batches:
        (batch,) = batches
    assert batch.column("concurrency").to_pylist() == [4, 4]
    assert batch.column("cores").null_count == 2
    with logs.month_rows(tenant.id, psi.source_id, datetime(2026, 3, 1, tzinfo=UTC)) as batches:
        assert sum(each.num_rows for each in batches) == 3
    with logs.rows_between(tenant.id, psi) as batches:
        assert sum(each.num_rows for each in batches) == 1
    with logs.fit_rows(uuid4(), omega.id) as batches:
        assert sum(each.num_rows for each in batches) == 0


def test_rows_that_cannot_be_read_now_may_be_read_later() -> None:
    with (
        closing(LogReader("postgresql://nobody@127.0.0.1:1/nowhere")) as away,
        pytest.raises(Unavailable),
        away.fit_rows(uuid4(), uuid4()),
    ):
        pass
