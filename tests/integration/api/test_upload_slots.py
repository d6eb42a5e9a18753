"""What is stored takes turns; where none comes free in time, agents are told to come again and have lost nothing."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from uuid import uuid4

import psycopg
import pytest

from services.application.access.authenticate import Scope
from services.application.shared.slots import Slots
from services.bootstrap import build_container
from tests.records import ndjson, record
from tests.stack import Tenant, serving


def upload() -> tuple[str, bytes]:
    return "/v1/logs", ndjson([record(0)])


def end() -> tuple[str, bytes]:
    transfer_id = uuid4()
    row = record(0) | {"transfer_id": str(transfer_id), "chunk": "whole"}
    return f"/v1/transfers/{transfer_id}/complete", b'{"records":[%b]}' % ndjson([row]).strip()


@pytest.fixture(scope="module")
def api(database_url: str, redis_url: str) -> Iterator[str]:
    """Of a process that stores one thing at a time."""
    one = Slots("rows", at_once=1, patience_s=0.5)
    with (
        build_container(database_url=database_url, redis_url=redis_url) as parts,
        serving(replace(parts, completion_slots=one, upload_slots=one)) as address,
    ):
        yield address


@pytest.mark.parametrize("request_of", [upload, end])
def test_one_that_is_being_stored_keeps_its_turn(
    request_of: Callable[[], tuple[str, bytes]], api: str, tenant: Tenant, admin_database_url: str
) -> None:
    def sent(_: int) -> int:
        path, body = request_of()
        headers = {"Content-Type": "application/x-ndjson" if path == "/v1/logs" else "application/json"}
        answer = client.post(path, content=body, headers=headers)
        if answer.status_code == 503:
            assert answer.headers["Retry-After"]
            assert answer.json()["detail"] == "rows come faster than they are stored; send it again"
            locking.rollback()
        return answer.status_code

    with (
        tenant.client(api, Scope.AGENT) as client,
        psycopg.connect(admin_database_url) as locking,
        ThreadPoolExecutor() as senders,
    ):
        locking.execute("LOCK TABLE transfer_logs IN ACCESS EXCLUSIVE MODE")
        assert sorted(senders.map(sent, range(2))) in ([200, 503], [201, 503])
