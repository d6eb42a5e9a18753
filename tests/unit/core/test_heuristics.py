import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradewind import heuristics
from tradewind.dataset import Chunk, ChunkKind, DataSet
from tradewind.errors import InvalidValue
from tradewind.parameters import Caps
from tradewind.path import Path

GIGABIT_60_MS = Path(bandwidth_bps=1e9, rtt_s=0.06)  # BDP 7.5 MB


def chunk(kind: ChunkKind, count: int, mean_bytes: int) -> Chunk:
    return Chunk(kind, DataSet(file_count=count, total_bytes=count * mean_bytes), None)


SMALL = chunk(ChunkKind.SMALL, 1000, 102_000)
MEDIUM = chunk(ChunkKind.MEDIUM, 100, 20_000_000)
LARGE = chunk(ChunkKind.LARGE, 10, 200_000_000)
ALL = (SMALL, MEDIUM, LARGE)
chunk_sets = st.sets(st.sampled_from(ALL), min_size=1).map(lambda s: tuple(sorted(s, key=ALL.index)))


@pytest.mark.parametrize(("mean_bytes", "expected"), [(102_000, 74), (2_400_000, 4), (222_000_000, 1), (100, 100)])
def test_pipelining_covers_the_round_trip_within_its_cap(mean_bytes, expected):
    assert heuristics.compute_pipelining(7.5e6, mean_bytes) == expected


@pytest.mark.parametrize(
    ("bdp", "mean", "buffer", "expected"),
    [(7.5e6, 1e9, 1e6, 8), (7.5e6, 1e5, 1e6, 1), (7.5e6, 2e6, 1e6, 2), (1e5, 1e9, 1e6, 1)],
)
def test_parallelism_is_what_buffers_and_files_can_use(bdp, mean, buffer, expected):
    assert heuristics.compute_parallelism(bdp, mean, buffer) == expected


def test_min_energy_gives_small_files_most_channels_and_large_ones_few():
    plan = {each.chunk: each.parameters for each in heuristics.plan_min_energy(ALL, GIGABIT_60_MS, channels=12)}
    assert plan[ChunkKind.SMALL].concurrency == 7  # ⌈(12 + 1)/2⌉
    assert plan[ChunkKind.MEDIUM].concurrency == 1  # ⌈BDP/mean⌉
    assert plan[ChunkKind.LARGE].concurrency == 1
    assert plan[ChunkKind.SMALL].pipelining == 74


def test_max_throughput_deals_large_medium_small():
    dealt = {each.chunk: each.parameters.concurrency for each in heuristics.plan_max_throughput(ALL, GIGABIT_60_MS, 5)}
    assert dealt == {ChunkKind.LARGE: 2, ChunkKind.MEDIUM: 2, ChunkKind.SMALL: 1}


def test_no_chunk_gets_more_channels_than_files():
    two_files = chunk(ChunkKind.LARGE, 2, 200_000_000)
    assert heuristics.deal_channels((SMALL, two_files), 10) == (8, 2)


@given(chunk_sets, st.integers(min_value=1, max_value=64))
def test_every_rule_gives_each_chunk_a_channel_and_deals_no_more_than_there_are(chunks, channels):
    for rule in (heuristics.plan_min_energy, heuristics.plan_max_throughput, heuristics.plan_energy_efficiency):
        plan = rule(chunks, GIGABIT_60_MS, channels)
        counts = [each.parameters.concurrency for each in plan]
        assert sorted(each.chunk for each in plan) == sorted(c.kind for c in chunks)
        assert all(count >= 1 for count in counts)
        assert sum(counts) <= max(channels, len(chunks))


@given(chunk_sets, st.integers(min_value=3, max_value=64))
def test_energy_efficiency_deals_every_channel(chunks, channels):
    plan = heuristics.plan_energy_efficiency(chunks, GIGABIT_60_MS, channels)
    assert sum(each.parameters.concurrency for each in plan) == channels


def test_efficiency_levels_go_up_by_four():
    assert heuristics.list_efficiency_levels(32) == (1, 5, 9, 13, 17, 21, 25, 29)


def test_flexible_throughput_jumps_once_and_then_climbs():
    assert heuristics.compute_flexible_throughput_concurrency(95e6, 10e6, 1) == 10
    assert heuristics.compute_flexible_throughput_concurrency(95e6, 94e6, 10) == 11
    assert heuristics.compute_flexible_throughput_concurrency(95e6, 96e6, 10) == 10
    with pytest.raises(InvalidValue):
        heuristics.compute_flexible_throughput_concurrency(95e6, 0, 1)


def test_flexible_throughput_opens_as_many_windows_as_the_target_needs():
    path = Path(bandwidth_bps=1e9, rtt_s=0.1, buffer_bytes=125_000)  # 10 Mbit/s a stream
    plan = heuristics.plan_flexible_throughput((chunk(ChunkKind.SMALL, 1000, 10_000),), path, target_bps=80e6)
    assert plan[0].parameters.concurrency == 5  # ⌈(8 + 1)/2⌉ of 8 channels, as in MinE


@pytest.mark.parametrize("target_bps", [1e12, 1e308, float("inf")])
def test_flexible_throughput_opens_no_more_than_its_channels(target_bps):
    plan = heuristics.plan_flexible_throughput((chunk(ChunkKind.SMALL, 10**6, 1_000),), GIGABIT_60_MS, target_bps, 8)
    assert plan[0].parameters.concurrency == 5


def test_the_two_efficiency_metrics_rank_differently():
    slow, fast = (50e6, 5.0), (80e6, 9.0)  # bit/s, W
    per_joule = [heuristics.compute_bits_per_joule(*each) for each in (slow, fast)]
    of_the_paper = [
        heuristics.compute_throughput_per_joule(bps, watts * 8 * 10**9 / bps) for bps, watts in (slow, fast)
    ]
    assert per_joule[0] > per_joule[1]
    assert of_the_paper[0] < of_the_paper[1]


def test_rules_need_a_path_and_a_channel():
    with pytest.raises(InvalidValue, match="bandwidth_bps and rtt_s"):
        heuristics.plan_min_energy(ALL, Path(bandwidth_bps=1e9))
    with pytest.raises(InvalidValue, match="at least 1"):
        heuristics.plan_max_throughput(ALL, GIGABIT_60_MS, 0)


def test_channels_follow_the_stricter_cap():
    assert heuristics.count_allowed_channels(Caps(concurrency=8, streams=6)) == 6
    assert heuristics.count_allowed_channels() == heuristics.MAX_CHANNELS
