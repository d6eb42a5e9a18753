from hypothesis import given
from hypothesis import strategies as st

from tradewind.parameters import Parameters
from tradewind.recommendation import combine_settings


def test_tools_that_take_one_setting_get_all_channels_and_the_widest_chunks_values():
    small = Parameters(concurrency=1, parallelism=3, pipelining=32)
    large = Parameters(concurrency=3, parallelism=4, pipelining=1)
    assert combine_settings((small, large)) == Parameters(concurrency=4, parallelism=3, pipelining=1)


@given(st.lists(st.builds(Parameters, concurrency=st.integers(1, 64), parallelism=st.integers(1, 64)), min_size=1))
def test_one_setting_opens_no_more_streams_than_the_chunks_did(settings):
    assert combine_settings(settings).streams <= sum(each.streams for each in settings)


def test_an_unknown_concurrency_counts_as_one_channel():
    assert combine_settings((Parameters(parallelism=2), Parameters(concurrency=2))).concurrency == 3


def test_the_setting_of_an_only_chunk_is_taken_as_it_is():
    only = Parameters(concurrency=2, codec="zstd")
    assert combine_settings((only,)) is only
