from tradewind.parameters import Parameters
from tradewind.recommendation import whole_setting


def test_tools_that_take_one_setting_get_all_channels_and_the_widest_chunks_streams():
    small = Parameters(concurrency=8, parallelism=1, pipelining=32)
    large = Parameters(concurrency=3, parallelism=4, pipelining=1)
    assert whole_setting((small, large)) == Parameters(concurrency=11, parallelism=4, pipelining=1)


def test_an_unknown_concurrency_counts_as_one_channel():
    assert whole_setting((Parameters(parallelism=2), Parameters(concurrency=2))).concurrency == 3


def test_the_setting_of_an_only_chunk_is_taken_as_it_is():
    only = Parameters(concurrency=2, codec="zstd")
    assert whole_setting((only,)) is only
