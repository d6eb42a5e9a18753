"""Heartbeats over HTTP, on a release that a real refresh made and sessions in a real store."""

import json
from contextlib import ExitStack
from typing import Any

import httpx
import pytest
import redis
import redis.asyncio

from services.api.middleware import MAX_HEARTBEAT_BYTES
from services.application.access.authenticate import Scope
from services.application.transfers.sessions import SessionLimits
from services.application.transfers.tune import LATE_TICKS, LONGEST_RETRY_S
from services.bootstrap import Container, Options, build_container
from services.queue.sessions import JOURNAL
from tests.integration.live_transfers import (
    Transfer,
    another_process,
    client,
    end_session,
    learned,
    transfer,
)
from tests.integration.transfers.test_transfers_api import complete, completion
from tests.stack import Tenant, new_tenant, serving
from tradewind.wire.heartbeats import MAX_SEQUENCE, HeartbeatAnswer

__all__ = ["client", "learned", "transfer"]


def test_before_the_first_byte_the_recommended_plan_is_granted(transfer: Transfer) -> None:
    told = transfer.beat(0)
    assert told["granted"] is True
    assert told["changed"] is False
    assert told["parameters"] == transfer.recommended["parameters"]
    assert told["next_heartbeat_s"] == 5.0


def test_the_answer_reads_back(transfer: Transfer) -> None:
    assert HeartbeatAnswer.model_validate(transfer.beat(0)).sequence == 0


def test_a_rate_far_below_what_was_learned_changes_the_parameters_and_says_why(transfer: Transfer) -> None:
    told = [transfer.beat(sequence, 5e6) for sequence in range(8)]
    changed = [each for each in told if each["changed"]]
    assert changed
    assert all(each["reason"] for each in changed)


def test_the_same_heartbeat_twice_gets_the_same_answer(transfer: Transfer) -> None:
    transfer.beat(0)
    body = transfer.body(1, 5e6)
    first, second = transfer.send(body).json(), transfer.send(body).json()
    assert first == second


def test_an_older_heartbeat_gets_the_last_answer(transfer: Transfer) -> None:
    transfer.beat(0)
    late = transfer.body(1)
    last = transfer.beat(2)
    assert transfer.send(late).json() == last


def test_a_beginning_that_comes_again_late_begins_nothing(
    transfer: Transfer, database_url: str, redis_url: str, learned: Tenant
) -> None:
    beginning = transfer.body(0)
    transfer.send(beginning).raise_for_status()
    last = [transfer.beat(sequence, 5e6) for sequence in range(1, LATE_TICKS + 4)][-1]
    with another_process(transfer.client, database_url, redis_url) as client:
        for each in (None, client):
            repeated = transfer.send(beginning, each).json()
            assert (repeated["sequence"], repeated["chunks"]) == (last["sequence"], last["chunks"])


def test_sequence_number_far_above_all_others_does_not_lock_its_transfer(
    transfer: Transfer, database_url: str, redis_url: str, learned: Tenant
) -> None:
    transfer.beat(0)
    transfer.beat(MAX_SEQUENCE)
    assert [transfer.beat(sequence)["sequence"] for sequence in (1, 2)] == [1, 2]
    transfer.beat(MAX_SEQUENCE)
    with another_process(transfer.client, database_url, redis_url) as client:
        assert [transfer.beat(sequence, client=client)["sequence"] for sequence in (3, 4)] == [3, 4]


def test_another_process_continues_the_transfer(
    transfer: Transfer, database_url: str, redis_url: str, learned: Tenant
) -> None:
    first = [transfer.beat(sequence, 5e6) for sequence in range(5)][-1]
    with another_process(transfer.client, database_url, redis_url) as client:
        repeated = transfer.send(transfer.body(4, 5e6), client).json()
        told = transfer.beat(5, 5e6, client=client, enquiry=None)
    assert repeated["chunks"] == first["chunks"]
    assert repeated["reason"] == first["reason"]
    assert told["sequence"] == 5


def test_a_session_that_was_lost_is_made_again_from_the_heartbeat(
    transfer: Transfer, database_url: str, redis_url: str, learned: Tenant
) -> None:
    for sequence in range(3):
        transfer.beat(sequence)
    with redis.Redis.from_url(redis_url) as store:
        store.delete(f"tradewind:session:{learned.id}:{transfer.id}")
    with another_process(transfer.client, database_url, redis_url) as client:
        assert transfer.beat(3, client=client)["granted"] is True


def test_unknown_transfer_has_to_send_its_request(transfer: Transfer) -> None:
    answer = transfer.send(transfer.body(4, enquiry=None))
    assert answer.status_code == 409
    assert "enquiry" in answer.json()["detail"]


def test_another_tenants_transfer_is_not_known(
    transfer: Transfer, api: str, parts: Container, database_url: str
) -> None:
    transfer.beat(0)
    stranger = new_tenant(parts, database_url)
    with stranger.client(api, Scope.AGENT) as client:
        assert transfer.send(transfer.body(1, enquiry=None), client).status_code == 409


