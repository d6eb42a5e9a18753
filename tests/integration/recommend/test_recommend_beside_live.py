"""What is recommended on a capped path while others use it: what they leave, or a fair part, and it says so."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import httpx
import pytest

from benchmarks.api.cases import SOURCE
from services.application.access.authenticate import Scope
from services.bootstrap import build_container
from tests.conditions import eventually
from tests.integration.live_transfers import DESTINATION, ENQUIRY, Transfer, client, learned
from tests.stack import Tenant, serving

__all__ = ["client", "learned"]

CAP = 4


@pytest.fixture
def capped(learned: Tenant, api: str) -> Iterator[None]:
    place = {"scope": "link", "source": SOURCE, "destination": DESTINATION}
    with learned.client(api) as provider:
        provider.put("/v1/limits", json={**place, "streams": CAP}).raise_for_status()
        yield
        provider.put("/v1/limits", json=place).raise_for_status()


@pytest.fixture
def live(capped: None, client: httpx.Client) -> Iterator[Transfer]:
    """A transfer that holds all of the cap."""
    transfer = Transfer(client)
    assert transfer.beat(0, wanted={"concurrency": CAP, "streams": CAP}, chunks=[])["share"]["streams"] == CAP
    yield transfer
    complete(transfer)


def complete(transfer: Transfer) -> None:
    transfer.client.post(f"/v1/transfers/{transfer.id}/complete", json={}).raise_for_status()


def recommended(client: httpx.Client, **asked: Any) -> dict[str, Any]:
    answer = client.post("/v1/recommend", json=ENQUIRY | asked)
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    return told


def streams_of(told: dict[str, Any]) -> int:
    return sum(each["parameters"]["concurrency"] * each["parameters"].get("parallelism", 1) for each in told["chunks"])


SHARED = "shared with 1 live transfer"


def test_fair_part_is_recommended_while_another_transfer_is_live(client: httpx.Client, live: Transfer) -> None:
    beside = eventually(lambda: told if SHARED in (told := recommended(client))["rationale"] else None)
    assert streams_of(beside) <= CAP // 2
    complete(live)
    alone = eventually(lambda: told if SHARED not in (told := recommended(client))["rationale"] else None)
    assert CAP // 2 < streams_of(alone) <= CAP


def test_a_path_without_history_is_recommended_a_fair_part_too(client: httpx.Client, live: Transfer) -> None:
    unseen = {"mover": "somebody's own", "dataset": {"file_count": 500, "total_bytes": 10**9}}
    beside = eventually(lambda: told if SHARED in (told := recommended(client, **unseen))["rationale"] else None)
    assert streams_of(beside) <= CAP // 2


@pytest.mark.usefixtures("live")
def test_entire_cap_is_recommended_while_sessions_are_unreachable(learned: Tenant, database_url: str) -> None:
    with ExitStack() as stack:
        lonely = stack.enter_context(build_container(database_url=database_url, redis_url="redis://127.0.0.1:1"))
        there = stack.enter_context(learned.client(stack.enter_context(serving(lonely)), Scope.AGENT))
        told = recommended(there)
    assert SHARED not in told["rationale"]
    assert streams_of(told) <= CAP
