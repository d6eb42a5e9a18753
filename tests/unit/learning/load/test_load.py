from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeRegressor

from tradewind.cluster import compute_load_share
from tradewind.learning.load.external import (
    RECENT_ROWS,
    START_UP_SHARE,
    LinkRows,
    compute_congestion_bps,
    compute_external_load,
    compute_known_rate_bps,
    compute_load,
    compute_recent_unknown_bps,
    compute_request_limit_bps,
    is_upper_bound,
)
from tradewind.learning.load.known_load import LoadTimeline

NOT_LOGGED = np.nan


def curve(rows):
    start, end, moved = rows
    return LoadTimeline.of_transfers(start, end, moved)


def link_rows(start_s, end_s, moved_bytes, *, bandwidth_bps=1e9, **known):
    n = len(start_s)
    columns = {
        "bandwidth_bps": np.full(n, bandwidth_bps),
        "rtt_s": np.full(n, NOT_LOGGED),
        "buffer_bytes": np.full(n, NOT_LOGGED),
        "streams": np.full(n, NOT_LOGGED),
        "retransmitted_bytes": np.full(n, NOT_LOGGED),
        "utilisation": np.full(n, NOT_LOGGED),
        "request_limit_bps": np.full(n, NOT_LOGGED),
    }
    return LinkRows(
        start_s=start_s,
        end_s=end_s,
        moved_bytes=moved_bytes,
        throughput_bps=8 * moved_bytes / (end_s - start_s),
        **(columns | known),
    )


def overlap_s(start, end, other_start, other_end):
    return max(0.0, min(end, other_end) - max(start, other_start))


ends = st.sampled_from(("a", "b", "c"))
logs = st.lists(
    st.tuples(ends, ends, st.integers(0, 100), st.integers(1, 60), st.integers(0, 10**9)), min_size=1, max_size=12
).map(lambda rows: [row for row in rows if row[0] != row[1]] or [("a", "b", 0, 10, 10**6)])


@given(logs)
def test_known_rate_is_that_of_every_other_transfer_that_touches_an_end_counted_once(rows):
    source, destination, start, length, moved = zip(*rows, strict=True)
    start, end, moved = np.array(start, float), np.add(start, length, dtype=float), np.array(moved, float)
    ends_of = [{s, d} for s, d in zip(source, destination, strict=True)]

    def curve_of(chosen):
        mask = np.array([chosen(pair) for pair in ends_of])
        return LoadTimeline.of_transfers(start[mask], end[mask], moved[mask])

    for i, (s, d, *_) in enumerate(rows):
        known = compute_known_rate_bps(
            start[i : i + 1],
            end[i : i + 1],
            moved[i : i + 1],
            source=curve_of(lambda pair, s=s: s in pair),
            destination=curve_of(lambda pair, d=d: d in pair),
            both=curve_of(lambda pair, s=s, d=d: pair == {s, d}),
        )
        others = (j for j in range(len(rows)) if j != i and ends_of[j] & ends_of[i])
        expected = sum(
            8 * moved[j] / (end[j] - start[j]) * overlap_s(start[i], end[i], start[j], end[j]) for j in others
        )
        assert known[0] == pytest.approx(expected / (end[i] - start[i]), rel=1e-6, abs=10.0)


def test_chunks_of_one_transfer_are_load_for_each_other():
    start, end = np.array([0.0, 0.0]), np.array([10.0, 10.0])
    moved = np.array([1e9, 2e9])
    both = curve((start, end, moved))
    known = compute_known_rate_bps(start, end, moved, source=both, destination=both, both=both)
    assert known == pytest.approx([8 * 2e8, 8 * 1e8])


def test_congestion_counts_retransmission_and_the_round_trips_of_the_start():
    lost = compute_congestion_bps(
        np.array([1e6]), np.array([10.0]), np.array([8e6]), np.array([NOT_LOGGED]), np.array([4.0])
    )
    assert lost == pytest.approx([8e5])
    window_bytes = 16 * 14600  # four doublings from the first window
    rate = 8 * window_bytes / 0.1
    ramp = compute_congestion_bps(
        np.array([NOT_LOGGED]), np.array([10.0]), np.array([rate]), np.array([0.1]), np.array([1.0])
    )
    sent = sum(14600 * 2**k for k in range(4))
    assert ramp == pytest.approx([8 * ((2 + 4) * window_bytes - sent) / 10]), "two to connect and to ask"


