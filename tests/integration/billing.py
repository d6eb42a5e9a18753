"""A tenant with prices in force, and transfers that are quoted by them and logged, for tests of what is billed."""

from typing import Any

import httpx
import redis

from services.application.journal_quotes import QuoteJournal
from services.application.stream_journal import Entry, Run
from services.bootstrap import Container
from services.queue.journal_stream import JournalStream
from services.queue.quote_recorder import QUOTES
from tests.conditions import eventually
from tests.integration.live_transfers import ENQUIRY

SEEN = ENQUIRY | {"dataset": {"file_count": 300, "total_bytes": 30_000_000}}
PRICE = {"base": "0.10", "per_gb": "0.02", "per_kwh": "0.30", "margin": "0.2"}


def book_in_force(provider: httpx.Client, kind: str = "max_throughput", **changes: Any) -> dict[str, Any]:
    """A published book that prices all tiers of a kind."""
    book = provider.post("/v1/price-books", json={"name": "Winter", "currency": "EUR"} | changes).json()
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


def journalled(parts: Container, store: redis.Redis, *, entries: int = 1) -> Run:
    """Have a worker store the quotes that wait, once so many entries are there."""
    dropped: list[tuple[Entry, str]] = []
    eventually(lambda: store.xlen(QUOTES) >= entries)
    stream = JournalStream(store, QUOTES, left_behind_after_s=0.0)
    run = QuoteJournal(stream, lambda entry, why: dropped.append((entry, why)), parts.store.unit_of_work).run()
    assert run.dropped == len(dropped)
    return run
