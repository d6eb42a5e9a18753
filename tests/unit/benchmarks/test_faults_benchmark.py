"""The faults benchmark's own sums: which rows it looks for, and when recommendations count as back."""

import json
import time

import pytest

from benchmarks.faults import kinds
from benchmarks.faults.__main__ import LONGEST_BACK_S, list_late
from benchmarks.faults.kinds import Fault
from benchmarks.faults.network import Network
from benchmarks.faults.rows import ROWS_A_BATCH, list_ids, make_batch
from benchmarks.faults.watching import ASK_EVERY_S, STEADY_S, RequestLoop, RequestResult


def test_batch_is_reproducible_and_shares_no_row_with_another():
    assert make_batch(1, 7) == make_batch(1, 7)
    known = [row for agent in range(4) for number in range(3) for row in list_ids(agent, number)]
    assert len(set(known)) == len(known) == 4 * 3 * ROWS_A_BATCH


def test_batches_follow_one_another_in_time():
    first, second = ([json.loads(line)["started_at"] for line in make_batch(0, number)] for number in (0, 1))
    assert first == sorted(first)
    assert second == sorted(second)
    assert first[-1] < second[0]


def make_request_loop(answered: list[bool]) -> RequestLoop:
    """As if it had asked at 0 s, 0.1 s, …, and got an answer at once or not at all."""
    watcher = RequestLoop("http://nowhere", "", {}, Network())
    watcher.results = [
        RequestResult(place * ASK_EVERY_S, place * ASK_EVERY_S, 1 if is_answered else None, "")
        for place, is_answered in enumerate(answered)
    ]
    return watcher


STEADILY = [True] * round(STEADY_S / ASK_EVERY_S + 2)


def test_recommendations_that_never_stopped_are_back_at_once():
    assert make_request_loop(STEADILY).wait_until_steady(0.0) == 0.0


def test_they_are_back_with_the_first_answer_after_the_last_miss():
    answers = [False] * 5 + [True] * 3 + [False] + STEADILY
    assert round(make_request_loop(answers).wait_until_steady(0.0), 6) == 0.9


def test_misses_before_the_end_of_a_fault_do_not_count():
    assert make_request_loop([False] * 10 + STEADILY).wait_until_steady(1.0) == 0.0


def test_fault_after_which_recommendations_return_too_late_is_reported():
    results = [{"case": "api killed", "back_s": LONGEST_BACK_S + 1}, {"case": "disk full", "back_s": LONGEST_BACK_S}]
    assert list_late(results) == ["recommendations were back 6.0 s after api killed"]


@pytest.mark.parametrize("ends_slowly", [False, True])
def test_time_to_restore_the_network_is_not_charged_to_the_service(ends_slowly: bool) -> None:
    returned_s: list[float] = []

    def end() -> None:
        called_s = time.monotonic()
        while time.monotonic() <= called_s:  # a moment passes
            pass
        returned_s.append(time.monotonic())

    began_s, ended_s = kinds.cause_fault(Fault("any", lambda: None, 0.0, end, ends_slowly=ends_slowly))

    assert began_s <= ended_s
    assert (ended_s >= returned_s[0]) is ends_slowly
