"""Fixtures for tests with real parts: PostgreSQL and Valkey once a process, a database and an API a module.

A conftest that needs them imports them by name. In a run about a stack of containers they are the stack's.
"""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from uuid import UUID, uuid4

import httpx
import psycopg
import pytest
import redis
import uvicorn
from psycopg import sql

from services.api.arrival import BoundedHttp
from services.api_process import KEEP_ALIVE_S
from services.app import create_app
from services.application.access.authenticate import Scope, make_secret
from services.application.access.keys import create_key, register_tenant
from services.application.shared.yielding_processes import YieldingProcesses
from services.bootstrap import Container, build_container
from services.embedded.postgres import DATABASE as TEMPLATE
from services.embedded.postgres import EmbeddedPostgres
from services.embedded.valkey import EmbeddedValkey
from services.persistence.log_reader import LogReader
from services.persistence.migrate import prepare_database
from services.persistence.roles import build_app_url, prepare_roles
from services.queue.sessions import WATCH
from services.upload_storage import AT_ONCE
from tests.compose_stack import ComposeStack
from tests.conditions import stretched
from tradewind.wire.inventory import NewKey

__all__ = [
    "admin_database_url",
    "api",
    "database_url",
    "empty_database",
    "grant_shares_at_once",
    "logs",
    "parts",
    "postgres",
    "redis_url",
    "stores_in_this_process",
    "tenant",
    "valkey",
]

PATIENCE_S = 20.0
UPLOAD_PROCESSES = pytest.StashKey[YieldingProcesses]()
STACK = ComposeStack.running()


@pytest.fixture(scope="session")
def postgres() -> Iterator[EmbeddedPostgres]:
    """A PostgreSQL server whose first database has the complete schema; every module copies it."""
    with EmbeddedPostgres.temporary(durable=False) as server:
        prepare_database(server.url())
        yield server


@pytest.fixture(scope="session")
def valkey() -> Iterator[EmbeddedValkey]:
    with EmbeddedValkey.temporary() as server:
        grant_shares_at_once(server.url())
        yield server


def grant_shares_at_once(redis_url: str) -> None:
    """Let shares be granted at once, as by a store that has been there for long."""
    with redis.Redis.from_url(redis_url) as store:
        store.hset(WATCH, mapping={"since": 0, "last": 2**53})


@pytest.fixture(scope="module")
def admin_database_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """The superuser's URL of a new database with the schema."""
    if STACK is not None:
        yield STACK.url_from_here("admin_database_url", "postgres")
        return
    postgres: EmbeddedPostgres = request.getfixturevalue("postgres")
    name = f"test_{uuid4().hex}"
    with psycopg.connect(postgres.url(database="postgres"), autocommit=True) as admin:
        admin.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), sql.Identifier(TEMPLATE)))
        prepare_roles(postgres.url(database=name))  # who may connect to a database is not copied with it
        yield postgres.url(database=name)
        admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture
def empty_database(postgres: EmbeddedPostgres) -> Iterator[str]:
    """The superuser's URL of a database without a schema."""
    name = f"empty_{uuid4().hex}"
    with psycopg.connect(postgres.url(database="postgres"), autocommit=True) as admin:
        admin.execute(sql.SQL("CREATE DATABASE {} TEMPLATE template0").format(sql.Identifier(name)))
        yield postgres.url(database=name)
        admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture(scope="module")
def database_url(admin_database_url: str) -> str:
    """The application role's URL of the same database."""
    if STACK is not None:
        return STACK.url_from_here("database_url", "postgres")
    return build_app_url(admin_database_url)


@pytest.fixture(scope="module")
def logs(database_url: str) -> Iterator[LogReader]:
    """The reader of stored rows, as a worker has it."""
    with closing(LogReader(database_url)) as reader:
        yield reader


@pytest.fixture(scope="module")
def redis_url(request: pytest.FixtureRequest) -> str:
    if STACK is not None:
        return STACK.url_from_here("redis_url", "redis")
    valkey: EmbeddedValkey = request.getfixturevalue("valkey")
    return valkey.url()


