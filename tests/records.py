"""Transfer records for tests, as JSON values and as bodies of uploads."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

START = datetime(2026, 3, 1, tzinfo=UTC)


def record(minute: int = 0, **changes: Any) -> dict[str, Any]:
    """Return a valid record that started ``minute`` minutes after ``START``; ``None`` leaves a field out."""
    started_at = START + timedelta(minutes=minute)
    complete: dict[str, Any] = {
        "id": str(uuid4()),
        "started_at": started_at.isoformat(),
        "ended_at": (started_at + timedelta(seconds=40)).isoformat(),
        "source": "alpha",
        "destination": "omega",
        "mover": {"name": "tradewind", "version": "0.1.0"},
        "protocol": "https",
        "direction": "download",
        "path": {"bandwidth_bps": 1e9, "rtt_s": 0.06},
        "dataset": {"file_count": 10, "total_bytes": 1_000_000_000},
        "parameters": {"concurrency": 4, "parallelism": 2, "pipelining": 8},
        "outcome": {
            "status": "succeeded",
            "bytes_moved": 1_000_000_000,
            "files_done": 10,
            "files_failed": 0,
            "throughput_bps": 2e8,
        },
    }
    return {name: value for name, value in (complete | changes).items() if value is not None}


def ndjson(records: Iterable[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(each).encode() + b"\n" for each in records)


def known(number: int) -> str:
    """Return a record id that is the same in every run."""
    return str(UUID(int=number))
