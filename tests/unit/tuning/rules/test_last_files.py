"""What becomes of the streams of files that are done, and of searches over more files than channels."""

import math
from dataclasses import replace

import pytest

from tests.unit.tuning.next_ticks import parameters_of, sample, stepped
from tests.unit.tuning.simulated_path import MAX_THROUGHPUT, Transfer, chunk_basis
from tests.unit.tuning.transfers import BIG, P, warm
from tradewind.dataset import DataSet
from tradewind.parameters import NO_CAPS, Caps, Parameters
from tradewind.tuning import Basis, DecisionKind
from tradewind.tuning.limits import First, fit_to_streams

VIDEOS = DataSet(file_count=2, total_bytes=4 * 10**9)
TWO_BY_FOUR = Parameters(concurrency=2, parallelism=4, pipelining=1)


def shape(decision):
    return [(each.concurrency, each.parallelism) for each in parameters_of(decision)]


def tick(transfer, files, *, remaining=10**9, **values):
    one = sample(transfer, remaining_files=files, remaining=remaining, **values)
    transfer.state, transfer.decision = stepped(transfer, one)
    return transfer.decision


def two_videos(caps=NO_CAPS):
    transfer = warm(VIDEOS, start=TWO_BY_FOUR, caps=caps)
    tick(transfer, 2)
    return transfer


def test_the_last_file_has_the_streams_of_both_at_the_next_tick():
    decision = tick(two_videos(), 1)
    assert decision.kind is DecisionKind.REDISTRIBUTE
    assert shape(decision) == [(1, 8)]
    assert decision.reason == "files left and limits permit 1 × 8 streams"


@pytest.mark.parametrize("odd", [{"throughput_bps": 1.0}, {"rtt_s": 0.3}])
def test_they_are_not_lost_where_that_tick_decides_something_else(odd):
    transfer = two_videos()
    tick(transfer, 1, **odd)
    assert tick(transfer, 1).streams == 8


def test_they_stay_away_while_others_need_them_and_at_the_users_cap():
    crowded = two_videos(Caps(streams=8))
    crowded.basis = replace(crowded.basis, caps=Caps(streams=5))
    assert shape(tick(crowded, 1)) == [(1, 5)]
    capped = two_videos(Caps(parallelism=4))
    assert shape(tick(capped, 1)) == [(1, 4)]


def test_a_file_that_ends_soon_gets_none():
    assert shape(tick(two_videos(), 1, remaining=10**6)) == [(1, 4)]


def search_over(files, concurrency, parallelism, carried):
    """What a search asks for and ends at, where n streams carry ``carried(n)``."""
    start = Parameters(concurrency=concurrency, parallelism=parallelism, pipelining=1)
    dataset = DataSet(file_count=files, total_bytes=40 * 10**9)
    transfer = Transfer(Basis(MAX_THROUGHPUT, (chunk_basis(dataset, start),), P.path))
    tried = {}
    for _ in range(12):
        streams = transfer.decision.streams
        tried[streams] = carried(streams)
        tick(transfer, files, remaining=10**10, throughput_bps=carried(streams))
    assert transfer.state.search.has_converged
    return transfer, tried


@pytest.mark.parametrize(("files", "concurrency", "parallelism"), [(100, 4, 4), (20, 8, 3), (2, 2, 8), (5, 4, 4)])
def test_a_search_ends_at_streams_that_were_tried_or_nearly(files, concurrency, parallelism):
    knee = concurrency * parallelism

    def carried(streams):
        return 92e6 * min(streams / knee, (knee / streams) ** 0.5)

    transfer, tried = search_over(files, concurrency, parallelism, carried)
    assert carried(transfer.decision.streams) >= 0.9 * max(tried.values())
    search = transfer.state.search
    assert search.best_streams == search.streams == transfer.decision.streams


def test_concurrency_is_as_near_as_it_can_be_where_files_wait():
    six = fit_to_streams(Parameters(concurrency=2, parallelism=8), 12, files=9, caps=NO_CAPS, first=First.CONCURRENCY)
    assert (six.concurrency, six.parallelism) == (2, 6)


def test_a_transfer_of_many_files_is_not_widened():
    transfer = warm(BIG, start=Parameters(concurrency=4, parallelism=2, pipelining=4))
    decision = tick(transfer, 1000)
    assert math.prod(shape(decision)[0]) <= 16
    assert shape(decision)[0][1] <= 4
