"""Implement the learner's port with the numerics: Arrow in, domain values out."""

from array import array
from collections import OrderedDict
from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from services.application.models.learned_model import EndpointLoad, KnownLoadCurve, StoredModel
from services.application.models.refresh import EndCurves
from tradewind.learning.current_model import CurrentModel
from tradewind.learning.link import fit_link
from tradewind.learning.link_log import EndpointCurves, LinkLog, reduce_log
from tradewind.learning.load.known_load import LoadTimeline
from tradewind.learning.single_files import gather_single_files
from tradewind.mobile.io_request import STORAGE_BOUND
from tradewind.model import LinkModel
from tradewind.parameters import AXES
from tradewind.path import INITIAL_BUFFERS_BYTES
from tradewind.tiers.demand import Demand
from tradewind.units import MIB

FloatArray = npt.NDArray[np.float64]

MAX_CACHED_BYTES = 256 * MIB
"""Curves in the cache of each worker process: 8,000,000 transfers in all."""

BYTES_A_BREAKPOINT = 4 * 8
"""Time, step of the rate, and what the curve derives from both: the rate and the bytes until then."""


class Learner:
    """The numerics of a worker; ``seed`` draws the held-out rows of a link, so that a refit is reproducible."""

    def __init__(self, *, seed: int = 0, max_cached_bytes: int = MAX_CACHED_BYTES) -> None:
        self._seed = seed
        self._ends = _CurveCache(max_cached_bytes)

    def build_curve(self, rows: Iterable[pa.RecordBatch]) -> KnownLoadCurve:
        """Return the known load curve of the rows, as breakpoints and steps of the rate."""
        total = LoadTimeline.empty()
        for batch in rows:
            start_s, end_s = _read_column(batch, "start_s"), _read_column(batch, "end_s")
            total = total.merge(LoadTimeline.of_transfers(start_s, end_s, _read_column(batch, "bytes_moved")))
        return KnownLoadCurve(array("d", total.times_s.tobytes()), array("d", total.rate_steps.tobytes()))

    def fit(
        self,
        rows: Iterable[pa.RecordBatch],
        curves: EndCurves,
        *,
        unknown_before_bps: float | None,
        current_model: StoredModel | None,
        requested: Demand,
    ) -> LinkModel:
        """Return the model of a link; raise ``CannotFit``."""
        known = EndpointCurves(
            self._ends.of(curves.source), self._ends.of(curves.destination), _to_bytes_curve(curves.between)
        )
        before_bps = np.nan if unknown_before_bps is None else unknown_before_bps
        batches = gather_single_files(map(to_link_log, rows))
        reduced = reduce_log(batches, known, unknown_before_bps=before_bps)
        before = CurrentModel(current_model.model(), current_model.fitted_at.timestamp()) if current_model else None
        return fit_link(reduced, np.random.default_rng(self._seed), before, requested)


class _CurveCache:
    """Known load curves of the endpoints of recently fitted links; the least recently used are evicted.

    Without the cache the rows of an endpoint are read once for each of its links: quadratic in its links.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._curves: OrderedDict[tuple[UUID, tuple[tuple[datetime, int], ...]], LoadTimeline] = OrderedDict()

    def of(self, known: EndpointLoad) -> LoadTimeline:
        key = known.endpoint_id, known.rows_by_month
        if key not in self._curves:
            total = LoadTimeline.empty()
            for curve in known.read():
                total = total.merge(_to_bytes_curve(curve))
            self._curves[key] = total
            while len(self._curves) > 1 and self._count_cached_bytes() > self._most_bytes:
                self._curves.popitem(last=False)
        self._curves.move_to_end(key)
        return self._curves[key]

    def _count_cached_bytes(self) -> int:
        return BYTES_A_BREAKPOINT * sum(len(curve.times_s) for curve in self._curves.values())


def _to_bytes_curve(curve: KnownLoadCurve) -> LoadTimeline:
    return LoadTimeline(np.asarray(curve.times_s), np.asarray(curve.rate_steps))


def _read_column(batch: pa.RecordBatch, name: str) -> FloatArray:
    """Return a numeric column as floats, absent values as NaN."""
    # Counts beyond 2^53 lose their last digits; a safe cast would refuse them, and with them all rows of the link.
    values: FloatArray = batch.column(name).cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return values


def _read_limiting_buffer(batch: pa.RecordBatch) -> FloatArray:
    """Return the socket buffers, absent where they are what the kernel begins with: it enlarges those."""
    buffer_bytes = _read_column(batch, "buffer_bytes")
    return np.where(np.isin(buffer_bytes, INITIAL_BUFFERS_BYTES), np.nan, buffer_bytes)


def to_link_log(batch: pa.RecordBatch) -> LinkLog:
    """Return a batch of the store's rows as the columns that models are fitted from."""
    halves = np.frombuffer(b"".join(batch.column("id").to_pylist()), dtype=">u8").reshape(-1, 2).astype(np.uint64)
    start_s, end_s = _read_column(batch, "start_s"), _read_column(batch, "end_s")
    duration_s = end_s - start_s
    disk = _read_column(batch, "usage_disk")
    settings = np.stack([_read_column(batch, axis) for axis in AXES], axis=1)
    settings[~(disk >= STORAGE_BOUND), AXES.index("io_block_bytes")] = np.nan  # it says nothing where disks were idle
    return LinkLog(
        id_high=halves[:, 0],
        id_low=halves[:, 1],
        start_s=start_s,
        end_s=end_s,
        received_s=_read_column(batch, "received_s"),
        moved_bytes=_read_column(batch, "bytes_moved"),
        throughput_bps=_read_column(batch, "throughput_bps"),
        bandwidth_bps=_read_column(batch, "bandwidth_bps"),
        rtt_s=_read_column(batch, "rtt_s"),
        min_rtt_s=_read_column(batch, "min_rtt_s"),
        buffer_bytes=_read_limiting_buffer(batch),
        retransmitted_bytes=_read_column(batch, "retransmitted_bytes"),
        utilisation=np.fmax(_read_column(batch, "usage_cpu"), disk),
        mean_file_bytes=_read_column(batch, "mean_file_bytes"),
        file_count=_read_column(batch, "file_count"),
        settings=settings,
        source_power_w=_read_column(batch, "source_energy_j") / duration_s,
        destination_power_w=_read_column(batch, "destination_energy_j") / duration_s,
        source_base_w=_read_column(batch, "source_base_w"),
        destination_base_w=_read_column(batch, "destination_base_w"),
    )