@given(
    st.floats(20e6, 2e9),
    st.floats(0.0, 0.9),
    st.floats(0.005, 0.2),
    st.integers(1, 32),
    st.floats(1e6, 1e10),
)
def test_load_is_the_unexplained_share_of_an_unflagged_ideal_transfer(bandwidth, others, rtt, streams, moved):
    free = bandwidth * (1 - others)
    duration = ideal_duration_s(free, rtt, streams, moved)
    start = np.zeros(1)
    own = curve((start, start + duration, np.array([moved])))
    known = {"rtt_s": np.array([rtt]), "streams": np.array([float(streams)])}
    rows = link_rows(start, start + duration, np.array([moved]), bandwidth_bps=bandwidth, **known)
    load = compute_external_load(rows, source=own, destination=own, both=own)
    share = load.unknown_bps[0] / bandwidth
    assert share >= others - 1e-6, "an upper bound"
    if not load.upper_bound[0]:
        assert share <= others + START_UP_SHARE + 0.02, "and a near one"


def ideal_duration_s(free_bps, rtt_s, streams, moved_bytes):
    """Two round trips, then rounds in which each stream sends a window that doubles until all fill what is free."""
    round_bytes, window, elapsed, left = free_bps * rtt_s / 8, 14600.0, 2 * rtt_s, moved_bytes
    while streams * window < round_bytes and left > streams * window:
        left -= streams * window
        window *= 2
        elapsed += rtt_s
    sent_a_round = min(streams * window, round_bytes)
    return elapsed + rtt_s * left / sent_a_round


@pytest.mark.parametrize(
    ("buffer_bytes", "streams", "utilisation", "request_bps", "moved_bytes", "flagged"),
    [
        (1e6, 1.0, 0.1, NOT_LOGGED, 1e10, True),  # 80 Mbit/s of window on 1 Gbit/s
        (1e6, 16.0, 0.1, NOT_LOGGED, 1e10, False),
        (1e6, 16.0, 0.1, 5e8, 1e10, True),
        (1e6, 16.0, 0.1, NOT_LOGGED, 5e8, True),  # 4 s at the full rate, and 0.6 s to get there
        (NOT_LOGGED, NOT_LOGGED, NOT_LOGGED, NOT_LOGGED, 1e10, False),
        (NOT_LOGGED, 4.0, 0.9, NOT_LOGGED, 1e10, True),
        (NOT_LOGGED, 4.0, 0.1, 2e9, 1e10, False),
    ],
)
def test_a_row_limited_by_window_requests_start_or_host_is_flagged(
    buffer_bytes, streams, utilisation, request_bps, moved_bytes, flagged
):
    row = {
        "bandwidth_bps": 1e9,
        "rtt_s": 0.1,
        "buffer_bytes": buffer_bytes,
        "streams": streams,
        "utilisation": utilisation,
        "request_limit_bps": request_bps,
        "moved_bytes": moved_bytes,
    }
    assert is_upper_bound(**{name: np.array([value]) for name, value in row.items()})[0] == flagged


def test_round_trips_between_small_files_limit_a_transfer_and_pipelining_lifts_it():
    bandwidth, rtt, small = np.array([1e8]), np.array([0.06]), np.array([1e5])
    one = compute_request_limit_bps(bandwidth, rtt, small, np.array([1.0]), np.array([NOT_LOGGED]))
    assert one == pytest.approx([8e5 / (8e-3 + 0.06)])
    assert compute_request_limit_bps(bandwidth, rtt, small, np.array([4.0]), np.array([16.0])) > bandwidth
    assert (
        compute_request_limit_bps(bandwidth, rtt, np.array([1e9]), np.array([1.0]), np.array([1.0])) > 0.99 * bandwidth
    )


histories = st.lists(
    st.tuples(st.integers(0, 60), st.integers(1, 20), st.integers(0, 9), st.booleans()), min_size=1, max_size=20
)


@given(histories)
def test_recent_traffic_is_the_lowest_but_one_of_the_last_usable_rows_that_had_ended(rows):
    start, length, unknown, usable = (np.array(column) for column in zip(*rows, strict=True))
    end = start + length
    found = compute_recent_unknown_bps(
        start.astype(float), end.astype(float), unknown.astype(float), usable, before_any_bps=7
    )
    for i in range(len(rows)):
        earlier = sorted((end[j], unknown[j]) for j in range(len(rows)) if usable[j] and end[j] <= start[i])
        last = sorted(value for _, value in earlier[-RECENT_ROWS:])
        assert found[i] == (last[min(1, len(last) - 1)] if last else 7)


