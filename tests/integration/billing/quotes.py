"""A tenant with current prices, and transfers that are quoted by them and logged, for tests of what is billed."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import httpx
import pytest
import redis

from services.application.billing.quote_consumer import QuoteConsumer
from services.application.transfers.stream_consumer import ConsumerRun, StreamEntry
from services.bootstrap import Container
from services.embedded.valkey import EmbeddedValkey
from services.queue.entry_stream import RedisEntryStream
from services.queue.quote_recorder import QUOTES
from tests.conditions import eventually
from tests.integration.live_transfers import ENQUIRY
from tests.records import ndjson, record
from tests.stack import grant_shares_at_once

SEEN = ENQUIRY | {"dataset": {"file_count": 300, "total_bytes": 30_000_000}}
PRICE = {"base": "0.10", "per_gb": "0.02", "per_kwh": "0.30", "margin": "0.2"}


@pytest.fixture(scope="module")
def valkey() -> Iterator[EmbeddedValkey]:
    """A store whose stream has quotes of this module alone."""
    with EmbeddedValkey.temporary() as server:
        grant_shares_at_once(server.url())
        yield server


@pytest.fixture
def store(redis_url: str) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(redis_url) as opened:
        opened.delete(QUOTES)
        yield opened


def publish_book(provider: httpx.Client, kind: str = "max_throughput", **changes: Any) -> dict[str, Any]:
    """A published book that prices all tiers of a kind."""
    book = provider.post("/v1/price-books", json={"name": f"Winter {uuid4()}", "currency": "EUR"} | changes).json()
    tiers = provider.get("/v1/sla-tiers", params={"limit": 1000}).json()
    for each in {each["tier_id"] for each in tiers if each["kind"] == kind}:
        provider.put(f"/v1/price-books/{book['id']}/tiers/{each}", json=PRICE).raise_for_status()
    answer = provider.post(f"/v1/price-books/{book['id']}/publish")
    answer.raise_for_status()
    published: dict[str, Any] = answer.json()
    return published


def quoted(client: httpx.Client, **changes: Any) -> dict[str, Any]:
    """A recommendation."""
    answer = client.post("/v1/recommend", json=SEEN | changes)
    answer.raise_for_status()
    made: dict[str, Any] = answer.json()
    return made


def journalled(parts: Container, store: redis.Redis, *made: dict[str, Any], entries: int = 1) -> ConsumerRun:
    """Have a worker store the quotes that wait, once so many entries are there, and those of these offers among them.

    What a test before asked for may come late: quotes are gathered for a moment before they are written.
    """
    dropped: list[tuple[StreamEntry, str]] = []
    eventually(lambda: store.xlen(QUOTES) >= entries)
    eventually(lambda: all(each["transfer_id"] in str(store.xrange(QUOTES)) for each in made))
    stream = RedisEntryStream(store, QUOTES, left_behind_after_s=0.0)
    run = QuoteConsumer(stream, lambda entry, why: dropped.append((entry, why)), parts.store.unit_of_work).run()
    assert run.dropped == len(dropped)
    return run


def logged(client: httpx.Client, made: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    """The record of a transfer that an offer was made for, or of one that nobody asked about, uploaded."""
    now = datetime.now(UTC)
    told: dict[str, Any] = {"started_at": (now - timedelta(minutes=2)).isoformat(), "ended_at": now.isoformat()}
    told |= {"source": SEEN["source"], "destination": SEEN["destination"]}
    if made is not None:
        price = made["sla"]["price"]
        told |= {"transfer_id": made["transfer_id"]} | ({} if price is None else {"quote": price["quote"]})
    whole = record(**(told | changes))
    answer = client.post("/v1/logs", content=ndjson([whole]))
    assert answer.status_code == 201, answer.text
    return whole


def outcome(status: str) -> dict[str, Any]:
    return {"outcome": record()["outcome"] | {"status": status}}


def statement(provider: httpx.Client, month: str | None = None) -> list[dict[str, Any]]:
    asked = month or f"{datetime.now(UTC) - timedelta(minutes=2):%Y-%m}"
    answer = provider.get("/v1/usage-statements", params={"month": asked})
    assert answer.status_code == 200, answer.text
    told: list[dict[str, Any]] = answer.json()
    return told
