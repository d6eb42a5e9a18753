"""Who may end a transfer, and what of its end is believed: statements and gains rest on it."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest

from services.application.access.authenticate import Scope, make_secret
from services.application.access.keys import create_key, revoke_key
from services.bootstrap import Container, build_container
from tests.integration.live_transfers import Transfer, client, learned, transfer
from tests.integration.transfers.test_journal import timeline
from tests.integration.transfers.test_transfers_api import complete, completion
from tests.records import ndjson
from tests.stack import Tenant, serving
from tradewind.wire.inventory import NewKey

__all__ = ["client", "learned", "transfer"]


@pytest.fixture
def other(api: str, learned: Tenant) -> Iterator[httpx.Client]:
    with learned.client(api, Scope.AGENT) as opened:
        yield opened


def faster(told: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """The same completion with the record of a better transfer under the same id."""
    better = told["records"][0]
    return {"records": [better | {"outcome": better["outcome"] | {"throughput_bps": 800e6}} | changes]}


def test_only_the_first_end_of_a_transfer_counts(transfer: Transfer, client: httpx.Client) -> None:
    told = completion(transfer.id)
    first = complete(client, transfer.id, told)
    as_told = timeline(client, transfer)["transfer"]
    for again in (faster(told), faster(told, id=str(uuid4())), {"records": [], "status": "failed"}):
        assert complete(client, transfer.id, again)["ended_at"] == first["ended_at"]
        assert timeline(client, transfer)["transfer"] == as_told


def test_end_that_contradicts_the_stored_row_brings_no_metrics(transfer: Transfer, client: httpx.Client) -> None:
    told = completion(transfer.id)
    client.post("/v1/logs", content=ndjson(told["records"])).raise_for_status()
    assert complete(client, transfer.id, faster(told))["accepted"] == 0
    assert timeline(client, transfer)["transfer"]["state"] == "ended"
    assert timeline(client, transfer)["transfer"]["throughput_bps"] is None
    complete(client, transfer.id, told)
    assert timeline(client, transfer)["transfer"]["throughput_bps"] == told["records"][0]["outcome"]["throughput_bps"]


def test_another_key_does_not_end_a_transfer(transfer: Transfer, client: httpx.Client, other: httpx.Client) -> None:
    complete(client, transfer.id, completion(transfer.id))
    for told in (completion(transfer.id), {"records": []}):
        refused = other.post(f"/v1/transfers/{transfer.id}/complete", json=told)
        assert (refused.status_code, "another key" in refused.json()["detail"]) == (409, True)


def test_another_key_does_not_end_a_transfer_that_is_not_journalled_yet(
    transfer: Transfer, client: httpx.Client, other: httpx.Client
) -> None:
    transfer.beat(0)
    for told in (completion(transfer.id), {"records": []}):
        refused = other.post(f"/v1/transfers/{transfer.id}/complete", json=told)
        assert (refused.status_code, "another key" in refused.json()["detail"]) == (409, True)
    transfer.beat(1)
    complete(client, transfer.id, completion(transfer.id))
    assert timeline(client, transfer)["transfer"]["status"] == "succeeded"


def test_a_heartbeat_of_another_key_is_refused_by_a_process_that_does_not_know_the_transfer(
    transfer: Transfer, client: httpx.Client, other: httpx.Client, database_url: str, redis_url: str
) -> None:
    transfer.beat(0)
    elsewhere = build_container(database_url=database_url, redis_url=redis_url)
    with elsewhere as unknowing, serving(unknowing) as second:  # a process that does not know the transfer
        other.base_url = httpx.URL(second)
        for sequence in (0, 1):
            assert transfer.send(transfer.body(sequence), client=other).status_code == 409
        assert other.post(f"/v1/transfers/{transfer.id}/complete", json={"records": []}).status_code == 409
    complete(client, transfer.id, completion(transfer.id))


def test_new_key_of_the_same_name_ends_transfers_of_a_revoked_one(
    api: str, other: httpx.Client, learned: Tenant, parts: Container
) -> None:
    with parts.store.unit_of_work(learned.id) as uow:
        old = create_key(NewKey(name="old", scopes=(Scope.AGENT,)), make_secret(), uow=uow, clock=parts.clock)
    with httpx.Client(base_url=api, headers={"Authorization": f"Bearer {old.secret}"}) as before:
        begun = Transfer(before)
        cancelled = complete(before, begun.id, {"heartbeats": [{"heartbeat": begun.body(0)}]})
    with parts.store.unit_of_work(learned.id) as uow:
        revoke_key(UUID(str(old.id)), uow=uow, clock=parts.clock)
    with parts.store.unit_of_work(learned.id) as uow:
        new = create_key(NewKey(name="old", scopes=(Scope.AGENT,)), make_secret(), uow=uow, clock=parts.clock)
    refused = other.post(f"/v1/transfers/{begun.id}/complete", json=completion(begun.id))
    assert (refused.status_code, "of the same name" in refused.json()["detail"]) == (409, True)
    with httpx.Client(base_url=api, headers={"Authorization": f"Bearer {new.secret}"}) as after:
        assert complete(after, begun.id, completion(begun.id))["ended_at"] == cancelled["ended_at"]
        assert timeline(after, begun)["transfer"]["status"] == "succeeded"
