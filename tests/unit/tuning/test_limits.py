import pytest
from hypothesis import given
from hypothesis import strategies as st

from tradewind.parameters import NO_CAPS, Caps, Parameters
from tradewind.tuning.limits import (
    First,
    Room,
    SettingLimits,
    fit_to_limits,
    fit_to_streams,
    limit_requests,
    split_streams,
)

counts = st.integers(1, 64)
parameters = st.builds(
    Parameters, concurrency=counts, parallelism=st.integers(1, 16), pipelining=st.none() | st.integers(0, 100)
)
caps = st.builds(
    Caps,
    concurrency=st.none() | st.integers(3, 40),
    parallelism=st.none() | st.integers(1, 16),
    pipelining=st.none() | st.integers(1, 32),
    streams=st.none() | st.integers(3, 80),
)
transfers = st.integers(1, 3).flatmap(
    lambda n: st.tuples(
        st.lists(parameters, min_size=n, max_size=n),
        st.builds(
            SettingLimits,
            caps,
            st.lists(st.integers(1, 500), min_size=n, max_size=n).map(tuple),
            st.none() | st.integers(1, 60),
        ),
    )
)


@given(transfers, st.sampled_from(First))
def test_fitted_settings_are_within_every_limit_and_never_below_one(transfer, first):
    settings, limits = transfer
    result = fit_to_limits(settings, limits, first)
    assert all(each.concurrency >= 1 and each.parallelism >= 1 for each in result)
    assert all(limits.caps.allow(each) for each in result)
    assert all(each.concurrency <= files for each, files in zip(result, limits.files, strict=True))
    if limits.max_streams is not None:
        assert sum(each.streams for each in result) <= limits.max_streams
    if limits.caps.concurrency is not None:
        assert sum(each.concurrency for each in result) <= limits.caps.concurrency


@given(transfers)
def test_fitting_twice_is_fitting_once(transfer):
    settings, limits = transfer
    once = fit_to_limits(settings, limits)
    assert fit_to_limits(once, limits) == once


@given(transfers)
def test_settings_within_the_limits_keep_their_streams(transfer):
    settings, limits = transfer
    roomy = SettingLimits(NO_CAPS, tuple(64 for _ in limits.files))
    assert [setting.streams for setting in fit_to_limits(settings, roomy)] == [setting.streams for setting in settings]


@given(st.lists(counts, min_size=1, max_size=4), st.integers(1, 300))
def test_shares_add_up_and_leave_one_for_each(wanted, total):
    dealt = split_streams(wanted, total)
    assert all(1 <= each <= most for each, most in zip(dealt, wanted, strict=True))
    assert sum(dealt) == max(min(total, sum(wanted)), len(wanted))


@given(parameters, counts, st.integers(1, 100), st.sampled_from(First))
def test_no_more_streams_than_requested(setting, streams, files, first):
    result = fit_to_streams(setting, streams, files=files, caps=NO_CAPS, first=first)
    assert 1 <= result.streams <= streams
    assert result.concurrency <= files


def test_loss_takes_files_first_and_delay_streams_a_file():
    setting = Parameters(concurrency=8, parallelism=4)
    by_loss = fit_to_streams(setting, 22, files=100, caps=NO_CAPS, first=First.CONCURRENCY)
    by_delay = fit_to_streams(setting, 22, files=100, caps=NO_CAPS, first=First.PARALLELISM)
    assert (by_loss.concurrency, by_loss.parallelism) == (5, 4)
    assert (by_delay.concurrency, by_delay.parallelism) == (8, 2)


@pytest.mark.parametrize(("streams", "shape"), [(7, (7, 1)), (6, (3, 2)), (5, (5, 1)), (3, (3, 1)), (9, (4, 2))])
def test_no_stream_is_left_unused_where_there_are_few_and_files_wait(streams, shape):
    setting = Parameters(concurrency=6, parallelism=2)
    fitted = fit_to_streams(setting, streams, files=100, caps=NO_CAPS)
    assert (fitted.concurrency, fitted.parallelism) == shape


def test_streams_that_files_cannot_take_go_into_parallelism():
    grown = fit_to_streams(Parameters(concurrency=2, parallelism=1), 8, files=2, caps=NO_CAPS)
    assert (grown.concurrency, grown.parallelism) == (2, 4)
    capped = fit_to_streams(Parameters(concurrency=2, parallelism=1), 8, files=2, caps=Caps(parallelism=3))
    assert (capped.concurrency, capped.parallelism) == (2, 3)


@given(st.tuples(counts, st.integers(1, 16), st.integers(1, 100)), counts, counts)
def test_a_point_that_is_cut_is_allowed(point, channels, streams):
    room = Room(channels=channels, parallelism=8, pipelining=16, streams=streams, files=100)
    assert room.allows(room.cut(point))


@given(st.integers(0, 100), counts, st.integers(1, 10_000))
def test_requests_never_exceed_a_channels_part_of_the_files(pipelining, channels, files):
    assert limit_requests(pipelining, channels, files) <= max(pipelining, 0)
    assert limit_requests(pipelining, channels, files) <= max(files // channels, 1)


@given(parameters, counts, st.integers(1, 100))
def test_fit_leaves_out_at_most_one_stream_per_file(setting, streams, files):
    result = fit_to_streams(setting, streams, files=files, caps=NO_CAPS)
    if result.concurrency < files:
        assert result.streams >= streams - result.concurrency


def test_one_file_more_takes_the_streams_that_do_not_fit_into_one():
    grown = fit_to_streams(Parameters(concurrency=1, parallelism=6), 8, files=2, caps=NO_CAPS)
    assert (grown.concurrency, grown.parallelism) == (2, 4)
