"""The fair split of a cap by the weights of the keys that its transfers come with."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any
from uuid import uuid4

import httpx
import pytest

from benchmarks.api.cases import SOURCE
from tests.integration.live_transfers import DESTINATION, Transfer, client, learned
from tests.stack import Tenant

__all__ = ["client", "learned"]

CAP = 8


class Weighted:
    """A transfer that wants all of the cap, under a key of its own."""

    def __init__(self, client: httpx.Client, key_id: str) -> None:
        self.key_id = key_id
        self.transfer = Transfer(client)
        self.sequence, self.holds = 0, 0

    def beat(self, *, throughput_bps: float = 80e6, uses: int | None = None) -> None:
        """Report that what was granted is in use, or that more is, and take what is granted now."""
        wanted = {"concurrency": CAP, "streams": CAP}
        parameters = {"concurrency": uses or self.holds or 1}
        body = self.transfer.body(self.sequence, throughput_bps, wanted=wanted, chunks=[], parameters=parameters)
        answer = self.transfer.send(body)
        answer.raise_for_status()
        answered = answer.json()
        self.sequence += answered["granted"] or self.sequence > 0  # only the first waits for its share
        self.holds = answered["share"]["concurrency"]

    def end(self) -> None:
        self.transfer.client.post(f"/v1/transfers/{self.transfer.id}/complete", json={})


@pytest.fixture
def operator(learned: Tenant, api: str) -> Iterator[httpx.Client]:
    place = {"scope": "link", "source": SOURCE, "destination": DESTINATION}
    with learned.client(api) as opened:
        opened.put("/v1/limits", json={**place, "concurrency": CAP}).raise_for_status()
        yield opened
        opened.put("/v1/limits", json=place).raise_for_status()


@pytest.fixture
def weighted(operator: httpx.Client, api: str) -> Iterator[Any]:
    """Makes a transfer under a key of the weight given, which ends with the test."""
    with ExitStack() as stack:

        def make(weight: float) -> Weighted:
            new = {"name": f"weight {weight} {uuid4()}", "scopes": ["agent"], "weight": weight}
            created = operator.post("/v1/keys", json=new)
            assert created.status_code == 201, created.text
            headers = {"Authorization": f"Bearer {created.json()['secret']}"}
            agent = stack.enter_context(httpx.Client(base_url=api, headers=headers, timeout=60))
            made = Weighted(agent, created.json()["id"])
            stack.callback(agent.post, f"/v1/transfers/{made.transfer.id}/complete", json={})
            return made

        yield make


def settled(*transfers: Weighted) -> tuple[int, ...]:
    """Shares after three rounds, in each of which no more than the cap is held."""
    for _ in range(3):
        for each in transfers:
            each.beat()
            assert sum(other.holds for other in transfers) <= CAP
    return tuple(each.holds for each in transfers)


def test_a_transfer_of_weight_three_gets_three_times_as_much_as_one_of_weight_one(weighted: Any) -> None:
    assert settled(weighted(1), weighted(3)) == (2, 6)


def test_a_weight_changed_meanwhile_holds_from_the_next_heartbeat_on(weighted: Any, operator: httpx.Client) -> None:
    light, heavy = weighted(1), weighted(3)
    settled(light, heavy)
    changed = operator.patch(f"/v1/keys/{light.key_id}", json={"weight": 3})
    assert (changed.status_code, changed.json()["weight"]) == (200, 3)
    assert settled(light, heavy) == (4, 4)


def test_many_transfers_of_one_key_leave_another_key_its_part(weighted: Any, operator: httpx.Client) -> None:
    many, one = weighted(1), weighted(1)
    crowd = [many, *(Weighted(many.transfer.client, many.key_id) for _ in range(6))]
    try:
        settled(*crowd, one)  # whoever holds all of it gives it back by its next heartbeats
        shares = settled(*crowd, one)
    finally:
        for each in crowd:
            each.end()
    assert shares[-1] == CAP // 2
    assert sum(shares[:-1]) <= CAP - CAP // 2


def test_transfers_that_move_nothing_leave_their_share_to_those_that_run(weighted: Any) -> None:
    idle, running = weighted(1), weighted(1)
    idle.beat()
    assert idle.holds == CAP
    for _ in range(5):
        running.beat()
        idle.beat(throughput_bps=0.0)
    running.beat()
    assert (idle.holds, running.holds) == (1, CAP - 1)


def test_transfer_that_moves_nothing_has_its_share_while_nobody_else_wants_it(weighted: Any) -> None:
    idle = weighted(1)
    for _ in range(5):
        idle.beat(throughput_bps=0.0)
    assert idle.holds == CAP


def test_transfer_that_reports_to_use_more_than_its_share_keeps_nobody_out(weighted: Any) -> None:
    greedy, modest = weighted(1), weighted(1)
    greedy.beat()
    for _ in range(4):
        modest.beat()
        greedy.beat(uses=100 * CAP)
    modest.beat()
    assert modest.holds == CAP // 2


def test_weight_of_a_key_defaults_to_one(operator: httpx.Client) -> None:
    created = operator.post("/v1/keys", json={"name": "usual", "scopes": ["agent"]}).json()
    assert created["weight"] == 1
    assert {each["id"]: each["weight"] for each in operator.get("/v1/keys").json()}[created["id"]] == 1


@pytest.mark.parametrize("weight", [0, -1, 1e9, "heavy", None])
def test_an_impossible_weight_is_refused_by_name(operator: httpx.Client, weight: object) -> None:
    key_id = operator.get("/v1/keys").json()[0]["id"]
    for answer in (
        operator.patch(f"/v1/keys/{key_id}", json={"weight": weight}),
        operator.post("/v1/keys", json={"name": "odd", "scopes": ["agent"], "weight": weight}),
    ):
        assert answer.status_code == 422
        assert "weight" in str(answer.json()["errors"])


def test_no_key_of_another_tenant_is_weighed(operator: httpx.Client, tenant: Tenant, api: str) -> None:
    with tenant.client(api) as stranger:
        theirs = stranger.get("/v1/keys").json()[0]["id"]
    assert operator.patch(f"/v1/keys/{theirs}", json={"weight": 2}).status_code == 404
