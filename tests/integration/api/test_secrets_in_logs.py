"""Secrets that pass through the service stand in no line that it writes, whatever goes wrong with them."""

import json
import re
from uuid import uuid4

import httpx
import psycopg

from services.application.access.authenticate import Scope
from services.bootstrap import build_container
from tests.integration.admin.visitors import PASSWORD, Visitor, person
from tests.integration.written import everything_written
from tests.records import ndjson, record
from tests.stack import Tenant, new_tenant, serving

TYPED = "a-typed-secret-5f2c"
"""Marks what callers send that nobody else is to see: it stands in passwords, in values of queries, in wrong keys."""


def test_no_secret_is_written(database_url: str, admin_database_url: str, redis_url: str) -> None:
    with (
        everything_written() as written,
        build_container(database_url=database_url, redis_url=redis_url) as built,
        serving(built) as api,
    ):
        tenant = new_tenant(built, database_url)
        with tenant.client(api) as client:
            secrets = [tenant.secret, *used(client), *refused(api), *at_pages(api, tenant)]
            secrets += failed(client, admin_database_url)
    told = written()
    assert "batch.stored" in told
    assert "request.failed" in told
    assert "sign_in.refused" in told
    assert [line for line in told.splitlines() if any(secret in line for secret in secrets)] == []


def used(client: httpx.Client) -> list[str]:
    """Secrets of ordinary use: a new key, an analyst's login, values of a query, a hidden field of a row."""
    rows = ndjson([record(), record() | {"source": ""}, record() | {TYPED: 1}])
    client.post("/v1/logs", content=rows, headers={"Idempotency-Key": TYPED}).raise_for_status()
    key = client.post("/v1/keys", json={"name": "one", "scopes": [Scope.AGENT]}).raise_for_status().json()["secret"]
    dsn = json.dumps(client.get("/v1/warehouse/credentials").raise_for_status().json())
    for sql in ("SELECT $1", "SELECT $1::int", "SELECT nothing WHERE a = $1"):
        client.post("/v1/warehouse/query", json={"sql": sql, "parameters": [TYPED]})
    (password,) = re.findall(r"://[^:/]+:([^@]+)@", dsn) or re.findall(r'"password": "([^"]+)"', dsn)
    return [key, password, TYPED]


def refused(api: str) -> list[str]:
    """Keys that are none, wherever a caller may put them by mistake."""
    wrong = f"tw_{TYPED}"
    for headers in (
        {"Authorization": f"Bearer {wrong}"},
        {"Authorization": wrong},
        {"X-Request-ID": f"{wrong} {wrong}"},
    ):
        httpx.get(f"{api}/v1/links", headers=headers)
    httpx.get(f"{api}/v1/links", params={"key": wrong})
    httpx.post(f"{api}/v1/recommend", content=wrong.encode(), headers={"Content-Type": "application/json"})
    return [wrong]


def at_pages(api: str, tenant: Tenant) -> list[str]:
    """Passwords that are right, wrong and new, and the session."""
    someone = person(tenant.parts, tenant)
    with Visitor(base_url=api, timeout=60) as visitor:
        visitor.sign_in(someone, TYPED)
        visitor.sign_in(someone)
        session, token = visitor.cookies["tradewind_session"], visitor.token
        visitor.submit("/admin/account/password", old=TYPED, new=TYPED, again=TYPED)
        visitor.submit("/admin/users", login=f"new-{uuid4()}", roles="analyst")
    return [PASSWORD, session, token, TYPED]


def failed(client: httpx.Client, admin_database_url: str) -> list[str]:
    """What the same calls hold when the database refuses them for a reason that nobody foresaw."""
    tables = ("api_keys", "batches")
    with psycopg.connect(admin_database_url, autocommit=True) as admin:
        for table in tables:
            admin.execute(f"ALTER TABLE {table} ADD CONSTRAINT odd CHECK (false) NOT VALID")
        alone = {"Connection": "close"}  # after a defect the server ends the connection anyway
        created = client.post("/v1/keys", json={"name": TYPED, "scopes": ["agent"]}, headers=alone)
        stored = client.post("/v1/logs", content=ndjson([record()]), headers=alone | {"Idempotency-Key": TYPED})
        for table in tables:
            admin.execute(f"ALTER TABLE {table} DROP CONSTRAINT odd")
    assert 500 in {created.status_code, stored.status_code}
    assert TYPED not in created.text + stored.text
    return [TYPED]
