"""The log of one's own queries: text, time, rows, duration, and how each ended."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from html import unescape

import httpx
import pytest

from services.application.access.authenticate import Scope
from services.application.shared.audit import Actor, ActorKind
from services.application.warehouse.query import Format, Query, QueryLimits
from services.application.warehouse.query_log import MOST_CHARACTERS, MOST_OF_ACTOR, RETAINED, QueryEnd, QueryOutcome
from services.bootstrap import Container
from tests.conditions import eventually
from tests.integration.admin.visitors import person, signed_in
from tests.integration.limited_queries import api, parts, provider
from tests.stack import Tenant
from tradewind.units import MIB
from tradewind.wire.warehouse import WarehouseQueryRun
from tradewind_agent.errors import BodyTooLarge, RequestRefused
from tradewind_agent.service.client import Client

__all__ = ["api", "parts", "provider"]

LIMITS = QueryLimits(rows=1_000, seconds=2.0, taking_seconds=0.5, row_bytes=MIB, at_once=2)
MANY = "SELECT n, repeat('x', 1000) AS text FROM generate_series(1, {}) n"


@pytest.fixture
def client(provider: Tenant, api: str) -> Iterator[Client]:
    with Client(api, provider.key(Scope.ANALYST)) as made:
        yield made


def logged(client: Client) -> WarehouseQueryRun:
    """The last query of the client; a reader of Arrow may have all rows before the service notes that it has."""
    return eventually(lambda: client.warehouse.queries(limit=1).queries)[0]


@pytest.mark.parametrize("form", Format)
def test_completed_query_is_logged_with_its_rows_and_bytes(client: Client, form: Format) -> None:
    sql, began = MANY.format(300), datetime.now(UTC)
    result = client.warehouse.query(sql)
    if form is Format.CSV:
        answer = b"".join(result.csv())
    elif form is Format.JSON:
        answer = str(result.rows()).encode()
    else:
        answer = str(result.arrow().num_rows).encode()
    found = logged(client)
    assert (found.sql, found.characters, found.format) == (sql, len(sql), form.value)
    assert (found.outcome, found.rows, found.message, found.sqlstate) == ("completed", 300, None, None)
    assert found.bytes > 300_000
    assert form is not Format.CSV or found.bytes == len(answer)
    assert began <= found.started_at <= datetime.now(UTC)
    assert 0 < found.duration_s < 60


def test_answer_that_is_cut_says_so(client: Client) -> None:
    client.warehouse.query(MANY.format(300), limit=10).rows()
    assert (logged(client).outcome, logged(client).rows) == ("cut", 10)


def test_refused_statement_is_logged_with_the_message(client: Client) -> None:
    with pytest.raises(RequestRefused):
        client.warehouse.query("SELECT nothing FROM transfers").rows()
    found = logged(client)
    assert (found.outcome, found.sqlstate, found.rows) == ("refused", "42703", 0)
    assert 'column "nothing" does not exist' in (found.message or "")


def test_query_at_the_time_limit_was_stopped(client: Client) -> None:
    with pytest.raises(RequestRefused):
        client.warehouse.query("SELECT pg_sleep(30)").rows()
    found = logged(client)
    assert found.outcome == "stopped"
    assert found.duration_s >= LIMITS.seconds


def test_query_with_too_many_rows_is_too_large(client: Client) -> None:
    with pytest.raises((RequestRefused, BodyTooLarge)):
        client.warehouse.query("SELECT n FROM generate_series(1, 100000) n").rows()
    assert logged(client).outcome == "too_large"


def test_query_whose_client_left_was_cancelled(provider: Tenant, api: str) -> None:
    sql = "SELECT pg_sleep(1.5)"
    with provider.client(api) as leaving, pytest.raises(httpx.ReadTimeout):
        leaving.post("/v1/warehouse/query", json={"sql": sql}, timeout=0.3)
    with Client(api, provider.secret) as client:
        assert (logged(client).outcome, logged(client).sql) == ("cancelled", sql)


def test_explain_is_logged_as_any_query(client: Client) -> None:
    lines = client.warehouse.query("EXPLAIN SELECT * FROM transfers").rows()
    assert (logged(client).outcome, logged(client).rows) == ("completed", len(lines))


def test_key_sees_its_own_queries_alone(client: Client, provider: Tenant, api: str) -> None:
    client.warehouse.query("SELECT 'mine' AS whose").rows()
    with Client(api, provider.key(Scope.ANALYST)) as other:
        assert other.warehouse.queries().queries == ()
    with provider.client(api, Scope.AGENT) as agent:
        assert agent.get("/v1/warehouse/queries").status_code == 403


def test_values_of_parameters_are_not_logged(client: Client) -> None:
    client.warehouse.query("SELECT $1::text AS value", ["a secret value"]).rows()
    assert "secret" not in str(logged(client))


def test_older_queries_are_listed_by_the_last_id(client: Client) -> None:
    for number in range(3):
        client.warehouse.query(f"SELECT {number} AS n").rows()
    first, second = client.warehouse.queries(limit=2).queries
    (third,) = client.warehouse.queries(before=second.id).queries
    assert [each.sql for each in (first, second, third)] == [f"SELECT {n} AS n" for n in (2, 1, 0)]


def test_log_is_bounded_by_number_and_age(parts: Container, provider: Tenant) -> None:
    now = datetime.now(UTC)
    actors = [Actor(ActorKind.KEY, provider.id), Actor(ActorKind.USER, provider.id)]

    def add(actor: Actor, number: int, started_at: datetime, sql: str = "SELECT 1") -> None:
        end = QueryEnd(
            started_at=started_at,
            duration_s=0.1,
            outcome=QueryOutcome.COMPLETED,
            rows=number,
            bytes=1,
            message="m" * 9999,
        )
        with parts.store.unit_of_work(provider.id) as uow:
            uow.query_log.add(Query(sql=sql), end, actor=actor)
            uow.commit()

    def rows(actor: Actor) -> list[int]:
        with parts.store.unit_of_work(provider.id) as uow:
            return [each.end.rows for each in uow.query_log.list_of(actor, limit=10 * MOST_OF_ACTOR)]

    add(actors[1], 1, now - RETAINED - timedelta(days=1))
    assert rows(actors[1]) == [1]
    for number in range(MOST_OF_ACTOR + 5):
        add(actors[0], number, now)
    assert rows(actors[0]) == list(range(MOST_OF_ACTOR + 4, 4, -1))
    assert rows(actors[1]) == [], "older than the log retains"
    add(actors[1], 7, now, sql="SELECT '" + "ä" * 2 * MOST_CHARACTERS + "'")
    with parts.store.unit_of_work(provider.id) as uow:
        (found,) = uow.query_log.list_of(actors[1], limit=1)
    assert (len(found.sql), found.characters) == (MOST_CHARACTERS, 2 * MOST_CHARACTERS + 9)


def test_page_lists_the_last_queries_of_its_visitor(api: str, parts: Container, provider: Tenant) -> None:
    analyst = person(parts, provider, "analyst")
    with signed_in(api, analyst) as browser, signed_in(api, person(parts, provider, "analyst")) as other:
        token = browser.get("/admin/sql").text.partition('name="form_token" value="')[2].partition('"')[0]
        sent = {"form_token": token, "sql": "SELECT 'my own' AS <wrong"}
        assert browser.post("/admin/sql/run", data=sent).status_code == 422
        shown = unescape(browser.get("/admin/sql").text).partition("Your last queries")[2]
        assert "SELECT 'my own' AS <wrong" in shown
        assert "0 rows, refused: syntax error" in shown
        assert "'my own'" not in unescape(other.get("/admin/sql").text)
