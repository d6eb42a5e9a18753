"""Rows of the store as the columns that models are fitted from."""

import numpy as np
import pyarrow as pa
import pytest

from tradewind.parameters import AXES
from workers.learner import to_link_log

NUMBERS = (
    *("start_s", "end_s", "received_s", "bytes_moved", "throughput_bps", "bandwidth_bps", "rtt_s", "min_rtt_s"),
    *("buffer_bytes", "retransmitted_bytes", "usage_cpu", "usage_disk", "mean_file_bytes", "file_count", *AXES),
    *("source_energy_j", "destination_energy_j", "source_base_w", "destination_base_w"),
)


@pytest.mark.parametrize(("disk", "told"), [(0.95, 65_536.0), (0.3, np.nan), (None, np.nan)])
def test_block_size_is_learned_only_where_the_transfer_waited_for_storage(disk, told):
    row = dict.fromkeys(NUMBERS, 1.0) | {"end_s": 2.0, "io_block_bytes": 65_536.0, "usage_disk": disk, "usage_cpu": 0.5}
    columns = {name: pa.array([value], pa.float64()) for name, value in row.items()}
    log = to_link_log(pa.RecordBatch.from_pydict({"id": pa.array([bytes(16)]), **columns}))
    assert log.settings[0, AXES.index("io_block_bytes")] == pytest.approx(told, nan_ok=True)
    assert log.settings[0, AXES.index("concurrency")] == 1.0
    assert log.utilisation[0] == max(disk or 0.0, 0.5)


@pytest.mark.parametrize(("logged", "limiting"), [(87_380.0, np.nan), (131_072.0, np.nan), (4_194_304.0, 4_194_304.0)])
def test_a_buffer_that_the_kernel_enlarges_limits_no_stream(logged: float, limiting: float):
    columns = {name: pa.array([1.0], pa.float64()) for name in NUMBERS}
    columns |= {"end_s": pa.array([2.0], pa.float64()), "buffer_bytes": pa.array([logged], pa.float64())}
    log = to_link_log(pa.RecordBatch.from_pydict({"id": pa.array([bytes(16)]), **columns}))
    assert log.buffer_bytes[0] == pytest.approx(limiting, nan_ok=True)


def test_one_row_with_more_bytes_than_a_float_counts_exactly_does_not_stop_the_fit():
    columns = {name: pa.array([1.0, 1.0], pa.float64()) for name in NUMBERS}
    columns |= {"end_s": pa.array([2.0, 2.0], pa.float64()), "bytes_moved": pa.array([2**63 - 1, 10**9], pa.int64())}
    log = to_link_log(pa.RecordBatch.from_pydict({"id": pa.array([bytes(16), bytes(16)]), **columns}))
    assert len(log.settings) == 2
