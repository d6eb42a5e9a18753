"""Heartbeats on their way into the database: stored once, whatever dies between two steps, and told only then."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import psycopg
import pytest
import redis

from services.application.transfers.heartbeat_consumer import HeartbeatConsumer
from services.application.transfers.sessions import TransferKey
from services.application.transfers.stream_consumer import ConsumerRun, StreamEntry
from services.bootstrap import Container, build_container
from services.embedded.valkey import EmbeddedValkey
from services.queue.entry_stream import GROUP, RedisEntryStream
from services.queue.sessions import JOURNAL, format_session_key
from tests.conditions import eventually
from tests.integration.celery_worker import worker
from tests.integration.live_transfers import FILES, Transfer, client, learned, transfer
from tests.records import known
from tests.stack import Tenant
from tradewind.errors import Unavailable

__all__ = ["client", "learned", "transfer"]


@pytest.fixture(scope="module")
def valkey() -> Iterator[EmbeddedValkey]:
    """A store of sessions whose stream has heartbeats of this module alone."""
    with EmbeddedValkey.temporary() as server:
        yield server


@pytest.fixture
def store(redis_url: str) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(redis_url) as opened:
        opened.delete(JOURNAL)
        yield opened


@dataclass
class Journal:
    """A journal as a worker has it, with what it dropped."""

    parts: Container
    store: redis.Redis
    dropped: list[tuple[StreamEntry, str]] = field(default_factory=list)

    def run(self, stream: RedisEntryStream | None = None) -> ConsumerRun:
        handed_over = stream or RedisEntryStream(self.store, left_behind_after_s=0.0)

        def on_dropped(entry: StreamEntry, reason: str) -> None:
            self.dropped.append((entry, reason))

        return HeartbeatConsumer(handed_over, on_dropped, self.parts.store.unit_of_work, self.parts.clock).run()


@pytest.fixture
def journal(parts: Container, store: redis.Redis) -> Journal:
    return Journal(parts, store)


class Died(BaseException):
    """The process is gone at this point."""


class DiesAfterCommit(RedisEntryStream):
    """A taker that dies once the batch is committed and before the entries are acknowledged."""

    def acknowledge(self, entries: Sequence[StreamEntry], journalled: Any) -> None:
        raise Died


def stored(database_url: str, tenant: Tenant, transfer_id: str) -> list[tuple[int, str]]:
    with psycopg.connect(database_url) as connection:
        connection.execute("SELECT set_config('tradewind.tenant', %s, false)", [str(tenant.id)])
        return connection.execute(
            "SELECT sequence, kind FROM transfer_samples WHERE transfer_id = %s ORDER BY sequence", [transfer_id]
        ).fetchall()


def timeline(client: httpx.Client, transfer: Transfer, **asked: Any) -> dict[str, Any]:
    answer = client.get(f"/v1/transfers/{transfer.id}", params=asked)
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    return told


def sequences(told: dict[str, Any]) -> list[int]:
    return [each["sequence"] for each in told["samples"]]


def test_stored_sequence_is_reported_from_the_next_heartbeat_on(transfer: Transfer, journal: Journal) -> None:
    assert [transfer.beat(sequence)["journalled_sequence"] for sequence in range(3)] == [-1, -1, -1]
    assert journal.run() == ConsumerRun(stored=3)
    assert transfer.beat(3)["journalled_sequence"] == 2


def test_samples_that_come_with_an_end_without_records_join_those_of_a_known_transfer(
    transfer: Transfer, journal: Journal, client: httpx.Client
) -> None:
    transfer.beat(0)
    late = {"heartbeats": [{"heartbeat": transfer.body(sequence) | {"enquiry": None}} for sequence in (1, 2)]}
    end = f"/v1/transfers/{transfer.id}/complete"
    assert client.post(end, json=late).json()["heartbeats"] == 0  # no heartbeat has arrived yet
    journal.run()
    assert client.post(end, json=late).json()["heartbeats"] == 2
    told = timeline(client, transfer)
    assert sequences(told) == [0, 1, 2]
    assert told["transfer"]["journalled_sequence"] == 2


def test_samples_and_decisions_are_shown_as_sent_and_answered(
    transfer: Transfer, journal: Journal, client: httpx.Client
) -> None:
    answers = [transfer.beat(sequence, 5e6) for sequence in range(8)]
    journal.run()
    told = timeline(client, transfer)
    assert sequences(told) == list(range(8))
    for sample, answer in zip(told["samples"], answers, strict=True):
        decision = sample["decision"]
        assert (decision["changed"], decision["reason"]) == (answer["changed"], answer["reason"])
        assert [each["parameters"]["concurrency"] for each in decision["chunks"]] == [
            each["parameters"]["concurrency"] for each in answer["chunks"]
        ]
    assert told["samples"][5]["throughput_bps"] == 5e6
    assert told["samples"][5]["rtt_s"] == 0.06
    assert told["transfer"]["state"] == "live"
    assert told["transfer"]["sequence"] == told["transfer"]["journalled_sequence"] == 7
    assert told["transfer"]["bytes_moved"] == transfer.moved
    assert told["enquiry"]["dataset"]["file_count"] == transfer.enquiry["dataset"]["file_count"]


def test_a_batch_that_was_committed_by_a_worker_that_died_is_stored_once(
    transfer: Transfer, journal: Journal, database_url: str, learned: Tenant, store: redis.Redis
) -> None:
    for sequence in range(3):
        transfer.beat(sequence)
    with pytest.raises(Died):
        journal.run(DiesAfterCommit(store))
    assert len(stored(database_url, learned, transfer.id)) == 3
    assert transfer.beat(3)["journalled_sequence"] == -1
    assert journal.run() == ConsumerRun(stored=4)
    assert [sequence for sequence, _ in stored(database_url, learned, transfer.id)] == [0, 1, 2, 3]
    assert transfer.beat(4)["journalled_sequence"] == 3
    assert store.xlen(JOURNAL) == 1  # what was journalled has left the stream


def test_entries_of_a_living_worker_are_left_to_it(transfer: Transfer, journal: Journal, store: redis.Redis) -> None:
    transfer.beat(0)
    assert len(RedisEntryStream(store).take(10)) == 1
    transfer.beat(1)
    assert journal.run(RedisEntryStream(store)) == ConsumerRun(stored=1)
    assert transfer.beat(2)["journalled_sequence"] == -1  # sequence 0 is not stored yet
    assert journal.run() == ConsumerRun(stored=2)
    assert transfer.beat(3)["journalled_sequence"] == 2


def test_entries_that_the_database_could_not_take_are_taken_by_the_next_run(
    transfer: Transfer, journal: Journal, store: redis.Redis, redis_url: str
) -> None:
    transfer.beat(0)
    nowhere = "postgresql://nobody@127.0.0.1:1/none"
    with build_container(database_url=nowhere, redis_url=redis_url) as away, pytest.raises(Unavailable):
        Journal(away, store).run(RedisEntryStream(store))
    assert journal.run(RedisEntryStream(store)) == ConsumerRun(stored=1)


def test_gap_stops_the_journalled_sequence(transfer: Transfer, journal: Journal) -> None:
    for sequence in (0, 1, 4, 5):
        transfer.beat(sequence)
    journal.run()
    assert transfer.beat(6)["journalled_sequence"] == 1


def test_lost_sessions_leave_a_gap_and_reported_samples_stay(
    transfer: Transfer, journal: Journal, store: redis.Redis
) -> None:
    transfer.beat(0)
    transfer.beat(1)
    journal.run()
    transfer.beat(2)
    store.flushall()
    transfer.beat(3)
    assert journal.run() == ConsumerRun(stored=1)
    assert transfer.beat(4)["journalled_sequence"] == 1


def test_no_session_that_has_run_out_is_made_again(
    transfer: Transfer, journal: Journal, store: redis.Redis, learned: Tenant
) -> None:
    transfer.beat(0)
    session = format_session_key(TransferKey(learned.id, UUID(transfer.id)))
    store.delete(session)
    assert journal.run() == ConsumerRun(stored=1)
    assert not store.exists(session)


@pytest.mark.parametrize(("at", "files"), [("2026-11-21T10:00:09Z", 7), ("2026-11-21T09:00:00Z", FILES)], ids=str)
def test_later_sample_of_the_same_sequence_replaces_the_earlier(
    transfer: Transfer, journal: Journal, client: httpx.Client, at: str, files: int
) -> None:
    transfer.beat(0)
    journal.run()
    journal.store.xadd(JOURNAL, entry(transfer, journal, at=at, remaining_files=7))
    journal.run()
    (sample,) = timeline(client, transfer)["samples"]
    assert sample["remaining_files"] == files


def entry(transfer: Transfer, journal: Journal, **changes: Any) -> dict[Any, Any]:
    """An entry as answering puts it there, for a changed heartbeat 0 of the transfer."""
    body = httpx.Request("POST", "http://any", json=transfer.body(0, **changes)).content
    decision = b'{"chunks":[],"changed":false,"reason":"as told","kind":"hold","sla_bank":0.0}'
    told = {"tenant": str(journal_tenant(journal, transfer)), "transfer": transfer.id, "sequence": 0}
    return told | {"heartbeat": body, "decision": decision, "enquiry": encode_request(transfer)}


def encode_request(transfer: Transfer) -> bytes:
    return httpx.Request("POST", "http://any", json=transfer.enquiry).content


def journal_tenant(journal: Journal, transfer: Transfer) -> UUID:
    """Whose transfer it is, as its session's key says."""
    (session,) = journal.store.keys(f"tradewind:session:*:{transfer.id}")
    return UUID(session.decode().split(":")[2])


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"heartbeat": b"{"}, "JSON"),
        ({"heartbeat": b"{}"}, "required"),
        ({"tenant": "nobody"}, "entry"),
        ({"decision": b"[]"}, "entry"),
        ({"tenant": known(1)}, "ForeignKeyViolation"),
    ],
    ids=str,
)
def test_entry_that_cannot_be_stored_is_dropped_with_its_reason_and_blocks_no_other(
    transfer: Transfer, journal: Journal, changes: dict[str, Any], reason: str
) -> None:
    transfer.beat(0)
    journal.store.xadd(JOURNAL, entry(transfer, journal) | changes)
    transfer.beat(1)
    assert journal.run() == ConsumerRun(stored=2, dropped=1)
    assert [reason in told for _, told in journal.dropped] == [True]
    assert journal.store.xlen(JOURNAL) == 0
    assert transfer.beat(2)["journalled_sequence"] == 1


