"""Probes of a running API, on real PostgreSQL and Valkey, as the application's ordinary role."""

from contextlib import ExitStack
from uuid import uuid4

import httpx
import psycopg
import pytest

from services.application.authenticate import Scope
from services.bootstrap import container
from services.embedded.valkey import EmbeddedValkey
from services.persistence.engine import MAX_OVERFLOW, POOL_SIZE
from services.persistence.schema import head_revision, known_revisions
from tests.integration.live_transfers import ENQUIRY
from tests.ports import free_port
from tests.stack import new_tenant, serving

HEAD = head_revision()
EARLIER = known_revisions()[-2]


def readiness(address):
    """Status and reason; the process itself answers in any case."""
    assert httpx.get(f"{address}/healthz").status_code == 200
    answer = httpx.get(f"{address}/readyz", timeout=30)
    return answer.status_code, answer.json().get("detail")


@pytest.fixture
def schema(admin_database_url):
    """Sets the name of the schema, with a word of who is served; as it was afterwards."""
    with psycopg.connect(admin_database_url, autocommit=True) as admin:

        def named(revision, word=None):
            admin.execute("UPDATE alembic_version SET version_num = %s", [revision])
            if word is not None:
                admin.execute(f"COMMENT ON TABLE alembic_version IS '{word}'")

        yield named
        named(HEAD, f"{HEAD} serves 0")


def test_a_process_on_a_current_schema_is_ready(api):
    assert readiness(api) == (200, None)


def test_an_older_schema_is_told_with_what_is_to_be_done(api, schema):
    schema(EARLIER)
    assert readiness(api) == (
        503,
        f"the database's schema {EARLIER} is older than {HEAD} of this version: run the migrations",
    )
    schema(HEAD)
    assert readiness(api) == (200, None)


def test_a_newer_schema_is_served_on_until_something_is_taken_away(api, schema):
    newer = "2999_01_01_0000"
    told = f"the database's schema {newer} is newer than {HEAD} of this version: run a newer version"
    schema(newer)
    assert readiness(api) == (503, told)
    schema(newer, f"{newer} serves {EARLIER}")
    assert readiness(api) == (200, None)
    schema(newer, f"{newer} serves 2998_12_31_0000")
    assert readiness(api) == (503, told)


def test_who_migrates_leaves_word_that_all_code_so_far_is_served(admin_database_url):
    with psycopg.connect(admin_database_url) as admin:
        word = admin.execute("SELECT obj_description('alembic_version'::regclass, 'pg_class')").fetchone()
    assert word == (f"{HEAD} serves 0",)


@pytest.mark.parametrize(
    ("away", "told"),
    [
        ("database", "the database does not answer now (nothing listens at its address); try again"),
        ("redis", "Redis does not answer"),
    ],
)
def test_a_part_that_is_away_is_told_without_its_address(away, told, database_url, redis_url):
    nowhere = f"127.0.0.1:{free_port()}"
    urls = {
        "database_url": f"postgresql://tradewind_app:secret@{nowhere}/t" if away == "database" else database_url,
        "redis_url": f"redis://:secret@{nowhere}/0" if away == "redis" else redis_url,
    }
    with container(**urls) as parts, serving(parts) as address:
        assert readiness(address) == (503, told)


def test_a_process_that_loses_redis_stays_in_service_and_recommends(database_url, tmp_path):
    with (
        EmbeddedValkey(tmp_path) as valkey,
        container(database_url=database_url, redis_url=valkey.url()) as parts,
        serving(parts) as address,
        new_tenant(parts, database_url).client(address, Scope.AGENT) as agent,
    ):
        ready = {"status": "ready"}
        assert httpx.get(f"{address}/readyz").json() == ready
        valkey.stop()
        answer = httpx.get(f"{address}/readyz")
        told = {"status": "degraded", "reason": "Redis does not answer"}
        assert (answer.status_code, answer.json()) == (200, told)
        assert agent.post("/v1/recommend", json=ENQUIRY).status_code == 200
        valkey.start()
        assert httpx.get(f"{address}/readyz").json() == ready


def test_readiness_waits_for_no_request(database_url, redis_url):
    parts_of_api = container(database_url=database_url, redis_url=redis_url)
    with parts_of_api as parts, serving(parts) as address, ExitStack() as busy:
        for _ in range(POOL_SIZE + MAX_OVERFLOW):
            busy.enter_context(parts.store.unit_of_work(uuid4())).links.all()
        assert readiness(address) == (200, None)


def test_a_database_that_is_a_copy_takes_no_data(database_url, redis_url):
    more = "&" if "?" in database_url else "?"
    copy = f"{database_url}{more}options=-c%20default_transaction_read_only%3Don"
    with container(database_url=copy, redis_url=redis_url) as parts, serving(parts) as address:
        assert readiness(address) == (503, "the database takes no data now: it is read-only; try again")
