"""Rows of single files, of which several were under way at once, and rows that are transfers of their own."""

import math
from dataclasses import fields, replace

import numpy as np
import pytest

from tradewind.learning.link_log import LinkLog
from tradewind.learning.single_files import GAP_S, MOST_FILES, gather_single_files
from tradewind.parameters import AXES

FILE_BYTES = 10e6


def make_log(start_s: list[float], end_s: list[float], concurrency: list[float], **changed: list[float]) -> LinkLog:
    n = len(start_s)
    start, end = np.array(start_s), np.array(end_s)
    columns = {field.name: np.full(n, math.nan) for field in fields(LinkLog)}
    settings = np.full((n, len(AXES)), math.nan)
    settings[:, AXES.index("concurrency")] = concurrency
    settings[:, AXES.index("pipelining")] = changed.pop("pipelining", [math.nan] * n)
    columns |= {
        "id_high": np.zeros(n, dtype=np.uint64),
        "id_low": np.arange(n, dtype=np.uint64),
        "start_s": start,
        "end_s": end,
        "moved_bytes": np.full(n, FILE_BYTES),
        "throughput_bps": FILE_BYTES * 8 / (end - start),
        "file_count": np.ones(n),
        "mean_file_bytes": np.full(n, FILE_BYTES),
        "settings": settings,
    }
    return LinkLog(**columns | {name: np.array(values) for name, values in changed.items()})


def make_steady_log(files_at_once: int, files: int, file_s: float = 2.0) -> LinkLog:
    """Channels that each request a file as soon as the one before has come."""
    start_s = sorted(file_s * (number // files_at_once) for number in range(files))
    return make_log(start_s, [at + file_s for at in start_s], [files_at_once] * files)


def gather(*batches: LinkLog) -> LinkLog:
    first, *others = gather_single_files(batches)
    for other in others:
        first = first.join(other)
    return first


def test_the_rate_of_a_row_is_that_of_all_files_under_way():
    gathered = gather(make_steady_log(8, 64))
    assert gathered.throughput_bps == pytest.approx([8 * FILE_BYTES * 8 / 2] * 64)
    assert gathered.moved_bytes == pytest.approx([8 * FILE_BYTES] * 64)
    assert gathered.file_count.tolist() == [MOST_FILES] * 64


def test_one_file_after_another_stays_as_it_is():
    assert_unchanged(make_steady_log(1, 5))
    assert_unchanged(make_log([0, 2.2, 4.1], [2.3, 4.3, 6], [1, 1, 1]))


def test_a_gap_ends_a_set():
    log = make_log([0, 0, 10, 10, 10], [2, 2, 12, 12, 12], [2, 2, 3, 3, 3])
    assert gather(log).file_count.tolist() == [2, 2, 3, 3, 3]
    nearer = make_log([0, 0, 2 + GAP_S / 2, 2 + GAP_S / 2], [2, 2, 5, 5], [2, 2, 2, 2])
    assert gather(nearer).file_count.tolist() == [4, 4, 4, 4]


def test_small_files_are_not_as_fast_as_a_large_one_next_to_them():
    small = 100
    log = make_log(
        [0.0, *range(small)],
        [float(small), *(at + 0.9 for at in range(small))],
        [2] * (1 + small),
        moved_bytes=[5e9, *[1e4] * small],
    )
    own_bps = log.moved_bytes * 8 / (log.end_s - log.start_s)
    gathered = gather(replace(log, throughput_bps=own_bps))
    assert gathered.throughput_bps[1:] == pytest.approx(2 * own_bps[1:])
    assert gathered.throughput_bps[0] == pytest.approx(own_bps[0], rel=0.06)


def test_the_rate_is_that_of_as_many_files_as_the_concurrency_says():
    log = make_log([0, 1.0], [4, 5.0], [2, 2])
    [first, _] = gather(log).throughput_bps
    assert first == pytest.approx(2 * FILE_BYTES * 8 / 4)


def test_retransmitted_bytes_are_those_of_the_set():
    log = make_log([0, 0], [4, 4], [2, 2], retransmitted_bytes=[1e5, 1e5])
    gathered = gather(log)
    assert gathered.retransmitted_bytes == pytest.approx([2e5, 2e5])
    assert gathered.moved_bytes == pytest.approx([2 * FILE_BYTES] * 2)


def test_metered_transfers_stay_as_they_are():
    assert_unchanged(make_log([0, 0], [4, 4], [2, 2], source_power_w=[40.0, 40.0]))


def test_a_single_file_at_a_setting_of_several_has_its_own_rate():
    alone = make_log([0, 5, 10], [4, 9, 14], [8, 8, 8])
    assert_unchanged(alone)


def test_transfers_at_once_that_each_were_set_to_one_file_have_their_own_rates():
    assert_unchanged(make_log([0, 0, 0], [4, 4, 4], [1, 1, 1]))


def test_transfers_with_known_requests_in_flight_have_their_own_rates():
    assert_unchanged(make_log([0, 0], [4, 4], [2, 2], pipelining=[1, 1]))


def test_transfers_of_many_files_have_their_own_rates():
    assert_unchanged(make_log([0, 0], [4, 4], [2, 2], file_count=[20.0, 20.0]))


def test_rows_of_a_set_do_not_depend_on_the_batches_that_they_come_in():
    log = make_steady_log(4, 40)
    at_once = gather(log)
    in_batches = gather(*(log.take(slice(first, first + 10)) for first in range(0, 40, 10)))
    assert in_batches.throughput_bps == pytest.approx(at_once.throughput_bps)
    assert in_batches.id_low.tolist() == log.id_low.tolist()


def test_a_failed_file_that_only_the_importer_has_seen_does_not_hide_the_set():
    log = make_steady_log(8, 64)
    without_one = log.take(slice(1, None))
    assert gather(without_one).throughput_bps[:7] == pytest.approx([8 * FILE_BYTES * 8 / 2] * 7)


def assert_unchanged(log: LinkLog) -> None:
    gathered = gather(log)
    assert gathered.throughput_bps == pytest.approx(log.throughput_bps)
    assert gathered.moved_bytes == pytest.approx(log.moved_bytes)
    assert gathered.file_count.tolist() == log.file_count.tolist()
