"""Probes of a running API, on real PostgreSQL and Valkey, as the application's ordinary role."""

import socket
import time
from contextlib import ExitStack
from dataclasses import replace
from uuid import uuid4

import httpx
import psycopg
import pytest

from services.api.probes import SHARED_S
from services.application.access.authenticate import Scope
from services.bootstrap import build_container
from services.embedded.postgres import EmbeddedPostgres
from services.embedded.valkey import EmbeddedValkey
from services.persistence.engine import MAX_OVERFLOW, POOL_SIZE
from services.persistence.migrate import BASE_OF_ALL, list_steps, prepare_database
from services.persistence.schema import list_known_revisions, read_head_revision
from services.readiness import Readiness
from tests.conditions import eventually
from tests.integration.live_transfers import ENQUIRY
from tests.ports import free_port
from tests.stack import new_tenant, serving

HEAD = read_head_revision()
EARLIER = list_known_revisions()[-2]
CURRENT_WORD = f"{HEAD} serves {max(step.since or BASE_OF_ALL for step in list_steps().values())}"


def readiness(address):
    """Status and reason; the process itself answers in any case."""
    assert httpx.get(f"{address}/healthz").status_code == 200
    answer = httpx.get(f"{address}/readyz", timeout=30)
    return answer.status_code, answer.json().get("detail")


def serving_on(address):
    """Status, and what is said of it."""
    answer = httpx.get(f"{address}/servingz", timeout=30)
    told = answer.json()
    return answer.status_code, told.get("reason") or told.get("detail")


def comes_to(expected, look, address):
    """An answer of a moment ago is kept."""
    eventually(lambda: look(address) == expected)
    assert look(address) == expected


@pytest.fixture
def schema(admin_database_url):
    """Sets the name of the schema, with a word of who is served; as it was afterwards."""
    with psycopg.connect(admin_database_url, autocommit=True) as admin:

        def named(revision, word=None):
            admin.execute("UPDATE alembic_version SET version_num = %s", [revision])
            if word is not None:
                admin.execute(f"COMMENT ON TABLE alembic_version IS '{word}'")

        yield named
        named(HEAD, CURRENT_WORD)


def test_a_process_on_a_current_schema_is_ready_and_serves(api):
    comes_to((200, None), readiness, api)
    assert serving_on(api) == (200, None)


def test_readiness_reports_an_older_schema_and_what_to_do(api, schema):
    schema(EARLIER)
    told = f"the database's schema {EARLIER} is older than {HEAD} of this version: run the migrations"
    comes_to((503, told), readiness, api)
    schema(HEAD)
    comes_to((200, None), readiness, api)


def test_a_newer_schema_is_served_on_until_something_is_taken_away(api, schema):
    newer = "2999_01_01_0000"
    told = f"the database's schema {newer} is newer than {HEAD} of this version: run a newer version"
    for word, expected in (
        (None, (503, told)),
        (f"{newer} serves {EARLIER}", (200, None)),
        (f"{newer} serves 2998_12_31_0000", (503, told)),
    ):
        schema(newer, word)
        comes_to(expected, readiness, api)
        assert serving_on(api) == expected


def test_migration_records_which_code_its_schema_serves(admin_database_url):
    with psycopg.connect(admin_database_url) as admin:
        word = admin.execute("SELECT obj_description('alembic_version'::regclass, 'pg_class')").fetchone()
    assert word == (CURRENT_WORD,)


@pytest.mark.parametrize(
    ("away", "told"),
    [
        ("database", "the database does not answer now (nothing listens at its address); try again"),
        ("redis", "Redis does not answer"),
    ],
)
def test_unreachable_dependency_is_reported_without_its_address(away, told, database_url, redis_url):
    nowhere = f"127.0.0.1:{free_port()}"
    urls = {
        "database_url": f"postgresql://tradewind_app:secret@{nowhere}/t" if away == "database" else database_url,
        "redis_url": f"redis://:secret@{nowhere}/0" if away == "redis" else redis_url,
    }
    with build_container(**urls) as parts, serving(parts) as address:
        assert readiness(address) == serving_on(address) == (503, told)


