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
SPOILT = 2
"""Copies of rows with a mistake that real logs have, for the quarantine."""

Row = dict[str, Any]


def log_rows(shift: timedelta) -> Iterator[Row]:
    """Every recorded row, then the spoilt copies."""
    rows = list(logged(shift))
    yield from rows
    yield from _spoilt(rows[:SPOILT])


def logged(shift: timedelta) -> Iterator[Row]:
    """Every recorded row."""
    files = [*RECORDED_FOR_THE_DEMO, *(path for path in sorted(FOLDER.glob("*.ndjson")) if path != TUNED)]
    for path in files:
        yield from (marked(json.loads(line), shift) for line in path.read_text("utf-8").splitlines())


def completions(shift: timedelta) -> Iterator[Row]:
    """Ends of transfers that were tuned while they ran, with their heartbeats."""
    for line in TUNED.read_text("utf-8").splitlines():
        completion = json.loads(line)
        completion["records"] = [marked(record, shift) for record in completion["records"]]
        for each in completion["heartbeats"]:
            each["heartbeat"]["at"] = _moved(each["heartbeat"]["at"], shift)
        yield completion


def marked(row: Row, shift: timedelta) -> Row:
    """The row between endpoints whose names say that it is of the sample, moved in time; a transfer of its own."""
    times = {name: _moved(row[name], shift) for name in ("started_at", "ended_at")}
    names = {name: f"{MARK}{row[name].removeprefix(MARK)}" for name in ("source", "destination")}
    return row | times | names | {"transfer_id": row.get("transfer_id") or row["id"]}


def shift_days(now: datetime | None = None) -> int:
    """Whole days after which the newest row is of yesterday; 0 while it is not older."""
    newest = max(datetime.fromisoformat(row["ended_at"]) for row in log_rows(timedelta()))
    yesterday = (now or datetime.now(UTC)).date() - timedelta(days=1)
    return max(0, (yesterday - newest.date()).days)


def _spoilt(rows: list[Row]) -> Iterator[Row]:
    """A rate in kbit/s where bit/s belong, and an end before the beginning; ids that no other row has."""
    for number, row in enumerate(rows):
        spoilt = row | dict.fromkeys(("id", "transfer_id"), f"00000000-0000-4000-8000-{number:012d}")
        if number % 2:
            spoilt |= {"started_at": row["ended_at"], "ended_at": row["started_at"]}
        else:
            rate_bps = row["outcome"]["throughput_bps"]
            spoilt |= {"outcome": row["outcome"] | {"throughput_bps": 1e3 * rate_bps}}
        yield spoilt


def _moved(instant: str, shift: timedelta) -> str:
    return (datetime.fromisoformat(instant) + shift).isoformat()


def enquiry(completion: Row) -> Row:
    """What a recommendation was asked with: its first heartbeat tells it."""
    asked: Row = completion["heartbeats"][0]["heartbeat"]["enquiry"]
    return asked
