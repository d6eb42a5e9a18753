"""Bodies of uploads that are put aside: how much at once, and what becomes of one for which there is no room."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from services import spools
from services.application.access.authenticate import Scope
from services.bootstrap import build_container
from services.spools import HELD_IN_MEMORY_BYTES, Spools
from tests.conditions import eventually
from tests.records import ndjson, record
from tests.stack import new_tenant, serving

LARGE = ndjson([record(0)]) + b" " * (8 * HELD_IN_MEMORY_BYTES)


@pytest.fixture
def room() -> Spools:
    """For one large body of a key."""
    return Spools(most_bytes=18 * HELD_IN_MEMORY_BYTES)


@pytest.fixture
def agent(room: Spools, database_url: str, redis_url: str) -> Iterator[httpx.Client]:
    with (
        build_container(database_url=database_url, redis_url=redis_url) as parts,
        serving(replace(parts, spools=room)) as address,
        new_tenant(parts, database_url).client(address, Scope.AGENT) as agent,
    ):
        yield agent


def test_uploads_for_which_there_is_no_room_now_come_again(agent: httpx.Client, room: Spools) -> None:
    go_on = threading.Event()
    answers: list[httpx.Response] = []

    def slowly() -> Iterator[bytes]:
        yield LARGE
        assert go_on.wait(60)

    first = threading.Thread(target=lambda: answers.append(agent.post("/v1/logs", content=slowly())))
    first.start()
    eventually(lambda: room.free_bytes < 12 * HELD_IN_MEMORY_BYTES)
    refused = agent.post("/v1/logs", content=LARGE)
    assert (refused.status_code, refused.json()["detail"]) == (
        503,
        "too much is being uploaded at once; send it again",
    )
    assert int(refused.headers["Retry-After"]) > 0
    assert agent.post("/v1/logs", content=ndjson([record(1)])).status_code == 201, "a small one needs no room"
    go_on.set()
    first.join()
    assert answers[0].status_code == 201
    assert agent.post("/v1/logs", content=LARGE).is_success, "what was put aside is gone"


def test_full_disk_is_reported_and_nothing_is_stored(agent: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a device that is always full, in place of a file."""

    def full(_: object) -> object:
        return Path("/dev/full").open("r+b", buffering=0)

    monkeypatch.setattr(spools.tempfile, "SpooledTemporaryFile", full)
    answer = agent.post("/v1/logs", content=LARGE)
    told = "there is no room to put the upload aside; send it again later"
    assert (answer.status_code, answer.json()["detail"]) == (503, told)
    monkeypatch.undo()
    assert agent.post("/v1/logs", content=LARGE).status_code == 201
