"""Replay recorded throughput as a path that changes: each interval of a record becomes a rate."""

import csv
from collections.abc import Sequence
from pathlib import Path

from benchmarks.testbed.path_spec import PathSpec
from benchmarks.testbed.schedule import Step
from tradewind.errors import InvalidValue

INTERVAL_PREFIX = "t"
LEAST_SHARE = 0.05
"""Share of the path's rate that a record may fall to: a stall of the recorded transfer is no dead path."""


def read_traces(path: Path) -> list[list[float]]:
    """Read records of one transfer a row: columns ``t1``, ``t2``, … in Mbit/s, in equal intervals; ignore other
    columns.

    Rows with a number missing or below 0 are left out.

    Raises
    ------
    InvalidValue : no such file or columns, or no complete row.
    """
    try:
        file = path.open(encoding="utf-8-sig", newline="")
    except OSError as failure:
        raise InvalidValue("trace", f"{path} cannot be read: {failure.strerror}") from None
    with file:
        rows = csv.DictReader(file)
        columns = [name for name in rows.fieldnames or () if _is_interval(name)]
        columns.sort(key=lambda name: int(name.removeprefix(INTERVAL_PREFIX)))
        traces = [trace for row in rows if (trace := _parse_numbers([row[name] for name in columns]))]
    if not traces:
        raise InvalidValue("trace", f"{path} holds no columns t1, t2, … of throughput in Mbit/s")
    return traces


def _is_interval(name: str) -> bool:
    return name.startswith(INTERVAL_PREFIX) and name.removeprefix(INTERVAL_PREFIX).isdecimal()


def _parse_numbers(texts: Sequence[str | None]) -> list[float]:
    try:
        numbers = [float(text or "") for text in texts]
    except ValueError:
        return []
    return numbers if all(0 <= number < float("inf") for number in numbers) else []


def replay(trace: Sequence[float], path: PathSpec, *, interval_s: float) -> list[Step]:
    """Return the steps of the path's rate following a record, whose highest interval is the path's full rate.

    Records come from faster networks than one machine can emulate: their shape is replayed, not their scale.
    """
    full = max(trace)
    if full <= 0:
        raise InvalidValue("trace", "a record without any throughput cannot be replayed")
    return [
        Step(number * interval_s, path.with_rate(path.rate_bps * max(mbps / full, LEAST_SHARE)))
        for number, mbps in enumerate(trace)
    ]
