"""Rows that agents upload: known by number, so that each can be looked for afterwards."""

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import islice
from uuid import UUID

from benchmarks.api.cases import DESTINATIONS, START, make_log_lines

ROWS_A_BATCH = 60
APART = timedelta(minutes=2)
"""Time between two transfers of an agent: they overlap little."""

_EVERY = 6
"""One of so many drawn rows is in a batch: all families at many settings."""


def make_batch(agent: int, number: int) -> list[bytes]:
    """Return the rows of an agent's batch, the same in every call."""
    drawn = make_log_lines(1_000_000 * (agent + 1) + number, (DESTINATIONS[agent],))
    lines = islice(drawn, agent, None, _EVERY)
    return [_move_to(line, START + (number * ROWS_A_BATCH + place) * APART) for place, line in enumerate(lines)]


def list_ids(agent: int, number: int) -> Iterator[UUID]:
    """Yield the ids of the same rows."""
    for line in make_batch(agent, number):
        yield UUID(json.loads(line)["id"])


def _move_to(line: bytes, started_at: datetime) -> bytes:
    row = json.loads(line)
    lasted = datetime.fromisoformat(row["ended_at"]) - datetime.fromisoformat(row["started_at"])
    row |= {"started_at": started_at.isoformat(), "ended_at": (started_at + lasted).isoformat()}
    return json.dumps(row).encode() + b"\n"
