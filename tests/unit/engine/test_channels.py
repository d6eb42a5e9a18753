from hypothesis import given
from hypothesis import strategies as st

from tradewind_agent.engine.dealing.channels import ChunkDemand, count_spare_streams, deal_channels

DEMANDS = st.lists(
    st.builds(
        ChunkDemand,
        concurrency=st.integers(0, 16),
        parallelism=st.integers(1, 8),
        files_left=st.integers(0, 40),
        remaining_bytes=st.integers(0, 10**9),
    ),
    max_size=4,
)


@given(DEMANDS)
def test_never_more_streams_than_planned_nor_channels_than_files(demands: list[ChunkDemand]):
    dealt = deal_channels(demands)
    assert sum(count * each.parallelism for count, each in zip(dealt, demands, strict=True)) <= sum(
        each.concurrency * each.parallelism for each in demands
    )
    assert all(count <= each.files_left for count, each in zip(dealt, demands, strict=True))
    assert all(count >= min(each.concurrency, each.files_left) for count, each in zip(dealt, demands, strict=True))


@given(DEMANDS)
def test_nothing_is_left_over_that_a_chunk_could_use(demands: list[ChunkDemand]):
    dealt = deal_channels(demands)
    spare = sum((each.concurrency - count) * each.parallelism for count, each in zip(dealt, demands, strict=True))
    assert all(count == each.files_left or each.parallelism > spare for count, each in zip(dealt, demands, strict=True))


def test_channels_of_a_finished_chunk_go_where_most_bytes_wait():
    done = ChunkDemand(concurrency=6, parallelism=1, files_left=0, remaining_bytes=0)
    medium = ChunkDemand(concurrency=2, parallelism=1, files_left=50, remaining_bytes=100)
    large = ChunkDemand(concurrency=1, parallelism=2, files_left=10, remaining_bytes=10_000)
    assert deal_channels([done, medium, large]) == [0, 2, 4]


def test_a_plan_is_followed_while_every_chunk_has_files():
    demands = [ChunkDemand(4, 1, 100, 5), ChunkDemand(2, 3, 9, 5), ChunkDemand(1, 8, 1, 5)]
    assert deal_channels(demands) == [4, 2, 1]


@given(DEMANDS)
def test_streams_of_channels_and_spare_ones_are_those_planned(demands: list[ChunkDemand]):
    dealt = deal_channels(demands)
    used = sum(count * each.parallelism for count, each in zip(dealt, demands, strict=True))
    assert used + count_spare_streams(demands, dealt) == sum(each.concurrency * each.parallelism for each in demands)
