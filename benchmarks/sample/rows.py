"""The rows of the sample: recorded transfers, marked as sample by the names of their endpoints."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from benchmarks.demo import changing_path
from benchmarks.sample.recordings import FOLDER, TUNED
from benchmarks.support.report import ROOT

MARK = "sample-"
RECORDED_FOR_THE_DEMO = (*sorted((ROOT / "benchmarks" / "records").glob("emulated-*.ndjson")), changing_path.RECORDED)
DAMAGED_ROWS = 2
"""Number of copies with a mistake that real logs have, for the quarantine."""

Row = dict[str, Any]


def list_rows(shift: timedelta) -> Iterator[Row]:
    """Yield every recorded row, then the damaged copies."""
    rows = list(list_recorded(shift))
    yield from rows
    yield from _damage_rows(rows[:DAMAGED_ROWS])


def list_recorded(shift: timedelta) -> Iterator[Row]:
    """Yield every recorded row."""
    files = [*RECORDED_FOR_THE_DEMO, *(path for path in sorted(FOLDER.glob("*.ndjson")) if path != TUNED)]
    for path in files:
        yield from (mark_row(json.loads(line), shift) for line in path.read_text("utf-8").splitlines())


def list_completions(shift: timedelta) -> Iterator[Row]:
    """Yield ends of transfers that were tuned while they ran, with their heartbeats."""
    for line in TUNED.read_text("utf-8").splitlines():
        completion = json.loads(line)
        completion["records"] = [mark_row(record, shift) for record in completion["records"]]
        for each in completion["heartbeats"]:
            each["heartbeat"]["at"] = _move_time(each["heartbeat"]["at"], shift)
        yield completion


def mark_row(row: Row, shift: timedelta) -> Row:
    """Return the row with sample names of its endpoints and times moved, as a transfer of its own."""
    times = {name: _move_time(row[name], shift) for name in ("started_at", "ended_at")}
    names = {name: f"{MARK}{row[name].removeprefix(MARK)}" for name in ("source", "destination")}
    return row | times | names | {"transfer_id": row.get("transfer_id") or row["id"]}


def count_shift_days(now: datetime | None = None) -> int:
    """Return the days after which the newest row is of yesterday; 0 while it is not older."""
    newest = max(datetime.fromisoformat(row["ended_at"]) for row in list_rows(timedelta()))
    yesterday = (now or datetime.now(UTC)).date() - timedelta(days=1)
    return max(0, (yesterday - newest.date()).days)


def _damage_rows(rows: list[Row]) -> Iterator[Row]:
    """Yield a rate in kbit/s where bit/s belong, and an end before the start; their ids are unique."""
    for number, row in enumerate(rows):
        damaged = row | dict.fromkeys(("id", "transfer_id"), f"00000000-0000-4000-8000-{number:012d}")
        if number % 2:
            damaged |= {"started_at": row["ended_at"], "ended_at": row["started_at"]}
        else:
            rate_bps = row["outcome"]["throughput_bps"]
            damaged |= {"outcome": row["outcome"] | {"throughput_bps": 1e3 * rate_bps}}
        yield damaged


def _move_time(instant: str, shift: timedelta) -> str:
    return (datetime.fromisoformat(instant) + shift).isoformat()


def read_request(completion: Row) -> Row:
    """Return the request for the recommendation, which the first heartbeat carries."""
    request: Row = completion["heartbeats"][0]["heartbeat"]["enquiry"]
    return request
