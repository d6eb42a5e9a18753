"""Quotes on their way into the database: off the answer's path, stored once, and what is lost with Redis is no bill."""

import asyncio
import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4

import httpx
import psycopg
import pytest
import redis
import redis.asyncio

from services.application.access.authenticate import Scope
from services.application.billing.quote_consumer import StoredQuote
from services.application.transfers.sessions import TransferKey
from services.application.transfers.stream_consumer import ConsumerRun
from services.bootstrap import Container
from services.queue import quote_recorder
from services.queue.quote_recorder import KEYS_REMEMBERED_S, QUOTES, QuoteRecorder
from tests.conditions import eventually
from tests.integration.billing.quotes import PRICE, journalled, logged, publish_book, quoted, statement, store, valkey
from tests.integration.live_transfers import learned
from tests.stack import Tenant
from tradewind.sla.kinds import EnergyBasis, SlaKind
from tradewind.sla.pricing import PriceModel, compute_amount

__all__ = ["learned", "store", "valkey"]


@pytest.fixture
def provider(api: str, learned: Tenant) -> Iterator[httpx.Client]:
    with learned.client(api, Scope.PROVIDER, Scope.AGENT) as opened:
        yield opened


def stored(tenant: Tenant, transfer_id: str) -> list[dict[str, Any]]:
    with psycopg.connect(tenant.database_url, row_factory=psycopg.rows.dict_row) as connection:
        connection.execute("SELECT set_config('tradewind.tenant', %s, false)", [str(tenant.id)])
        return connection.execute("SELECT * FROM quotes WHERE transfer_id = %s", [transfer_id]).fetchall()


def some_quote(number: int) -> StoredQuote:
    ids = {name: uuid4() for name in ("key_id", "link_id", "tier_id", "book_id")}
    return StoredQuote(
        transfer_id=UUID(int=number),
        at=datetime(2026, 11, 1, tzinfo=UTC),
        amount=Decimal("0.1"),
        currency="EUR",
        energy_basis=EnergyBasis.TOTAL,
        sla=SlaKind.MAX_THROUGHPUT,
        total_bytes=1,
        throughput_bps=1.0,
        energy_j=None,
        **ids,
    )


def test_first_draft_is_replayed_on_earlier_transfers_and_charges_nobody(
    provider: httpx.Client, learned: Tenant, store: redis.Redis, parts: Container
) -> None:
    made = quoted(provider)
    assert made["sla"]["price"] is None
    journalled(parts, store)
    (row,) = stored(learned, made["transfer_id"])
    assert (row["amount"], row["book_id"], row["currency"]) == (None, None, None)
    draft = provider.post("/v1/price-books", json={"name": f"First {uuid4()}", "currency": "EUR"}).json()
    tier, here = made["sla"]["tier_id"], f"/v1/price-books/{draft['id']}"
    provider.put(f"{here}/tiers/{tier}", json=PRICE).raise_for_status()
    assert provider.get(f"{here}/what-if").json()["requests"] == 0
    logged(provider, transfer_id=made["transfer_id"])
    told = provider.get(f"{here}/what-if").json()
    model = PriceModel(**{part: Decimal(value) for part, value in PRICE.items()})
    energy_j = made["predicted"]["energy_j"]["mean"]
    assert Decimal(told["book"]["revenue"]) == compute_amount(model, moved_bytes=30_000_000, energy_j=energy_j)
    assert (told["requests"], told["in_force"]) == (1, None)
    (key,) = statement(provider)
    assert (key["billed"], [each["reason"] for each in key["unbilled"]]) == ([], ["not_quoted"])


def test_stored_quote_equals_the_answer(
    provider: httpx.Client, learned: Tenant, store: redis.Redis, parts: Container
) -> None:
    book = publish_book(provider)
    made = quoted(provider)
    assert journalled(parts, store) == ConsumerRun(stored=1)
    (row,) = stored(learned, made["transfer_id"])
    price, link = made["sla"]["price"], provider.get("/v1/links").json()[0]["id"]
    assert (str(row["amount"]), row["currency"], row["energy_basis"]) == (price["amount"], "EUR", "total")
    assert (str(row["book_id"]), str(row["tier_id"])) == (book["id"], made["sla"]["tier_id"])
    assert (str(row["link_id"]), row["sla"], row["total_bytes"]) == (link, "max_throughput", 30_000_000)
    assert row["energy_j"] == made["predicted"]["energy_j"]["mean"]
    assert row["throughput_bps"] == made["predicted"]["throughput_bps"]["mean"]


def test_demand_for_a_tier_without_price_is_stored_without_amount(
    provider: httpx.Client, learned: Tenant, store: redis.Redis, parts: Container
) -> None:
    publish_book(provider)
    made = quoted(provider, sla={"kind": "min_energy"})
    assert made["sla"]["price"] is None
    journalled(parts, store)
    assert [row["amount"] for row in stored(learned, made["transfer_id"])] == [None]


