"""Rows of logs by the million, drawn from the law of `benchmarks/support/workload.py`, as CSV for COPY.

The law is the one that the workload draws single records from, for arrays; a test compares the two.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from io import BytesIO
from uuid import UUID

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import csv

from benchmarks.support.workload import (
    CONCURRENCIES,
    IDLE_W,
    MEAN_FILE_BYTES,
    NETWORK_W,
    NOISE_SD,
    PARALLELISMS,
    PIPELININGS,
    STREAM_W,
    LinkLaw,
)

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

BLOCK_ROWS = 100_000
UUID_BYTES = 16


@dataclass(frozen=True)
class Laws:
    """The laws of n links, each value an (n,) array."""

    bandwidth_bps: FloatArray
    rtt_s: FloatArray
    filling_streams: FloatArray
    suffering_streams: FloatArray

    @classmethod
    def of(cls, laws: Sequence[LinkLaw]) -> "Laws":
        return cls(*(np.array([getattr(law, name) for law in laws], dtype=float) for name in cls.__annotations__))

    def of_rows(self, link: IntArray) -> "Laws":
        """Return the law of each row, by the number of its link."""
        return Laws(*(getattr(self, name)[link] for name in self.__annotations__))

    def compute_throughput_bps(
        self,
        concurrency: FloatArray,
        parallelism: FloatArray,
        pipelining: FloatArray,
        mean_file_bytes: FloatArray,
        load: FloatArray,
    ) -> FloatArray:
        """Return the law without its noise, see ``LinkLaw.compute_throughput_bps``."""
        streams = concurrency * parallelism
        filled = 1 - np.exp(-streams / self.filling_streams)
        suffering = 1 - 0.03 * np.maximum(0.0, np.log2(streams / self.suffering_streams)) ** 2
        a_connection_bps = self.bandwidth_bps * filled / concurrency
        file_bits = 8 * mean_file_bytes
        moving = file_bits / (file_bits + a_connection_bps * self.rtt_s / np.maximum(pipelining, 1))
        rate: FloatArray = self.bandwidth_bps * (1 - load) * filled * np.maximum(suffering, 0.2) * moving
        return rate


@dataclass(frozen=True)
class Span:
    """The time in which rows start, evenly."""

    starts_at: datetime
    lasts: timedelta


COLUMNS = (
    "tenant_id", "id", "link_id", "batch_id", "received_at", "started_at", "ended_at", "protocol", "direction",
    "mover_version", "chunk", "bandwidth_bps", "rtt_s", "min_rtt_s", "loss_rate", "buffer_bytes", "file_count",
    "total_bytes", "mean_file_bytes", "max_file_bytes", "concurrency", "parallelism", "pipelining", "io_block_bytes",
    "status", "bytes_moved", "files_done", "files_failed", "throughput_bps", "retransmitted_bytes", "usage_cpu",
    "usage_memory", "usage_nic", "source_energy_j", "source_dynamic_j", "source_base_w", "source_energy_method",
    "source_energy_quality",
)  # fmt: skip


def draw_csv_blocks(
    rows: int,
    *,
    laws: Sequence[LinkLaw],
    link_ids: Sequence[UUID],
    span: Span,
    tenant_id: UUID,
    batch_id: UUID,
    seed: int,
) -> Iterator[bytes]:
    """Yield ``rows`` rows in the order of their start over the links at random, with ``COLUMNS``, in blocks."""
    draw = np.random.default_rng(seed)
    links = Laws.of(laws)
    ids = pa.array([str(each) for each in link_ids])
    begins_us, step_us = span.starts_at.timestamp() * 1e6, span.lasts / timedelta(microseconds=1) / rows
    fixed = {"tenant_id": str(tenant_id), "batch_id": str(batch_id)} | _CONSTANTS
    for first in range(0, rows, BLOCK_ROWS):
        numbers = np.arange(first, min(first + BLOCK_ROWS, rows))
        link = draw.integers(len(link_ids), size=len(numbers))
        started_us = np.round(begins_us + step_us * numbers).astype(np.int64)
        drawn = _draw_columns(links.of_rows(link), started_us, draw)
        drawn |= {"id": _draw_ids(len(numbers), draw), "link_id": ids.take(pa.array(link))}
        drawn |= {name: pa.repeat(value, len(numbers)) for name, value in fixed.items()}
        table = pa.table({name: drawn[name] for name in COLUMNS})
        block = BytesIO()
        csv.write_csv(table, block, csv.WriteOptions(include_header=False))
        yield block.getvalue()


_CONSTANTS = {
    "protocol": "https",
    "direction": "download",
    "mover_version": "0.1.0",
    "chunk": "whole",
    "buffer_bytes": 4_194_304,
    "io_block_bytes": 262_144,
    "status": "succeeded",
    "files_failed": 0,
    "usage_memory": 0.31,
    "source_base_w": IDLE_W,
    "source_energy_method": "cpu_model",
    "source_energy_quality": "calibrated",
}


def _draw_columns(law: Laws, started_us: IntArray, draw: np.random.Generator) -> dict[str, pa.Array]:
    """Draw what differs from row to row, as the workload does."""
    rows = len(started_us)
    concurrency, parallelism, pipelining = (
        draw.choice(np.array(values), rows) for values in (CONCURRENCIES, PARALLELISMS, PIPELININGS)
    )
    mean_file_bytes = draw.choice(np.array(MEAN_FILE_BYTES, dtype=float), rows) * draw.uniform(0.7, 1.4, rows)
    file_count = draw.integers(4, 4001, rows)
    total_bytes = np.round(mean_file_bytes * file_count).astype(np.int64)
    load = draw.beta(2, 6, rows) * 0.6
    noise = np.exp(draw.normal(0, NOISE_SD, rows))
    settings = concurrency.astype(float), parallelism.astype(float), pipelining.astype(float)
    throughput_bps = np.minimum(law.compute_throughput_bps(*settings, mean_file_bytes, load) * noise, law.bandwidth_bps)
    duration_s = np.maximum(8 * total_bytes / throughput_bps, 0.01)
    ended_us = started_us + np.round(1e6 * duration_s).astype(np.int64)
    used = throughput_bps / law.bandwidth_bps
    dynamic_w = NETWORK_W * used + STREAM_W * concurrency * parallelism
    loss_rate = draw.uniform(0, 2e-4, rows)
    values = {
        "bandwidth_bps": law.bandwidth_bps,
        "rtt_s": law.rtt_s * draw.uniform(1.0, 1.2, rows),
        "min_rtt_s": law.rtt_s,
        "loss_rate": loss_rate,
        "file_count": file_count,
        "total_bytes": total_bytes,
        "mean_file_bytes": mean_file_bytes,
        "max_file_bytes": np.round(2.5 * mean_file_bytes).astype(np.int64),
        "concurrency": concurrency,
        "parallelism": parallelism,
        "pipelining": pipelining,
        "bytes_moved": total_bytes,
        "files_done": file_count,
        "throughput_bps": throughput_bps,
        "retransmitted_bytes": np.round(loss_rate * total_bytes).astype(np.int64),
        "usage_cpu": 0.1 + 0.5 * used,
        "usage_nic": used,
        "source_energy_j": (IDLE_W + dynamic_w) * duration_s,
        "source_dynamic_j": dynamic_w * duration_s,
    }
    instants = {"started_at": started_us, "ended_at": ended_us, "received_at": ended_us}
    return {name: pa.array(value) for name, value in values.items()} | {
        name: pa.array(value, pa.timestamp("us", "UTC")) for name, value in instants.items()
    }


def _draw_ids(count: int, draw: np.random.Generator) -> pa.Array:
    """Draw identifiers of rows: 32 hexadecimal digits, which PostgreSQL takes as a UUID."""
    digits, each = draw.bytes(UUID_BYTES * count).hex(), 2 * UUID_BYTES
    return pa.array([digits[at : at + each] for at in range(0, len(digits), each)])
