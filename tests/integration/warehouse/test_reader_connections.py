"""Connections that a tenant's logins take: so many together, and never those that others and the service need."""

from collections.abc import Iterator
from contextlib import ExitStack, suppress
from datetime import timedelta

import httpx
import psycopg
import pytest
from psycopg import sql

from services.application.access.authenticate import Scope
from services.application.warehouse.database_accounts import MAX_LOGINS
from services.bootstrap import build_container
from services.embedded.postgres import EmbeddedPostgres
from services.persistence.migrate import prepare_database
from services.persistence.roles import build_app_url
from tests.integration.admin.visitors import person, signed_in
from tests.integration.warehouse.test_personal_logins import MAKE, REVOKE, id_of, made
from tests.integration.warehouse.test_readers import credentials, postgres, provider
from tests.stack import Tenant, new_tenant, serving

__all__ = ["postgres", "provider"]

OF_A_TENANT, OF_A_LOGIN = 20, 5


def opened(addresses: list[str], stack: ExitStack, each: int = OF_A_LOGIN + 1) -> list[psycopg.Connection]:
    """As many sessions as the logins at these addresses may open."""
    sessions = []
    for address in addresses:
        for _ in range(each):
            with suppress(psycopg.OperationalError):
                sessions.append(stack.enter_context(psycopg.connect(address, autocommit=True)))
    return sessions


def is_alive(session: psycopg.Connection) -> bool:
    try:
        session.execute("SELECT 1")
    except psycopg.OperationalError:
        return False
    return True


@pytest.mark.parametrize(("logins", "share"), [(1, 5), (4, 5), (5, 4), (7, 2)])
def test_logins_of_a_tenant_share_its_connections(provider: Tenant, api: str, logins: int, share: int) -> None:
    addresses = [credentials(provider, api)]
    for _ in range(logins - 1):
        with signed_in(api, person(provider.parts, provider, "analyst")) as visitor:
            addresses.append(made(visitor))
    with ExitStack() as stack:
        assert len(opened(addresses, stack)) == logins * share <= OF_A_TENANT


def test_sessions_beyond_a_smaller_share_end(provider: Tenant, api: str) -> None:
    addresses = [credentials(provider, api)]
    with ExitStack() as stack:
        sessions = opened(addresses, stack)
        for _ in range(4):
            with signed_in(api, person(provider.parts, provider, "analyst")) as visitor:
                addresses.append(made(visitor))
            sessions += opened(addresses[-1:], stack)
        alive = [session for session in sessions if is_alive(session)]
        assert len(alive) == OF_A_TENANT
        assert {session.info.user for session in alive} == {
            address.split("/")[2].split(":")[0] for address in addresses
        }


def test_a_share_grows_when_a_login_is_revoked(provider: Tenant, api: str) -> None:
    reader = credentials(provider, api)
    with ExitStack() as visitors:
        theirs = [visitors.enter_context(signed_in(api, person(provider.parts, provider, "analyst"))) for _ in range(6)]
        for visitor in theirs:
            made(visitor)
        with ExitStack() as stack:
            assert len(opened([reader], stack)) == 2
        for visitor in theirs:
            assert visitor.submit(REVOKE).status_code == 303
        with ExitStack() as stack:
            assert len(opened([reader], stack)) == OF_A_LOGIN


def test_a_login_that_is_handed_out_again_keeps_to_its_share(provider: Tenant, api: str) -> None:
    for _ in range(6):
        with signed_in(api, person(provider.parts, provider, "analyst")) as visitor:
            made(visitor)
    with ExitStack() as stack:
        credentials(provider, api)
        assert len(opened([credentials(provider, api)], stack)) == 2


def test_more_logins_than_connections_are_refused(provider: Tenant, api: str, admin_database_url: str) -> None:
    colleagues = [person(provider.parts, provider, "analyst") for _ in range(MAX_LOGINS)]
    with psycopg.connect(admin_database_url) as admin:
        for number, colleague in enumerate(colleagues):
            admin.execute(
                "INSERT INTO personal_logins VALUES (%s, %s, %s, now(), NULL)",
                [id_of(colleague), provider.id, f"tradewind_person_{number}"],
            )
    with signed_in(api, person(provider.parts, provider, "analyst")) as visitor:
        refused = visitor.submit(MAKE)
        assert (refused.status_code, f"has {MAX_LOGINS} database logins" in refused.text) == (409, True)
    with signed_in(api, colleagues[0]) as visitor:
        made(visitor)  # in place of the one that they have


def test_the_sweep_ends_sessions_beyond_the_limit_of_their_login(
    provider: Tenant, api: str, postgres: EmbeddedPostgres
) -> None:
    with ExitStack() as stack:
        sessions = opened([credentials(provider, api)], stack)
        with psycopg.connect(postgres.url(), autocommit=True) as admin:
            limit = sql.SQL("ALTER ROLE {} CONNECTION LIMIT 3")
            admin.execute(limit.format(sql.Identifier(sessions[0].info.user)))
        assert provider.parts.store.reads.end_long(timedelta(hours=1)) == 2
        assert [is_alive(session) for session in sessions] == [True] * 3 + [False] * 2


@pytest.fixture(scope="module")
def small(redis_url: str) -> Iterator[tuple[EmbeddedPostgres, Tenant, str]]:
    """A service whose database leaves analysts' tools a few connections."""
    few = {"max_connections": "40", "reserved_connections": "30"}
    with EmbeddedPostgres.temporary(durable=False, tcp=True, settings=few) as server:
        prepare_database(server.url())
        url = build_app_url(server.url())
        with build_container(database_url=url, redis_url=redis_url) as parts, serving(parts) as address:
            yield server, new_tenant(parts, url), address


def test_queries_of_the_service_come_in_when_tools_have_taken_all(
    small: tuple[EmbeddedPostgres, Tenant, str],
) -> None:
    server, tenant, address = small
    greedy = [new_tenant(tenant.parts, tenant.database_url) for _ in range(3)]
    with ExitStack() as stack:
        for each in greedy:
            opened([credentials(each, address)], stack)
        with pytest.raises(psycopg.OperationalError, match="remaining connection slots are reserved"):
            psycopg.connect(credentials(tenant, address))
        for format_ in ("json", "csv", "arrow"):
            with tenant.client(address, Scope.ANALYST) as client:
                answer: httpx.Response = client.post(
                    "/v1/warehouse/query", json={"sql": "SELECT 1 AS one", "format": format_}
                )
            assert answer.status_code == 200, answer.text
        with psycopg.connect(server.url("tradewind_app")) as service:
            assert service.execute("SELECT 1").fetchone() == (1,)