def test_no_heartbeat_revives_an_ended_transfer(transfer: Transfer, learned: Tenant, redis_url: str) -> None:
    transfer.beat(0)

    end_session(learned, transfer, redis_url)
    answer = transfer.send(transfer.body(1))
    assert answer.status_code == 409
    assert "has ended" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"throughput_bps": -1.0}, "throughput_bps"),
        ({"sequence": -1}, "sequence"),
        ({"sequence": MAX_SEQUENCE + 1}, "sequence"),
        ({"throughput_bps": 1e30}, "throughput_bps"),
        ({"sent_bytes": 10, "retransmitted_bytes": 20}, "retransmitted_bytes"),
        ({"interval_s": 1e12}, "interval_s"),
        ({"at": "yesterday"}, "at"),
        ({"chunks": "none"}, "chunks"),
        ({"surprise": 1}, "surprise"),
    ],
    ids=str,
)
def test_impossible_values_are_refused_by_name(transfer: Transfer, changes: dict[str, Any], field: str) -> None:
    answer = transfer.send(transfer.body(1) | changes)
    assert answer.status_code == 422
    assert field in str(answer.json()["errors"])


def test_a_clock_that_jumps_back_changes_nothing(transfer: Transfer) -> None:
    transfer.beat(0)
    transfer.beat(1)
    assert transfer.beat(2, at="2001-01-01T00:00:00Z")["sequence"] == 2


def test_unreachable_sessions_stop_no_transfer(transfer: Transfer, database_url: str, learned: Tenant) -> None:
    with another_process(transfer.client, database_url, "redis://127.0.0.1:1") as client:
        told = [transfer.beat(sequence, 5e6, client=client) for sequence in range(8)]
    assert all(each["granted"] for each in told)
    assert any(each["changed"] for each in told)
    assert all(each["journalled_sequence"] == -1 for each in told)


def test_a_heartbeat_of_more_bytes_than_one_can_have_is_refused(transfer: Transfer) -> None:
    body = json.dumps(transfer.body(0)) + " " * MAX_HEARTBEAT_BYTES
    answer = transfer.client.post(f"/v1/transfers/{transfer.id}/heartbeats", content=body)
    assert answer.status_code == 413


def test_a_padded_heartbeat_takes_no_more_room_than_what_it_says(
    transfer: Transfer, client: httpx.Client, learned: Tenant, redis_url: str
) -> None:
    plain, padded = transfer, Transfer(client)
    plain.beat(0)
    told = json.dumps(padded.body(0), ensure_ascii=True).replace("0.06", "0.06" + "0" * 2_000).encode()
    body = told + b" " * (MAX_HEARTBEAT_BYTES - len(told))
    sent = {"content": body, "headers": {"Content-Type": "application/json"}}
    client.post(f"/v1/transfers/{padded.id}/heartbeats", **sent).raise_for_status()
    with redis.Redis.from_url(redis_url) as store:
        sizes = [
            sum(len(value) for value in store.hgetall(f"tradewind:session:{learned.id}:{each.id}").values())
            for each in (plain, padded)
        ]
        last = store.xrevrange(JOURNAL, count=1)[0][1]
    assert sizes[1] <= sizes[0]
    assert len(last[b"heartbeat"]) < len(told)


def test_a_heartbeat_of_long_names_and_many_bins_is_refused_beyond_its_bound(
    client: httpx.Client,
) -> None:
    bins = [{"max_file_bytes": 10**18 + number, "file_count": 10**15, "total_bytes": 10**15} for number in range(64)]
    dataset = {"file_count": 64 * 10**15, "total_bytes": 64 * 10**15, "size_histogram": bins}
    names = dict.fromkeys(("source", "destination", "network"), "📦" * 200)
    long = Transfer(client, dataset=dataset, **names)
    refused = long.send(long.body(0))
    assert (refused.status_code, "enquiry" in refused.json()["detail"]) == (413, True)


def test_live_transfer_beyond_the_maximum_learns_when_to_retry(
    client: httpx.Client, database_url: str, redis_url: str
) -> None:
    options = Options(session_limits=SessionLimits(1, 1_000))
    with ExitStack() as stack:
        few = stack.enter_context(build_container(database_url=database_url, redis_url=redis_url, options=options))
        client.base_url = httpx.URL(stack.enter_context(serving(few)))
        first, second = Transfer(client), Transfer(client)
        first.beat(0)
        refused = second.send(second.body(0))
        assert refused.status_code == 429
        assert refused.headers["Content-Type"] == "application/problem+json"
        assert 0 < int(refused.headers["Retry-After"]) <= LONGEST_RETRY_S
        assert first.beat(1)["sequence"] == 1
        complete(client, first.id, completion(first.id))
        assert second.beat(0)["granted"] is True
