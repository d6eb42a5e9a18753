"""An API process whose database keeps it waiting: requests end in time, say so, and leave their turn to others."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx
import psycopg
import pytest
from sqlalchemy import text

from services.bootstrap import Container, Options, build_container
from services.persistence.engine import create_pooled_engine
from services.persistence.patience import Patience
from tests.conditions import eventually
from tests.records import ndjson, record
from tests.stack import Tenant, serving
from tradewind.errors import Deadlocked, Unavailable

MORE_THAN_MAY_RUN = 5
"""Uploads are stored four at once."""

FIRST, SECOND = "SELECT pg_advisory_xact_lock(1)", "SELECT pg_advisory_xact_lock(2)"

LONG_S = 60.0


@contextmanager
def impatient(database_url: str, redis_url: str, **short_s: float) -> Iterator[Container]:
    """The parts of an API process with one limit so short that a test reaches it; a busy machine reaches no other."""
    patience = Patience(**{"lock_s": LONG_S, "statement_s": LONG_S, "forgotten_s": LONG_S} | short_s)
    with build_container(database_url=database_url, redis_url=redis_url, options=Options(patience=patience)) as parts:
        yield parts


@contextmanager
def somebody_holds(admin_url: str, statement: str) -> Iterator[None]:
    """As a worker that hangs, or an operator amid a transaction."""
    with psycopg.connect(admin_url) as rival:
        rival.execute(statement)
        yield


def test_upload_blocked_by_a_lock_is_answered_with_retry_after_and_succeeds_later(
    tenant: Tenant, database_url: str, redis_url: str, admin_database_url: str
) -> None:
    lines = ndjson([record(0)])
    with (
        impatient(database_url, redis_url, lock_s=0.1) as parts,
        serving(parts) as address,
        tenant.client(address) as client,
    ):
        with somebody_holds(admin_database_url, "LOCK TABLE batches IN ACCESS EXCLUSIVE MODE"):
            answers = [client.post("/v1/logs", content=lines) for _ in range(MORE_THAN_MAY_RUN)]
        # A busy machine may let it wait once more, for something else: its patience is short.
        after = eventually(lambda: _unless_sent_away(client.post("/v1/logs", content=lines)))
    assert {answer.status_code for answer in answers} == {503}
    assert all(answer.headers["Retry-After"] for answer in answers)
    assert "another request holds what this one changes" in answers[0].json()["detail"]
    assert after.status_code == 201
    assert after.json()["accepted"] == 1


def _unless_sent_away(answer: httpx.Response) -> httpx.Response | None:
    return None if answer.status_code == httpx.codes.SERVICE_UNAVAILABLE else answer


def test_a_statement_that_takes_too_long_is_ended_and_its_connection_serves_others(
    tenant: Tenant, database_url: str, redis_url: str
) -> None:
    with impatient(database_url, redis_url, statement_s=2.0) as parts:
        with pytest.raises(Unavailable, match="took too long"), parts.store.unit_of_work(tenant.id) as uow:
            uow.connection.execute(text("SELECT pg_sleep(60)"))
        with parts.store.unit_of_work(tenant.id) as uow:
            assert uow.connection.scalar(text("SELECT 1")) == 1


def test_idle_transaction_is_ended_and_reported(
    tenant: Tenant, database_url: str, redis_url: str, admin_database_url: str
) -> None:
    with (
        impatient(database_url, redis_url, forgotten_s=0.2) as parts,
        pytest.raises(Unavailable, match="without a word"),
    ):
        forget_a_transaction(parts, tenant, admin_database_url)


def forget_a_transaction(parts: Container, tenant: Tenant, admin_url: str) -> None:
    with psycopg.connect(admin_url, autocommit=True) as admin, parts.store.unit_of_work(tenant.id) as uow:
        session = uow.connection.scalar(text("SELECT pg_backend_pid()"))
        eventually(lambda: admin.execute("SELECT FROM pg_stat_activity WHERE pid = %s", [session]).rowcount == 0)
        uow.connection.execute(text("SELECT 1"))


def test_requests_have_limits_and_what_fits_asks_for_has_none(
    parts: Container, tenant: Tenant, database_url: str
) -> None:
    asked = text(
        "SELECT name, setting <> '0' FROM pg_settings"
        " WHERE name IN ('lock_timeout', 'statement_timeout', 'idle_in_transaction_session_timeout')"
    )
    with parts.store.unit_of_work(tenant.id) as uow:
        of_requests = {name: bool(limited) for name, limited in uow.connection.execute(asked)}
    fits = create_pooled_engine(database_url)
    with fits.connect() as connection:
        of_fits = {name: bool(limited) for name, limited in connection.execute(asked)}
    fits.dispose()
    assert list(of_requests.values()) == [True] * 3
    assert list(of_fits.values()) == [False] * 3


def test_one_of_two_deadlocked_requests_is_refused_and_may_be_repeated(
    parts: Container, tenant: Tenant, admin_database_url: str
) -> None:
    with psycopg.connect(admin_database_url) as rival:
        rival.execute("SET deadlock_timeout = '1h'")  # it is not the one that gives way
        rival.execute(SECOND)
        with pytest.raises(Deadlocked, match="another request was first"):
            wait_for_each_other(parts, tenant, rival)


def wait_for_each_other(parts: Container, tenant: Tenant, rival: psycopg.Connection) -> None:
    """We have the first lock and want the second, which the rival has, who wants the first."""
    with ThreadPoolExecutor(1) as threads, parts.store.unit_of_work(tenant.id) as uow:
        uow.connection.execute(text(FIRST))
        threads.submit(rival.execute, FIRST)
        uow.connection.execute(text(SECOND))