@given(histories, st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_change_their_load(rows, random):
    shuffled = random.sample(range(len(rows)), len(rows))
    start, length, unknown, usable = (np.array(column) for column in zip(*rows, strict=True))

    def found(order):
        return compute_recent_unknown_bps(
            start[order].astype(float),
            (start + length)[order].astype(float),
            unknown[order].astype(float),
            usable[order],
            before_any_bps=7,
        )

    assert np.array_equal(found(np.arange(len(rows)))[shuffled], found(np.array(shuffled)))


def test_load_of_arrays_is_the_load_share_of_each():
    known, unknown, bandwidth = np.array([2e8, 9e8, 1e8]), np.array([1e8, 9e8, 0.0]), np.array([1e9, 1e9, NOT_LOGGED])
    expected = [compute_load_share(known_bps=2e8, unknown_bps=1e8, bandwidth_bps=1e9), 0.95, 0.0]
    assert compute_load(bandwidth, known, unknown) == pytest.approx(expected)


def busy_link(rng, throughput_bps):
    """Rows that overlap each other and those of another link at the source."""
    n = len(throughput_bps)
    start = np.cumsum(rng.exponential(30.0, n))
    end = start + rng.uniform(5, 40, n)
    moved = throughput_bps * (end - start) / 8
    elsewhere_start = np.sort(rng.uniform(0, end.max(), n))
    elsewhere = (elsewhere_start, elsewhere_start + rng.uniform(5, 40, n), rng.uniform(1e6, 3e8, n))
    own = curve((start, end, moved))
    rows = link_rows(start, end, moved, bandwidth_bps=4e9)
    return rows, {"source": own.merge(curve(elsewhere)), "destination": own, "both": own}


def held_out_r2(feature, target):
    half = len(target) // 2
    model = DecisionTreeRegressor(min_samples_leaf=40, random_state=0).fit(feature[:half, None], target[:half])
    return model.score(feature[half:, None], target[half:])


def test_a_regressor_cannot_read_noise_off_the_load():
    rng = np.random.default_rng(11)
    noise = rng.uniform(4e8, 2e9, 4000)
    rows, curves = busy_link(rng, noise)
    load = compute_external_load(rows, **curves)
    own_residual = compute_load(rows.bandwidth_bps, load.known_bps, load.unknown_bps)
    assert held_out_r2(load.feature, noise) < 0.02
    assert held_out_r2(own_residual, noise) > 0.5, "the leak that the feature avoids is there"


def test_rows_outside_training_never_reach_the_load_of_others():
    rng = np.random.default_rng(12)
    throughput = rng.uniform(4e8, 2e9, 300)
    rows, curves = busy_link(rng, throughput)
    training = rng.random(300) < 0.7
    disturbed = np.where(training, rows.throughput_bps, rows.throughput_bps * 5)
    before = compute_external_load(rows, **curves, training=training)
    after = compute_external_load(replace(rows, throughput_bps=disturbed), **curves, training=training)
    assert np.array_equal(before.feature, after.feature)
    assert not np.array_equal(before.unknown_bps, after.unknown_bps)


def test_unlogged_traffic_that_comes_and_goes_shows_in_the_load_of_later_rows():
    start = np.arange(40) * 100.0
    unlogged = np.where(np.arange(40) < 20, 1e8, 6e8)
    moved = (1e9 - unlogged) * 50 / 8
    rows = link_rows(start, start + 50, moved)
    own = curve((start, start + 50, moved))
    load = compute_external_load(rows, source=own, destination=own, both=own, before_any_bps=1e8)
    assert load.feature[:20] == pytest.approx(0.1)
    assert load.feature[25:] == pytest.approx(0.6)
    assert load.present_unknown_bps == pytest.approx(6e8)


def test_slow_settings_between_fast_ones_do_not_count_as_load():
    start = np.arange(60) * 100.0
    settings_bps = np.array([2e8, 9e8, 4e8])[np.arange(60) % 3]
    rows = link_rows(start, start + 50, settings_bps * 50 / 8)
    own = curve((start, start + 50, rows.moved_bytes))
    load = compute_external_load(rows, source=own, destination=own, both=own)
    assert load.feature[10:].max() <= 0.6
    assert np.median(load.feature[10:]) == pytest.approx(0.1)


def test_load_is_unknown_where_no_row_shows_others():
    start = np.arange(20) * 100.0
    moved = np.full(20, 1e8)
    own = curve((start, start + 50, moved))
    rows = link_rows(start, start + 50, moved, utilisation=np.full(20, 0.9))
    load = compute_external_load(rows, source=own, destination=own, both=own)
    assert load.upper_bound.all()
    assert np.isnan(load.present_unknown_bps)
    assert not load.feature.any()
    before = compute_external_load(rows, source=own, destination=own, both=own, before_any_bps=3e8)
    assert before.present_unknown_bps == 3e8
    assert before.feature == pytest.approx(0.3)
