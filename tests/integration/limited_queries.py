"""An API whose queries have the limits of the test module, ``LIMITS``, and a tenant to ask about."""

from collections.abc import Iterator
from uuid import uuid4

import pytest

from services.bootstrap import Container, Options, build_container
from tests.records import ndjson, record
from tests.stack import Tenant, new_tenant, serving


@pytest.fixture(scope="module")
def parts(request: pytest.FixtureRequest, database_url: str, redis_url: str) -> Iterator[Container]:
    with build_container(
        database_url=database_url, redis_url=redis_url, options=Options(query_limits=request.module.LIMITS)
    ) as built:
        yield built


@pytest.fixture(scope="module")
def api(parts: Container) -> Iterator[str]:
    with serving(parts) as address:
        yield address


@pytest.fixture(scope="module")
def provider(parts: Container, database_url: str, api: str) -> Tenant:
    """A tenant with five transfers."""
    tenant = new_tenant(parts, database_url)
    with tenant.client(api) as client:
        rows = [record(id=str(uuid4())) for _ in range(5)]
        assert client.post("/v1/logs", content=ndjson(rows)).status_code == 201
    return tenant
