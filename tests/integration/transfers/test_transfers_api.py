"""Transfers over HTTP: how they end, and how live and past ones are listed and shown."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest
import redis

from services.application.access.authenticate import Scope
from services.bootstrap import Container
from services.queue.sessions import JOURNAL
from tests.integration.live_transfers import Transfer, another_process, client, learned, transfer
from tests.integration.transfers.test_journal import Journal, sequences, timeline
from tests.records import record
from tests.stack import Tenant, new_tenant

__all__ = ["client", "learned", "transfer"]

START = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def journal(parts: Container, redis_url: str) -> Iterator[Journal]:
    with redis.Redis.from_url(redis_url) as store:
        store.delete(JOURNAL)
        yield Journal(parts, store)


@pytest.fixture
def alone(api: str, parts: Container, database_url: str) -> Iterator[httpx.Client]:
    """The client of a tenant without any transfer yet."""
    with new_tenant(parts, database_url).client(api) as opened:
        yield opened


def completion(transfer_id: str, *heartbeats: dict[str, Any], **changes: Any) -> dict[str, Any]:
    whole = record(transfer_id=transfer_id, chunk="whole", **changes)
    return {"records": [whole], "heartbeats": [{"heartbeat": each} for each in heartbeats]}


def complete(client: httpx.Client, transfer_id: str, told: dict[str, Any]) -> dict[str, Any]:
    answer = client.post(f"/v1/transfers/{transfer_id}/complete", json=told)
    assert answer.status_code == 200, answer.text
    receipt: dict[str, Any] = answer.json()
    return receipt


def rows(parts: Container, tenant: Tenant, table: str, transfer_id: str) -> int:
    with parts.store.unit_of_work(tenant.id) as uow:
        counted: int = uow.connection.exec_driver_sql(
            f"SELECT count(*) FROM {table} WHERE transfer_id = %s",
            (transfer_id,),
        ).scalar_one()
    return counted


def test_a_completion_stores_records_and_late_heartbeats_and_ends_the_transfer(
    transfer: Transfer, client: httpx.Client, parts: Container, learned: Tenant
) -> None:
    transfer.beat(0)
    receipt = complete(client, transfer.id, completion(transfer.id, transfer.body(1), transfer.body(2)))
    assert (receipt["accepted"], receipt["rejected"], receipt["heartbeats"]) == (1, 0, 2)
    assert rows(parts, learned, "transfer_logs", transfer.id) == 1
    told = timeline(client, transfer)
    assert told["transfer"]["state"] == "ended"
    assert told["transfer"]["status"] == "succeeded"
    assert told["transfer"]["bytes_moved"] == 1_000_000_000
    assert told["transfer"]["ended_at"] == receipt["ended_at"]
    assert transfer.send(transfer.body(3)).status_code == 409


def test_the_same_completion_twice_stores_nothing_twice(
    transfer: Transfer, client: httpx.Client, parts: Container, learned: Tenant
) -> None:
    told = completion(transfer.id, transfer.body(0), transfer.body(1))
    first, second = (complete(client, transfer.id, told) for _ in range(2))
    assert (first["accepted"], first["heartbeats"]) == (1, 2)
    assert (second["accepted"], second["heartbeats"], second["ended_at"]) == (1, 0, first["ended_at"])
    assert rows(parts, learned, "transfer_logs", transfer.id) == 1
    assert rows(parts, learned, "transfer_samples", transfer.id) == 2


def test_the_journal_and_a_completion_store_a_heartbeat_once_whichever_comes_first(
    transfer: Transfer, client: httpx.Client, journal: Journal
) -> None:
    bodies = [transfer.body(sequence) for sequence in range(4)]
    for body in bodies[:2]:
        assert transfer.send(body).status_code == 200
    journal.run()
    for body in bodies[2:3]:
        assert transfer.send(body).status_code == 200
    assert complete(client, transfer.id, completion(transfer.id, *bodies))["heartbeats"] == 2
    journal.run()
    told = timeline(client, transfer)
    assert sequences(told) == [0, 1, 2, 3]
    assert told["transfer"]["state"] == "ended"
    assert told["transfer"]["journalled_sequence"] == 3
    assert told["transfer"]["bytes_moved"] == 1_000_000_000


def test_a_transfer_that_no_heartbeat_announced_is_completed_too(client: httpx.Client, transfer: Transfer) -> None:
    complete(client, transfer.id, completion(transfer.id))
    told = timeline(client, transfer)
    assert (told["transfer"]["source"], told["transfer"]["sequence"], told["samples"]) == ("alpha", -1, [])
    assert told["transfer"]["started_at"] == "2026-03-01T00:00:00Z"


def test_a_completion_needs_no_store_of_sessions(transfer: Transfer, database_url: str, client: httpx.Client) -> None:
    with another_process(client, database_url, "redis://127.0.0.1:1") as there:
        complete(there, transfer.id, completion(transfer.id, transfer.body(0)))
    assert sequences(timeline(client, transfer)) == [0]


def test_the_share_of_a_completed_transfer_is_free_at_once(
    client: httpx.Client, learned: Tenant, api: str, transfer: Transfer
) -> None:
    with learned.client(api) as provider:
        provider.put("/v1/limits", json={"scope": "tenant", "concurrency": 1}).raise_for_status()
        transfer.beat(0)
        second = Transfer(client)
        assert second.beat(0)["granted"] is False
        complete(client, transfer.id, completion(transfer.id))
        assert second.beat(0)["granted"] is True
        provider.put("/v1/limits", json={"scope": "tenant"}).raise_for_status()


def test_a_transfer_with_nothing_to_log_ends(transfer: Transfer, client: httpx.Client) -> None:
    unknown = complete(client, str(uuid4()), {"records": []})
    assert (unknown["accepted"], unknown["heartbeats"]) == (0, 0)
    transfer.beat(0)
    receipt = complete(client, transfer.id, {"heartbeats": [{"heartbeat": transfer.body(0)}]})
    assert receipt["heartbeats"] == 1
    told = timeline(client, transfer)
    assert (told["transfer"]["state"], told["transfer"]["status"]) == ("ended", "cancelled")
    assert transfer.send(transfer.body(1)).status_code == 409


def test_an_end_with_nothing_to_log_does_not_undo_another(transfer: Transfer, client: httpx.Client) -> None:
    first = complete(client, transfer.id, completion(transfer.id, transfer.body(0)))
    assert complete(client, transfer.id, {})["ended_at"] == first["ended_at"]
    assert timeline(client, transfer)["transfer"]["status"] == "succeeded"


def test_a_completion_that_is_no_json_by_its_type_is_refused(transfer: Transfer, client: httpx.Client) -> None:
    answer = client.post(f"/v1/transfers/{transfer.id}/complete", content=b"{}", headers={"Content-Type": "text/plain"})
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "body")


def test_a_record_of_another_transfer_is_refused_by_name(transfer: Transfer, client: httpx.Client) -> None:
    for other in (str(uuid4()), None):
        told = completion(transfer.id)
        told["records"][0]["transfer_id"] = other
        answer = client.post(f"/v1/transfers/{transfer.id}/complete", json=told)
        assert answer.status_code == 422
        assert answer.json()["errors"][0]["field"] == "records.0.transfer_id"
    assert client.get(f"/v1/transfers/{transfer.id}").status_code == 404


def test_a_record_that_cannot_be_goes_to_the_quarantine_and_the_transfer_ends(
    transfer: Transfer, client: httpx.Client, parts: Container, learned: Tenant
) -> None:
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    receipt = complete(client, transfer.id, completion(transfer.id, transfer.body(0), ended_at=tomorrow))
    assert (receipt["accepted"], receipt["rejected"], receipt["heartbeats"]) == (0, 1, 1)
    assert timeline(client, transfer)["transfer"]["state"] == "ended"
    with parts.store.unit_of_work(learned.id) as uow:
        fields = uow.connection.exec_driver_sql("SELECT field FROM log_quarantine").scalars().all()
    assert "ended_at" in fields


def test_heartbeats_that_no_transfer_can_have_are_left_out(transfer: Transfer, client: httpx.Client) -> None:
    told = completion(transfer.id, transfer.body(0), transfer.body(1) | {"throughput_bps": 1e30})
    assert complete(client, transfer.id, told)["heartbeats"] == 1


def test_a_completion_of_many_hours_is_taken_in_one_piece(transfer: Transfer, client: httpx.Client) -> None:
    late = [transfer.body(0) | {"sequence": sequence} for sequence in range(2_000)]
    assert complete(client, transfer.id, completion(transfer.id, *late))["heartbeats"] == 2_000
    assert timeline(client, transfer, limit=1)["transfer"]["journalled_sequence"] == 1_999


def test_a_failed_transfer_says_so(transfer: Transfer, client: httpx.Client) -> None:
    failed = record()["outcome"] | {"status": "failed", "files_failed": 3, "files_done": 7}
    complete(client, transfer.id, completion(transfer.id, outcome=failed))
    assert timeline(client, transfer)["transfer"]["status"] == "failed"


def test_only_agents_end_transfers_and_every_key_sees_them(
    transfer: Transfer, client: httpx.Client, learned: Tenant, api: str
) -> None:
    complete(client, transfer.id, completion(transfer.id))
    with learned.client(api, Scope.ANALYST) as analyst:
        refused = analyst.post(f"/v1/transfers/{transfer.id}/complete", json=completion(transfer.id))
        assert refused.status_code == 403
        assert analyst.get(f"/v1/transfers/{transfer.id}").status_code == 200


def test_a_transfer_is_there_from_its_first_heartbeat_on(
    transfer: Transfer, client: httpx.Client, alone: httpx.Client, journal: Journal
) -> None:
    transfer.beat(0)
    at_once = timeline(client, transfer)
    assert (at_once["transfer"]["state"], at_once["transfer"]["sequence"], at_once["samples"]) == ("live", 0, [])
    assert alone.get(f"/v1/transfers/{transfer.id}").status_code == 404
    journal.run()
    stored = timeline(client, transfer)
    assert sequences(stored) == [0]
    same = stored["transfer"].keys() - {"started_at", "last_heartbeat_at", "journalled_sequence"}
    assert {name: at_once["transfer"][name] for name in same} == {name: stored["transfer"][name] for name in same}
    assert (at_once["enquiry"], at_once["expected"]) == (stored["enquiry"], stored["expected"])


def test_another_tenants_transfer_is_not_there(transfer: Transfer, client: httpx.Client, alone: httpx.Client) -> None:
    complete(client, transfer.id, completion(transfer.id, transfer.body(0)))
    assert alone.get(f"/v1/transfers/{transfer.id}").status_code == 404
    assert alone.get("/v1/transfers").json() == []
    complete(alone, transfer.id, completion(transfer.id, transfer.body(5)))  # the other's, of the same number
    assert sequences(timeline(client, transfer)) == [0]


def test_transfers_are_listed_page_by_page_the_newest_first(alone: httpx.Client) -> None:
    ids = [str(uuid4()) for _ in range(5)]
    for minute, transfer_id in enumerate(ids):
        complete(alone, transfer_id, completion(transfer_id, **record(minute, id=None)))
    pages: list[str] = []
    while found := alone.get("/v1/transfers", params={"limit": 2} | ({"before": pages[-1]} if pages else {})).json():
        pages += [each["transfer_id"] for each in found]
    assert pages == ids[::-1]


def test_transfers_of_one_moment_are_each_on_one_page(alone: httpx.Client) -> None:
    ids = {str(uuid4()) for _ in range(5)}
    for transfer_id in ids:
        complete(alone, transfer_id, completion(transfer_id))
    first = [each["transfer_id"] for each in alone.get("/v1/transfers", params={"limit": 3}).json()]
    rest = [each["transfer_id"] for each in alone.get("/v1/transfers", params={"before": first[-1]}).json()]
    assert (len(first), len(rest), {*first, *rest}) == (3, 2, ids)


def test_transfers_are_chosen_by_their_ends(alone: httpx.Client) -> None:
    for source, destination in (("a", "b"), ("a", "c"), ("d", "c")):
        transfer_id = str(uuid4())
        complete(alone, transfer_id, completion(transfer_id, source=source, destination=destination))

    def found(**asked: str) -> list[tuple[str, str]]:
        return sorted((each["source"], each["destination"]) for each in alone.get("/v1/transfers", params=asked).json())

    assert found(source="a") == [("a", "b"), ("a", "c")]
    assert found(destination="c") == [("a", "c"), ("d", "c")]
    assert found(source="a", destination="c") == [("a", "c")]
    assert found(source="nowhere") == []


def test_live_silent_and_ended_transfers_are_distinguished(
    client: httpx.Client, journal: Journal, admin_database_url: str
) -> None:
    live, silent, ended = (Transfer(client) for _ in range(3))
    for each in (live, silent, ended):
        each.beat(0)
    journal.run()
    complete(client, ended.id, completion(ended.id))
    with psycopg.connect(admin_database_url) as admin:
        admin.execute(
            "UPDATE transfers SET silent_at = silent_at - interval '1 minute' WHERE id = %s",
            [silent.id],
        )
    ours = {live.id, silent.id, ended.id}
    for state, expected in (("live", live), ("silent", silent), ("ended", ended)):
        found = client.get("/v1/transfers", params={"state": state, "limit": 200}).json()
        assert {each["state"] for each in found} == {state}
        assert ours & {each["transfer_id"] for each in found} == {expected.id}
        assert timeline(client, expected)["transfer"]["state"] == state


def test_a_transfer_with_long_ticks_is_silent_only_after_several_of_them(
    client: httpx.Client, journal: Journal, admin_database_url: str
) -> None:
    slow, quick = Transfer(client), Transfer(client)
    slow.beat(1, interval_s=60.0)
    quick.beat(1)
    journal.run()
    with psycopg.connect(admin_database_url) as admin:
        admin.execute(
            "UPDATE transfers SET silent_at = silent_at - interval '1 minute' WHERE id = ANY(%s::uuid[])",
            [[slow.id, quick.id]],
        )
    assert [timeline(client, each)["transfer"]["state"] for each in (slow, quick)] == ["live", "silent"]


def test_long_ticks_of_the_past_keep_no_transfer_live(
    client: httpx.Client, journal: Journal, admin_database_url: str
) -> None:
    hurried = Transfer(client)
    for sequence, interval_s in ((1, 60.0), (2, 5.0)):
        hurried.beat(sequence, interval_s=interval_s)
        journal.run()
    with psycopg.connect(admin_database_url) as admin:
        admin.execute("UPDATE transfers SET silent_at = silent_at - interval '1 minute' WHERE id = %s", [hurried.id])
    assert timeline(client, hurried)["transfer"]["state"] == "silent"


@pytest.mark.parametrize(
    "asked", [{"state": "asleep"}, {"limit": 0}, {"limit": 201}, {"before": "x"}, {"source": ""}], ids=str
)
def test_impossible_filters_are_refused(client: httpx.Client, asked: dict[str, Any]) -> None:
    assert client.get("/v1/transfers", params=asked).status_code == 422
