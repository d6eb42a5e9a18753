"""Certificates of PostgreSQL and Redis: one that holds is served behind, one that has ended is told in these words."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import psycopg.conninfo
import pytest
import redis

from services.bootstrap import build_container
from services.persistence.condition import create_readiness_check
from services.readiness import require_redis
from tests.integration.api.test_probes import readiness
from tests.integration.certificates import make_certificates
from tests.integration.tls_front import tls_before
from tests.stack import serving
from tradewind.errors import Unavailable

HOLDS, ENDED = 2, -1
"""Days from now."""

UrlOf = Callable[[int], str]


@pytest.fixture
def database(database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[UrlOf]:
    """The database's address by TLS, with a certificate that ends so many days from now."""
    plain = psycopg.conninfo.conninfo_to_dict(database_url)
    with ExitStack() as stack:

        def by_tls(days: int) -> str:
            made = make_certificates(tmp_path_factory.mktemp("tls"), server_days=days)
            server = f"{plain['host']}/.s.PGSQL.{plain['port']}"
            port = stack.enter_context(tls_before(server, made, is_postgres=True))
            name = f"{plain['user']}@localhost:{port}/{plain['dbname']}"
            return f"postgresql://{name}?sslmode=verify-full&sslrootcert={made.authority}"

        yield by_tls


@pytest.fixture
def store(redis_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[UrlOf]:
    """The same of Redis."""
    plain = urlsplit(redis_url)
    assert plain.port is not None
    with ExitStack() as stack:

        def by_tls(days: int) -> str:
            made = make_certificates(tmp_path_factory.mktemp("tls"), server_days=days)
            port = stack.enter_context(tls_before(("127.0.0.1", plain.port), made, is_postgres=False))
            return f"rediss://:{plain.password}@localhost:{port}/0?ssl_ca_certs={made.authority}"

        yield by_tls


def test_expired_database_certificate_is_reported(database: UrlOf) -> None:
    create_readiness_check(database(HOLDS))()
    with pytest.raises(Unavailable) as told:
        create_readiness_check(database(ENDED))()
    assert str(told.value) == "the database does not answer now (its certificate has expired)"


def test_expired_redis_certificate_is_reported(store: UrlOf) -> None:
    with redis.Redis.from_url(store(HOLDS)) as client:
        require_redis(client)
    with redis.Redis.from_url(store(ENDED)) as client, pytest.raises(Unavailable) as told:
        require_redis(client)
    assert str(told.value) == "Redis does not answer: its certificate has expired"


def test_certificate_of_another_authority_is_reported_as_not_accepted(
    database: UrlOf, store: UrlOf, tmp_path: Path
) -> None:
    others = make_certificates(tmp_path).authority
    with pytest.raises(Unavailable, match="its certificate is not accepted"):
        create_readiness_check(f"{database(HOLDS).rpartition('=')[0]}={others}")()
    url = f"{store(HOLDS).rpartition('=')[0]}={others}"
    with redis.Redis.from_url(url) as client, pytest.raises(Unavailable, match="its certificate is not accepted"):
        require_redis(client)


def test_readiness_reports_an_expired_certificate(
    database: UrlOf, store: UrlOf, database_url: str, redis_url: str
) -> None:
    for urls, told in (
        ((database(ENDED), redis_url), "the database does not answer now (its certificate has expired)"),
        ((database_url, store(ENDED)), "Redis does not answer: its certificate has expired"),
    ):
        with build_container(database_url=urls[0], redis_url=urls[1]) as parts, serving(parts) as address:
            assert readiness(address) == (503, told)
