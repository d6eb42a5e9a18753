"""The log of one link as columns, reduced in one streaming pass to what its model is fitted from."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Self

import numpy as np
import numpy.typing as npt

from tradewind.learning.clustering.tiered import ClusterRows, Digest
from tradewind.learning.load.external import LinkRows, compute_external_load, compute_request_limit_bps
from tradewind.learning.load.known_load import LoadTimeline
from tradewind.learning.setting_rows import hash_rows
from tradewind.parameters import AXES

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
HashArray = npt.NDArray[np.uint64]

OVERLAP_ROWS = 4096
"""Rows of a batch that the next one looks back at for present load: more than run at once on any link we know."""

VALUES = (
    "throughput_bps",
    "power_w",
    "base_power_w",
    "source_power_w",
    "source_base_w",
    "load",
    "start_s",
    "queueing_delay_s",
    "loss",
    "meters",
    "mean_file_bytes",
    "file_count",
    "received_s",
)
"""Columns kept of each sampled row, in this order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkLog:
    """n successful rows of one link, ordered by start; (n,) each, NaN where not logged.

    Attributes
    ----------
    id_high, id_low : halves of the row's id, for samples that do not depend on order.
    settings : (n, a) values of ``tradewind.parameters.AXES``.
    received_s : when the store got the row, POSIX s.
    rtt_s, min_rtt_s : under the transfer's own load where both are known, and the least; else what was stated.
    source_power_w, destination_power_w : mean total power of each metered end, W; likewise their base power.
    utilisation : the higher of CPU and disk utilisation, 0..1.
    """

    id_high: HashArray
    id_low: HashArray
    start_s: FloatArray
    end_s: FloatArray
    received_s: FloatArray
    moved_bytes: FloatArray
    throughput_bps: FloatArray
    bandwidth_bps: FloatArray
    rtt_s: FloatArray
    min_rtt_s: FloatArray
    buffer_bytes: FloatArray
    retransmitted_bytes: FloatArray
    utilisation: FloatArray
    mean_file_bytes: FloatArray
    file_count: FloatArray
    settings: FloatArray
    source_power_w: FloatArray
    destination_power_w: FloatArray
    source_base_w: FloatArray
    destination_base_w: FloatArray

    def __len__(self) -> int:
        return len(self.start_s)

    def join(self, other: Self) -> Self:
        """Return these rows followed by the other's."""
        return type(self)(
            **{f.name: np.concatenate([getattr(self, f.name), getattr(other, f.name)]) for f in fields(self)}
        )

    def take(self, rows: slice) -> Self:
        return type(self)(**{f.name: getattr(self, f.name)[rows] for f in fields(self)})

    def take_last(self, count: int) -> Self:
        return self.take(slice(-count, None))

    @property
    def path_rtt_s(self) -> FloatArray:
        """Return the round trips of the path without queues, as well as they are known."""
        return np.fmin(self.rtt_s, self.min_rtt_s)

    def build_link_rows(self) -> LinkRows:
        """Return the columns that external load is computed from."""
        cc, p, pp = (self.settings[:, AXES.index(axis)] for axis in ("concurrency", "parallelism", "pipelining"))
        files_at_once = np.fmin(np.nan_to_num(cc, nan=1.0), self.file_count)  # fmin passes over a count not logged
        return LinkRows(
            start_s=self.start_s,
            end_s=self.end_s,
            moved_bytes=self.moved_bytes,
            throughput_bps=self.throughput_bps,
            bandwidth_bps=self.bandwidth_bps,
            rtt_s=self.path_rtt_s,
            buffer_bytes=self.buffer_bytes,
            streams=files_at_once * np.nan_to_num(p, nan=1.0),
            retransmitted_bytes=self.retransmitted_bytes,
            utilisation=self.utilisation,
            request_limit_bps=compute_request_limit_bps(
                self.bandwidth_bps, self.path_rtt_s, self.mean_file_bytes, files_at_once, pp
            ),
        )


@dataclass(frozen=True, slots=True)
class EndpointCurves:
    """Known bytes at both ends of a link and between them, see ``tradewind.learning.load.external``."""

    source: LoadTimeline
    destination: LoadTimeline
    both: LoadTimeline


@dataclass(frozen=True, slots=True)
class ReducedLog:
    """All that is kept of a link's log, whatever its length; NaN for what is not known."""

    digest: Digest
    rows: int
    bandwidth_bps: float
    rtt_s: float
    buffer_bytes: float
    loss_rate: float
    load_median: float
    present_unknown_bps: float
    ends_s: float


