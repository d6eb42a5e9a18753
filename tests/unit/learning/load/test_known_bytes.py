import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradewind.errors import InvalidValue
from tradewind.learning.load.known_load import LoadTimeline

transfers = st.lists(
    st.tuples(st.integers(0, 400), st.integers(1, 200), st.integers(0, 10**12)), min_size=1, max_size=12
).map(lambda rows: np.array(rows, dtype=float).T)
moments = st.lists(st.floats(-10, 700), min_size=1, max_size=8).map(np.array)
EPOCH_S = 1.7e9


def curve(rows):
    start, duration, moved = rows
    return LoadTimeline.of_transfers(EPOCH_S + start, EPOCH_S + start + duration, moved)


def brute_force(rows, time_s):
    """Each transfer's bytes up to a time, added up."""
    start, duration, moved = rows
    return sum(m * np.clip((time_s - s) / d, 0, 1) for s, d, m in zip(start, duration, moved, strict=True))


@given(transfers, moments)
def test_bytes_until_a_time_are_those_of_all_transfers_added_up(rows, time_s):
    assert curve(rows).compute_bytes_until(EPOCH_S + time_s) == pytest.approx(
        brute_force(rows, time_s), rel=1e-6, abs=1e5
    )


@given(transfers, transfers, moments)
def test_logs_that_come_later_are_merged_as_if_they_had_been_there(rows, late, time_s):
    merged = curve(rows).merge(curve(late)).compute_bytes_until(EPOCH_S + time_s)
    together = curve(np.hstack([rows, late])).compute_bytes_until(EPOCH_S + time_s)
    assert merged == pytest.approx(together, rel=1e-9, abs=1e4)


def test_an_endpoint_without_logs_moved_nothing():
    assert LoadTimeline.empty().compute_bytes_between(np.array([0.0]), np.array([9.0])) == 0
    one = curve(np.array([[0.0], [10.0], [100.0]]))
    assert LoadTimeline.empty().merge(one).compute_bytes_until(np.array([EPOCH_S + 5]))[0] == pytest.approx(50)


def test_a_transfer_must_end_after_it_starts():
    with pytest.raises(InvalidValue, match="row 1"):
        LoadTimeline.of_transfers(np.array([0.0, 5.0]), np.array([1.0, 5.0]), np.array([1.0, 1.0]))


def test_rounding_leaves_no_rate_behind_after_a_million_transfers():
    rng = np.random.default_rng(5)
    start = EPOCH_S + rng.uniform(0, 3e6, 1_000_000)
    moved = rng.uniform(1e6, 1e11, len(start))
    whole = LoadTimeline.of_transfers(start, start + rng.uniform(1, 1000, len(start)), moved)
    afterwards = whole.compute_bytes_until(np.array([EPOCH_S + 3.1e6, EPOCH_S + 3.2e6]))
    assert afterwards[0] == pytest.approx(moved.sum(), rel=1e-6)
    assert afterwards[1] - afterwards[0] < 1e5