def test_a_process_that_loses_its_database_is_not_ready_and_recommends_on(redis_url, tmp_path):
    with EmbeddedPostgres(tmp_path, durable=False) as postgres:
        admin_url = postgres.url()
        database_url = prepare_database(admin_url)
        with (
            build_container(database_url=database_url, redis_url=redis_url) as parts,
            serving(parts) as address,
            new_tenant(parts, database_url).client(address, Scope.AGENT) as agent,
        ):
            assert serving_on(address) == (200, None)
            assert agent.post("/v1/recommend", json=ENQUIRY).status_code == 200
            postgres.stop()
            told = "the database does not answer now; try again"
            comes_to((503, told), readiness, address)
            assert serving_on(address) == (200, told)
            assert agent.post("/v1/recommend", json=ENQUIRY).status_code == 200
            with (
                build_container(database_url=database_url, redis_url=redis_url) as others,
                serving(others) as began_without,
            ):
                assert serving_on(began_without) == (503, told)
            postgres.start()
            comes_to((200, None), readiness, address)
            with psycopg.connect(admin_url) as admin:
                admin.execute("UPDATE alembic_version SET version_num = %s", [EARLIER])
            eventually(lambda: serving_on(address)[0] == 503)
            postgres.stop()
            comes_to((503, told), readiness, address)
            assert serving_on(address) == (503, told)


def test_readiness_is_answered_while_the_database_hangs(database_url, redis_url):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        nowhere = f"postgresql://tradewind_app@127.0.0.1:{silent.getsockname()[1]}/none"
        with build_container(database_url=nowhere, redis_url=redis_url) as parts, serving(parts) as address:
            assert serving_on(address) == (503, "nothing has been looked at yet")


def test_a_crowd_without_keys_costs_one_look(database_url, redis_url):
    looks = []
    with build_container(database_url=database_url, redis_url=redis_url) as parts:
        counted = replace(parts, readiness=Readiness((lambda: looks.append(1),), parts.log))
        with serving(counted) as address, httpx.Client(base_url=address) as stranger:
            began_s = time.monotonic()
            for _ in range(20):
                assert stranger.get("/readyz").status_code == stranger.get("/servingz").status_code == 200
            assert len(looks) <= 2 + (time.monotonic() - began_s) / SHARED_S


def test_a_process_that_loses_redis_stays_in_service_and_recommends(database_url, tmp_path):
    with (
        EmbeddedValkey(tmp_path) as valkey,
        build_container(database_url=database_url, redis_url=valkey.url()) as parts,
        serving(parts) as address,
        new_tenant(parts, database_url).client(address, Scope.AGENT) as agent,
    ):
        ready = {"status": "ready"}
        assert httpx.get(f"{address}/readyz").json() == ready
        valkey.stop()
        told = {"status": "degraded", "reason": "Redis does not answer"}
        eventually(lambda: httpx.get(f"{address}/readyz").json() == told)
        assert httpx.get(f"{address}/readyz").status_code == 200
        assert serving_on(address) == (200, told["reason"])
        assert agent.post("/v1/recommend", json=ENQUIRY).status_code == 200
        valkey.start()
        eventually(lambda: httpx.get(f"{address}/readyz").json() == ready)


def test_readiness_waits_for_no_request(database_url, redis_url):
    parts_of_api = build_container(database_url=database_url, redis_url=redis_url)
    with parts_of_api as parts, serving(parts) as address, ExitStack() as busy:
        for _ in range(POOL_SIZE + MAX_OVERFLOW):
            busy.enter_context(parts.store.unit_of_work(uuid4())).links.list_all()
        assert readiness(address) == (200, None)


def test_a_database_that_is_a_copy_takes_no_data(database_url, redis_url):
    more = "&" if "?" in database_url else "?"
    copy = f"{database_url}{more}options=-c%20default_transaction_read_only%3Don"
    with build_container(database_url=copy, redis_url=redis_url) as parts, serving(parts) as address:
        assert readiness(address) == (503, "the database takes no data now: it is read-only; try again")