def test_an_entry_that_comes_again_is_stored_once(
    provider: httpx.Client, learned: Tenant, store: redis.Redis, parts: Container
) -> None:
    publish_book(provider)
    made = quoted(provider)
    ((_, entry),) = eventually(lambda: store.xrange(QUOTES))
    journalled(parts, store)
    store.xadd(QUOTES, entry)
    assert journalled(parts, store) == ConsumerRun(stored=1)
    assert len(stored(learned, made["transfer_id"])) == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"quotes": "[]"},
        {"tenant": str(uuid4())},
        {"tenant": "nobody", "quotes": "[]"},
        {"tenant": str(uuid4()), "quotes": "[{}]"},
        {"tenant": str(uuid4()), "quotes": "no JSON"},
    ],
)
def test_unreadable_entry_is_dropped_and_blocks_nothing(
    fields: dict[str, str], parts: Container, store: redis.Redis
) -> None:
    store.xadd(QUOTES, fields)
    assert journalled(parts, store) == ConsumerRun(dropped=1)
    assert store.xlen(QUOTES) == 0


def test_quotes_wait_in_the_process_while_redis_is_unreachable(redis_url: str, store: redis.Redis) -> None:
    failures: list[Exception] = []

    async def story() -> None:
        recorder = QuoteRecorder(redis.asyncio.Redis(port=1), failures.append, pytest.fail, time.time)
        for number in range(3):
            recorder.note(UUID(int=1), some_quote(number))
        with pytest.raises(redis.ConnectionError):
            await recorder.write()
        recorder._client = back = redis.asyncio.Redis.from_url(redis_url)
        await recorder.close()
        await back.aclose()

    asyncio.run(story())
    assert (failures, store.xlen(QUOTES)) == ([], 1)


def test_quotes_beyond_what_a_process_holds_are_dropped_and_reported_once(
    monkeypatch: pytest.MonkeyPatch, redis_url: str, store: redis.Redis
) -> None:
    monkeypatch.setattr(quote_recorder, "MOST_WAITING", 2)
    failures: list[Exception] = []
    dropped: list[int] = []

    async def story() -> None:
        recorder = QuoteRecorder(redis.asyncio.Redis(port=1), failures.append, dropped.append, time.time)
        for number in range(4):
            recorder.note(UUID(int=1), some_quote(number))
        with pytest.raises(redis.ConnectionError):
            await recorder.write()
        recorder.note(UUID(int=1), some_quote(4))
        recorder._client = back = redis.asyncio.Redis.from_url(redis_url)
        await recorder.close()
        await back.aclose()

    asyncio.run(story())
    ((_, entry),) = store.xrange(QUOTES)
    assert [each["transfer_id"] for each in json.loads(entry[b"quotes"])] == [str(UUID(int=each)) for each in (3, 4)]
    assert (failures, dropped) == ([], [3])


@pytest.mark.parametrize(("room", "lengths"), [(2.0, range(41, 42)), (0.5, range(5, 35))])
def test_stream_that_nobody_takes_from_is_bounded_by_its_memory_and_not_by_entries(
    monkeypatch: pytest.MonkeyPatch, redis_url: str, store: redis.Redis, room: float, lengths: range
) -> None:
    dropped: list[int] = []

    async def story() -> None:
        opened = redis.asyncio.Redis.from_url(redis_url)
        recorder = QuoteRecorder(opened, pytest.fail, dropped.append, time.time)
        for number in range(40):
            recorder.note(UUID(int=number + 1), some_quote(number))  # of forty tenants: forty entries
        await recorder.write()
        monkeypatch.setattr(quote_recorder, "QUOTES_BYTES", room * store.memory_usage(QUOTES))
        recorder.note(UUID(int=99), some_quote(99))
        await recorder.write()
        await opened.aclose()

    asyncio.run(story())
    entries = store.xlen(QUOTES)
    assert entries in lengths
    assert sum(dropped) == 41 - entries
    _, newest = store.xrevrange(QUOTES, count=1)[0]
    assert newest[b"tenant"] == str(UUID(int=99)).encode()


def test_any_process_finds_the_key_of_a_quote_that_the_database_lacks(redis_url: str, store: redis.Redis) -> None:
    quote, tenant_id = some_quote(7), uuid4()
    key = TransferKey(tenant_id, quote.transfer_id)
    found: list[UUID | None] = []
    failures: list[Exception] = []

    async def story() -> None:
        clock = [1_000.0]
        opened = redis.asyncio.Redis.from_url(redis_url)
        here, there = (QuoteRecorder(opened, failures.append, pytest.fail, lambda: clock[0]) for _ in range(2))
        here.note(tenant_id, quote)
        found.extend((await here.find_key(key), await there.find_key(key)))
        await here.write()
        clock[0] += KEYS_REMEMBERED_S
        found.extend((await here.find_key(key), await there.find_key(key)))
        clock[0] += 2 * KEYS_REMEMBERED_S
        found.append(await there.find_key(key))
        await opened.aclose()

    asyncio.run(story())
    assert found == [quote.key_id, None, quote.key_id, quote.key_id, None]
    assert failures == []
