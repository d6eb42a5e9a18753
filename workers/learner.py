"""Fills the learner's port with the numerics: Arrow in, domain values out."""

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
from tradewind.learning.current_model import InForce
from tradewind.learning.link import fit_link
from tradewind.learning.link_log import EndpointCurves, LinkLog, reduce_log
from tradewind.learning.load.known_load import KnownBytesCurve
from tradewind.mobile.io_request import STORAGE_BOUND
from tradewind.model import LinkModel
from tradewind.parameters import AXES
from tradewind.units import MIB

FloatArray = npt.NDArray[np.float64]

MOST_KEPT_BYTES = 256 * MIB
"""Of curves, by each worker process: 8,000,000 transfers in all."""

BYTES_A_BREAKPOINT = 4 * 8
"""Its time, the step of the rate there, and what the curve derives from both: the rate and the bytes until then."""


class Learner:
    """Fits curves and links; the held-out rows of a link are drawn from ``seed``, so that a refit repeats itself."""

    def __init__(self, *, seed: int = 0, most_kept_bytes: int = MOST_KEPT_BYTES) -> None:
        self._seed = seed
        self._ends = _KeptCurves(most_kept_bytes)

    def curve(self, rows: Iterable[pa.RecordBatch]) -> KnownLoadCurve:
        """Known bytes of the rows, as breakpoints and steps of the rate."""
        whole = KnownBytesCurve.empty()
        for batch in rows:
            start_s, end_s = _column(batch, "start_s"), _column(batch, "end_s")
            whole = whole.merged(KnownBytesCurve.of_transfers(start_s, end_s, _column(batch, "bytes_moved")))
        return KnownLoadCurve(array("d", whole.times_s.tobytes()), array("d", whole.rate_steps.tobytes()))

    def fit(
        self,
        rows: Iterable[pa.RecordBatch],
        curves: EndCurves,
        *,
        unknown_before_bps: float | None,
        in_force: StoredModel | None,
    ) -> LinkModel:
        """The model of a link; raises ``CannotFit``."""
        known = EndpointCurves(self._ends.of(curves.source), self._ends.of(curves.destination), _known(curves.between))
        before_bps = np.nan if unknown_before_bps is None else unknown_before_bps
        reduced = reduce_log(map(link_log, rows), known, unknown_before_bps=before_bps)
        before = InForce(in_force.model(), in_force.fitted_at.timestamp()) if in_force else None
        return fit_link(reduced, np.random.default_rng(self._seed), before)


class _KeptCurves:
    """Known bytes of the ends of the links fitted last; the longest unused are dropped, but for the newest.

    An end has its rows read once for each of its links otherwise: the square of its links.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._curves: OrderedDict[tuple[UUID, tuple[tuple[datetime, int], ...]], KnownBytesCurve] = OrderedDict()

    def of(self, known: EndpointLoad) -> KnownBytesCurve:
        key = known.endpoint_id, known.rows_by_month
        if key not in self._curves:
            whole = KnownBytesCurve.empty()
            for curve in known.read():
                whole = whole.merged(_known(curve))
            self._curves[key] = whole
            while len(self._curves) > 1 and self._kept_bytes() > self._most_bytes:
                self._curves.popitem(last=False)
        self._curves.move_to_end(key)
        return self._curves[key]

    def _kept_bytes(self) -> int:
        return BYTES_A_BREAKPOINT * sum(len(each.times_s) for each in self._curves.values())


def _known(curve: KnownLoadCurve) -> KnownBytesCurve:
    return KnownBytesCurve(np.asarray(curve.times_s), np.asarray(curve.rate_steps))


def _column(batch: pa.RecordBatch, name: str) -> FloatArray:
    """A numeric column as floats, absent as NaN."""
    values: FloatArray = batch.column(name).cast(pa.float64()).to_numpy(zero_copy_only=False)
    return values


def link_log(batch: pa.RecordBatch) -> LinkLog:
    """A batch of the store's fit rows as the columns that models are fitted from."""
    halves = np.frombuffer(b"".join(batch.column("id").to_pylist()), dtype=">u8").reshape(-1, 2).astype(np.uint64)
    start_s, end_s = _column(batch, "start_s"), _column(batch, "end_s")
    duration_s = end_s - start_s
    disk = _column(batch, "usage_disk")
    settings = np.stack([_column(batch, axis) for axis in AXES], axis=1)
    settings[~(disk >= STORAGE_BOUND), AXES.index("io_block_bytes")] = np.nan  # it tells nothing where disks had time
    return LinkLog(
        id_high=halves[:, 0],
        id_low=halves[:, 1],
        start_s=start_s,
        end_s=end_s,
        received_s=_column(batch, "received_s"),
        moved_bytes=_column(batch, "bytes_moved"),
        throughput_bps=_column(batch, "throughput_bps"),
        bandwidth_bps=_column(batch, "bandwidth_bps"),
        rtt_s=_column(batch, "rtt_s"),
        min_rtt_s=_column(batch, "min_rtt_s"),
        buffer_bytes=_column(batch, "buffer_bytes"),
        retransmitted_bytes=_column(batch, "retransmitted_bytes"),
        utilisation=np.fmax(_column(batch, "usage_cpu"), disk),
        mean_file_bytes=_column(batch, "mean_file_bytes"),
        file_count=_column(batch, "file_count"),
        settings=settings,
        source_power_w=_column(batch, "source_energy_j") / duration_s,
        destination_power_w=_column(batch, "destination_energy_j") / duration_s,
        source_base_w=_column(batch, "source_base_w"),
        destination_base_w=_column(batch, "destination_base_w"),
    )