def test_an_entry_without_fields_of_ours_is_dropped(transfer: Transfer, journal: Journal) -> None:
    journal.store.xadd(JOURNAL, {b"\xff": b"\xff"})
    assert journal.run() == ConsumerRun(dropped=1)


def test_unreachable_stream_is_reported(journal: Journal) -> None:
    with redis.Redis.from_url("redis://127.0.0.1:1") as away, pytest.raises(Unavailable):
        journal.run(RedisEntryStream(away))


def test_many_batches_are_stored_in_one_run(journal: Journal, transfer: Transfer, client: httpx.Client) -> None:
    transfer.beat(0)
    told = entry(transfer, journal)
    with journal.store.pipeline() as pipeline:
        for sequence in range(1, 2_500):
            heartbeat = told["heartbeat"].replace(b'"sequence":0', b'"sequence":%d' % sequence)
            pipeline.xadd(JOURNAL, told | {"sequence": sequence, "heartbeat": heartbeat})
        pipeline.execute()
    assert journal.run() == ConsumerRun(stored=2_500)
    assert timeline(client, transfer, limit=0)["transfer"]["journalled_sequence"] == 2_499
    assert sequences(timeline(client, transfer, after=1_000, limit=3)) == [1_001, 1_002, 1_003]


def test_two_takers_share_the_stream(journal: Journal, transfer: Transfer, store: redis.Redis) -> None:
    for sequence in range(4):
        transfer.beat(sequence)
    first, second = (RedisEntryStream(store).take(2) for _ in range(2))
    assert len({each.token for each in (*first, *second)}) == 4
    assert store.xpending(JOURNAL, GROUP)["pending"] == 4


def test_a_worker_journals_by_the_clock(
    transfer: Transfer, database_url: str, redis_url: str, tmp_path: Path, store: redis.Redis, client: httpx.Client
) -> None:
    transfer.beat(0)
    environment = {"DATABASE_URL": database_url, "REDIS_URL": redis_url}
    options = "--concurrency=1", "--beat", f"--schedule={tmp_path / 'schedule'}"
    with worker(environment, tmp_path, *options) as running:
        eventually(lambda: store.xlen(JOURNAL) == 0)
        transfer.beat(1)
        eventually(lambda: len(timeline(client, transfer)["samples"]) == 2)
        eventually(lambda: sum(line["stored"] for line in running.outcomes("heartbeats.journalled")) == 2)
    assert transfer.beat(2)["journalled_sequence"] == 1
