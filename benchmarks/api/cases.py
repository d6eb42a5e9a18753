"""The requests of the API benchmark, and the logs of the links that they name."""

import json
import math
import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any
from uuid import UUID

from tradewind.dataset import DataSet
from tradewind.parameters import Parameters
from tradewind.path import Path
from tradewind.unknown_path.prior import predict_throughput_bps

SOURCE = "origin"
DESTINATIONS = ("amber", "birch", "cedar", "dune")
PATH = Path(bandwidth_bps=1e9, rtt_s=0.06, loss_rate=1e-5)
FAMILIES = {
    "small": DataSet(file_count=300, total_bytes=30_000_000),
    "medium": DataSet(file_count=40, total_bytes=800_000_000),
    "large": DataSet(file_count=6, total_bytes=2_400_000_000),
}
ROWS_A_FAMILY = 120
START = datetime(2026, 3, 1, tzinfo=UTC)
BASE_W = 18.0
NOISE = 0.06

SLAS: tuple[dict[str, Any], ...] = (
    {"kind": "max_throughput"},
    {"kind": "min_energy"},
    {"kind": "energy_efficiency"},
    {"kind": "throughput_at_least", "target": 1e8},
    {"kind": "throughput_at_least", "fraction": 0.8},
    {"kind": "energy_at_most", "target": 4_000},
    {"kind": "power_at_most", "target": 40},
    {"kind": "deadline", "target": 120},
)


def make_log_lines(seed: int, destinations: Sequence[str] = DESTINATIONS) -> Iterator[bytes]:
    """Yield transfer records of every link and family at drawn settings; their rate is the closed form with noise."""
    draw = random.Random(seed)
    minute = 0
    for destination, dataset in product(destinations, FAMILIES.values()):
        for _ in range(ROWS_A_FAMILY):
            minute += 7
            yield json.dumps(_make_record(draw, minute, destination, dataset)).encode() + b"\n"


def _make_record(draw: random.Random, minute: int, destination: str, dataset: DataSet) -> dict[str, Any]:
    setting = Parameters(
        concurrency=draw.choice((1, 2, 4, 8, 16)),
        parallelism=draw.choice((1, 2, 4, 8)),
        pipelining=draw.choice((1, 4, 16, 32)),
    )
    rate_bps = min(
        predict_throughput_bps(PATH, dataset, setting) * math.exp(draw.gauss(0, NOISE)), PATH.bandwidth_bps or 0.0
    )
    duration_s = 8 * dataset.total_bytes / rate_bps
    started_at = START + timedelta(minutes=minute)
    return {
        "id": str(UUID(int=draw.getrandbits(128), version=4)),
        "started_at": started_at.isoformat(),
        "ended_at": (started_at + timedelta(seconds=duration_s)).isoformat(),
        "source": SOURCE,
        "destination": destination,
        "mover": {"name": "tradewind"},
        "protocol": "https",
        "direction": "download",
        "path": {"bandwidth_bps": PATH.bandwidth_bps, "rtt_s": PATH.rtt_s, "loss_rate": PATH.loss_rate},
        "dataset": {"file_count": dataset.file_count, "total_bytes": dataset.total_bytes},
        "parameters": setting.list_known(),
        "outcome": {
            "status": "succeeded",
            "bytes_moved": dataset.total_bytes,
            "files_done": dataset.file_count,
            "files_failed": 0,
            "throughput_bps": rate_bps,
        },
        "energy": [
            {
                "host": "destination",
                "total_j": compute_power_w(setting.streams, rate_bps) * duration_s,
                "base_w": BASE_W,
                "method": "rapl",
                "quality": "measured",
            }
        ],
    }


def compute_power_w(streams: int, rate_bps: float) -> float:
    """Return the power of the hosts while they transfer, W."""
    return BASE_W + 0.3 * streams + 12 * rate_bps / 1e9


def make_requests() -> list[dict[str, Any]]:
    """Return bodies of ``POST /v1/recommend``: every link under every SLA, for files of one size and for a mixture."""
    return [
        {"source": SOURCE, "destination": destination, "dataset": dataset, "sla": sla}
        for sla, dataset, destination in product(
            SLAS, (_describe_one_size("small"), _describe_mixed_sizes()), DESTINATIONS
        )
    ]


LIVE_TIMES = 4
"""A live transfer has as many times the files of a logged one: more of it is left than a tick moves."""

AMPLE = 10_000
"""Live transfers make no progress: SLAs over the entire transfer leave time and energy for so many times its bytes."""


def make_live_requests() -> list[dict[str, Any]]:
    """Return the requests that the live transfers were recommended on: every link under every SLA."""
    return [
        {"source": SOURCE, "destination": destination, "dataset": _multiply(dataset), "sla": _relax(sla)}
        for sla, dataset, destination in product(
            SLAS, (_describe_one_size("large"), _describe_mixed_sizes()), DESTINATIONS
        )
    ]


def _relax(sla: dict[str, Any]) -> dict[str, Any]:
    is_total = sla["kind"] in {"energy_at_most", "deadline"}
    return sla | ({"target": AMPLE * sla["target"]} if is_total else {})


def _multiply(dataset: dict[str, Any]) -> dict[str, Any]:
    counts = {name: LIVE_TIMES * dataset[name] for name in ("file_count", "total_bytes")}
    bins = [_multiply(each) for each in dataset.get("size_histogram", ())]
    return dataset | counts | ({"size_histogram": bins} if bins else {})


def _describe_one_size(name: str) -> dict[str, Any]:
    family = FAMILIES[name]
    return {"file_count": family.file_count, "total_bytes": family.total_bytes}


def _describe_mixed_sizes() -> dict[str, Any]:
    """Return small, medium and large files: three chunks, each with a plan and a table of its own."""
    bins = [
        {
            "max_file_bytes": math.ceil(family.mean_file_bytes),
            "file_count": family.file_count,
            "total_bytes": family.total_bytes,
        }
        for family in FAMILIES.values()
    ]
    return {
        "file_count": sum(each["file_count"] for each in bins),
        "total_bytes": sum(each["total_bytes"] for each in bins),
        "size_histogram": bins,
    }
