"""Drawn transfers of packed files through a faulty relay, as `./run bench fuzz` makes them by the thousand."""

import asyncio

from benchmarks.fuzz.transfer_runs import run_seeds

RECEIVED_TWICE = "1-7242"
"""Seed of a download whose first bytes come packed, and once more in the full file."""


def test_packed_transfers_through_faulty_relays_store_every_file_once_or_not_at_all() -> None:
    seeds = [RECEIVED_TWICE, *(f"1-{number}" for number in range(30) if number % 10 in (2, 5, 7))]
    assert asyncio.run(run_seeds(seeds)) == []
