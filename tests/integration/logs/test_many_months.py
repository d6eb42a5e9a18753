"""Rows of every month that there may be: each is a partition of all tenants, and a lock for a query over all time."""

from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from services.bootstrap import build_container
from services.embedded.postgres import EmbeddedPostgres
from services.persistence.migrate import prepare_database
from tests.records import ndjson, record
from tests.stack import new_tenant, serving

SESSIONS = 60
"""Nearly all that the embedded server has for others than the service itself."""


@pytest.fixture
def own_server() -> Iterator[EmbeddedPostgres]:
    with EmbeddedPostgres.temporary(durable=False) as server:
        yield server


def test_one_upload_of_every_month_leaves_locks_for_all_who_look_at_all_of_them(
    own_server: EmbeddedPostgres, redis_url: str
) -> None:
    database_url = prepare_database(own_server.url())
    months = list(begins_of_months())
    lines = ndjson(
        record(number, started_at=begin.isoformat(), ended_at=(begin + timedelta(seconds=10)).isoformat())
        for number, begin in enumerate(months)
    )
    with build_container(database_url=database_url, redis_url=redis_url) as parts, serving(parts) as address:
        tenant = new_tenant(parts, database_url)
        with tenant.client(address) as client:
            receipt = client.post("/v1/logs", content=lines).json()
    assert (receipt["accepted"], receipt["rejected"]) == (len(months), 0)
    assert len(months) > 400
    with ExitStack() as sessions:
        for _ in range(SESSIONS):
            session = sessions.enter_context(psycopg.connect(database_url))
            session.execute("SELECT count(*) FROM transfer_logs")  # its locks are held until the end of the transaction


def begins_of_months() -> Iterator[datetime]:
    """From the earliest that a record may have to the last whole month."""
    now, begin = datetime.now(UTC), datetime(1990, 1, 15, tzinfo=UTC)
    while begin < now:
        yield begin
        begin = (begin + timedelta(days=31)).replace(day=15)