def reduce_log(batches: Iterable[LinkLog], curves: EndpointCurves, *, unknown_before_bps: float = np.nan) -> ReducedLog:
    """Return the one pass over the log in order of start; memory depends on the batch, not on the log.

    Parameters
    ----------
    unknown_before_bps : unknown traffic that the last release found, for the rows before any other; NaN if it did not.

    Raises
    ------
    CannotFit : there is no row.
    """
    tail: LinkLog | None = None
    digests: list[Digest] = []
    seen = _RunningMedians()
    unknown_bps = unknown_before_bps
    for batch in batches:
        joined = batch if tail is None else tail.join(batch)
        load = compute_external_load(
            joined.build_link_rows(),
            source=curves.source,
            destination=curves.destination,
            both=curves.both,
            before_any_bps=unknown_bps,
        )
        unknown_bps = load.present_unknown_bps
        part = Digest.of_rows(_build_cluster_rows(batch, load.feature[len(joined) - len(batch) :]))
        digests = [digests[0].merge(part)] if digests else [part]
        seen.add(batch, load.feature[len(joined) - len(batch) :])
        tail = joined.take_last(OVERLAP_ROWS)
    return seen.build_reduced_log(Digest.of_batches(()) if not digests else digests[0], unknown_bps)


class _RunningMedians:
    """Per batch medians of the link's own values, weighed by rows: exact for one batch, close for many."""

    def __init__(self) -> None:
        self._medians: list[tuple[int, FloatArray]] = []
        self._ends_s = -np.inf

    def add(self, batch: LinkLog, load: FloatArray) -> None:
        loss = batch.retransmitted_bytes / np.maximum(batch.moved_bytes, 1.0)
        columns = (batch.bandwidth_bps, batch.path_rtt_s, batch.buffer_bytes, loss, load)
        self._medians.append((len(batch), np.array([_compute_median(column) for column in columns])))
        self._ends_s = max(self._ends_s, float(batch.end_s.max(initial=-np.inf)))

    def build_reduced_log(self, digest: Digest, unknown_bps: float) -> ReducedLog:
        counts = np.array([count for count, _ in self._medians], dtype=np.float64)
        medians = np.stack([values for _, values in self._medians])
        weights = np.where(np.isfinite(medians), counts[:, None], 0.0)
        total = weights.sum(axis=0)
        means = np.divide(
            (weights * np.nan_to_num(medians)).sum(axis=0), total, out=np.full(5, np.nan), where=total > 0
        )
        bandwidth, rtt, buffer, loss, load = means.tolist()
        return ReducedLog(digest, int(counts.sum()), bandwidth, rtt, buffer, loss, load, unknown_bps, self._ends_s)


def _compute_median(column: FloatArray) -> float:
    known = column[np.isfinite(column)]
    return float(np.median(known)) if len(known) else np.nan


def _build_cluster_rows(log: LinkLog, load: FloatArray) -> ClusterRows:
    meters = np.isfinite(log.source_power_w) + 2.0 * np.isfinite(log.destination_power_w)
    values = {
        "throughput_bps": log.throughput_bps,
        "power_w": np.where(meters > 0, _sum_known(log.source_power_w, log.destination_power_w), np.nan),
        "base_power_w": _compute_base_power_w(log),
        "source_power_w": log.source_power_w,
        "source_base_w": log.source_base_w,
        "load": load,
        "start_s": log.start_s,
        "queueing_delay_s": log.rtt_s - log.min_rtt_s,
        "loss": log.retransmitted_bytes / np.maximum(log.moved_bytes, 1.0),
        "meters": meters,
        "mean_file_bytes": log.mean_file_bytes,
        "file_count": log.file_count,
        "received_s": log.received_s,
    }
    return ClusterRows(
        mean_file_bytes=log.mean_file_bytes,
        file_count=log.file_count,
        load=load,
        settings=log.settings,
        row_hash=hash_rows(log.id_high, log.id_low),
        values=np.stack([values[name] for name in VALUES], axis=1),
    )


def _compute_base_power_w(log: LinkLog) -> FloatArray:
    """Return the base power of the metered ends; NaN where one of them does not know its own."""
    base_w = _sum_known(log.source_base_w, log.destination_base_w)
    for power_w, own_base_w in (
        (log.source_power_w, log.source_base_w),
        (log.destination_power_w, log.destination_base_w),
    ):
        base_w[np.isfinite(power_w) & ~np.isfinite(own_base_w)] = np.nan
    return base_w


def _sum_known(one: FloatArray, other: FloatArray) -> FloatArray:
    """Return the sum of what is known; NaN where neither is."""
    total: FloatArray = np.nan_to_num(one) + np.nan_to_num(other)
    total[~np.isfinite(one) & ~np.isfinite(other)] = np.nan
    return total