@pytest.fixture(scope="module")
def parts(database_url: str, redis_url: str, pytestconfig: pytest.Config) -> Iterator[Container]:
    """The parts of an API process; the processes that store its uploads serve the next module too."""
    with build_container(database_url=database_url, redis_url=redis_url) as built:
        built.upload_storage._processes = start_upload_processes_once(pytestconfig)
        yield built


def start_upload_processes_once(config: pytest.Config) -> YieldingProcesses:
    """Return the processes for uploads of this run: each takes 2 s to import what stores them."""
    if UPLOAD_PROCESSES not in config.stash:
        config.stash[UPLOAD_PROCESSES] = UnclosedProcesses(AT_ONCE)
        config.add_cleanup(lambda: YieldingProcesses.close(config.stash[UPLOAD_PROCESSES]))
    return config.stash[UPLOAD_PROCESSES]


class UnclosedProcesses(YieldingProcesses):
    """Processes that stay when a container that uses them closes."""

    def close(self) -> None:
        pass


@pytest.fixture(scope="module")
def api(parts: Container) -> Iterator[str]:
    """The address of a running API."""
    if STACK is not None:
        yield STACK.address
        return
    with serving(parts) as address:
        yield address


class serving:  # noqa: N801 - reads as a statement
    """Serve the API of ``parts`` by uvicorn on a free port of the loopback."""

    def __init__(self, parts: Container, *, http: type[BoundedHttp] = BoundedHttp) -> None:
        config = uvicorn.Config(
            create_app(parts),
            http=http,
            log_config=None,
            access_log=False,  # as it is deployed: addresses may hold what a user typed in the wrong place
            lifespan="on",
            timeout_graceful_shutdown=5,
            timeout_keep_alive=KEEP_ALIVE_S,
        )
        self._server = uvicorn.Server(config)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._listening]})

    def __enter__(self) -> str:
        self._thread.start()
        deadline = time.monotonic() + stretched(PATIENCE_S)
        while not self._server.started:
            assert self._thread.is_alive(), "the API stopped while starting"
            assert time.monotonic() < deadline, "the API did not start"
            time.sleep(0.01)
        return f"http://127.0.0.1:{self._listening.getsockname()[1]}"

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._listening.close()


@dataclass(frozen=True)
class Tenant:
    """A tenant of its own for one test, with a key of every scope."""

    id: UUID
    parts: Container
    secret: str
    database_url: str

    def key(self, *scopes: Scope) -> str:
        """The secret of a new key with ``scopes``."""
        with self.parts.store.unit_of_work(self.id) as uow:
            new = NewKey(name=f"test {uuid4()}", scopes=scopes)
            return create_key(new, make_secret(), uow=uow, clock=self.parts.clock).secret

    def client(self, address: str, *scopes: Scope) -> httpx.Client:
        """A client with a key of ``scopes``, or of all."""
        secret = self.key(*scopes) if scopes else self.secret
        return httpx.Client(base_url=address, headers={"Authorization": f"Bearer {secret}"}, timeout=stretched(60))

    def waits_for_a_lock(self) -> bool:
        """Whether a transaction waits for a row that another one holds."""
        with self.parts.store.unit_of_work(self.id) as uow:
            waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'transactionid'"
            return bool(uow.connection.exec_driver_sql(waiting).scalar_one())


def new_tenant(parts: Container, database_url: str) -> Tenant:
    tenant_id = uuid4()
    first_key = NewKey(name="first", scopes=tuple(Scope))
    with parts.store.unit_of_work(tenant_id) as uow:
        key = register_tenant(f"tenant {tenant_id}", first_key, make_secret(), uow=uow, clock=parts.clock)
    return Tenant(tenant_id, parts, key.secret, database_url)


@pytest.fixture
def tenant(parts: Container, database_url: str) -> Tenant:
    return new_tenant(parts, database_url)


@pytest.fixture
def stores_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Uploads are stored by this process, in which a test changes limits."""

    def run(_: YieldingProcesses, function: Callable[..., object], *arguments: object, file: object = None) -> object:
        return function(*(() if file is None else (file,)), *arguments)

    monkeypatch.setattr(YieldingProcesses, "run", run)
