"""The token bucket against a clock that the test turns."""

import random
from collections.abc import Callable, Iterator

import pytest

from tradewind.errors import InvalidValue
from tradewind_agent.engine.http.rate_limit import BURST_S, PART_BYTES, RateLimit
from tradewind_agent.engine.options import EngineOptions


class Timer:
    def __init__(self, at_s, call):
        self.at_s, self.call = at_s, call

    def cancel(self):
        self.call = lambda: None


class TurnedLoop:
    """The clock and the timers of an event loop; its time passes in `turn_to` only."""

    def __init__(self):
        self.now_s = 0.0
        self.timers: list[Timer] = []
        self.soon: list[Callable[[], None]] = []

    def time(self):
        return self.now_s

    def call_later(self, delay_s, call):
        self.timers.append(Timer(self.now_s + delay_s, call))
        return self.timers[-1]

    def call_soon(self, call):
        self.soon.append(call)

    def turn_to(self, end_s, late_s: Iterator[float]):
        """Run what is due, each timer a little late, as on a busy machine."""
        while self.timers and (first := min(self.timers, key=lambda timer: timer.at_s)).at_s < end_s:
            self.timers.remove(first)
            self.now_s = max(self.now_s, first.at_s + next(late_s))
            first.call()
            while self.soon:
                self.soon.pop(0)()
        self.now_s = max(self.now_s, end_s)


class Greedy:
    """A connection that always has more to move, ``block_bytes`` at once; as a real one, after it was told to go on."""

    def __init__(self, limit, loop, block_bytes=65536):
        self.limit, self.loop, self.block_bytes = limit, loop, block_bytes
        self.moved: list[tuple[float, int]] = []

    @property
    def total_bytes(self):
        return sum(moved for _, moved in self.moved)

    def resume(self):
        self.loop.call_soon(self.move)

    def move(self):
        while not self.limit.is_exhausted:
            nbytes = self.limit.compute_allowance(self, self.block_bytes)
            self.moved.append((self.loop.time(), nbytes))
            if self.limit.count_moved(self, nbytes):
                break
        self.limit.wait(self)


def late(most_s=0.0):
    rng = random.Random(5)
    while True:
        yield rng.uniform(0, most_s)


def begin(rate_bytes_per_s, connections, block_bytes=65536):
    loop = TurnedLoop()
    limit = RateLimit(rate_bytes_per_s, loop)
    greedy = [Greedy(limit, loop, block_bytes) for _ in range(connections)]
    for each in greedy:
        each.move()
    return loop, limit, greedy


@pytest.mark.parametrize("connections", [1, 3, 40])
@pytest.mark.parametrize("rate", [2_000.0, 1e6, 1e8])
def test_no_window_of_time_holds_more_than_the_rate_and_one_burst(rate, connections):
    loop, _, greedy = begin(rate, connections)
    loop.turn_to(5.0, late(0.03))
    moved = sorted(event for each in greedy for event in each.moved)
    slack = rate * BURST_S + connections  # a byte each, for parts are rounded up to one
    for first in range(0, len(moved), max(len(moved) // 50, 1)):
        start_s, total = moved[first][0], 0
        for at_s, nbytes in moved[first:]:
            total += nbytes
            assert total <= rate * (at_s - start_s) + slack


def test_full_rate_is_used_even_with_late_timers():
    loop, _, greedy = begin(1e6, 4)
    loop.turn_to(10.0, late(0.04))
    assert sum(each.total_bytes for each in greedy) >= 0.98 * 10 * 1e6


@pytest.mark.parametrize("block_bytes", [4_096, 16_384, 65_536, 262_144])
@pytest.mark.parametrize(("rate", "connections"), [(100_000.0, 2), (200_000.0, 10), (1.5e6, 3), (1e7, 3), (5e7, 3)])
def test_connections_share_rate_equally(rate: float, connections: int, block_bytes: int):
    loop, _, greedy = begin(rate, connections, block_bytes)
    loop.turn_to(10.0, late(0.005))
    shares = [each.total_bytes for each in greedy]
    assert min(shares) >= 0.8 * max(shares)


def test_a_part_that_is_not_used_is_the_next_ones():
    """One that has nothing to move keeps its part for a round, and then nobody waits for it."""
    loop = TurnedLoop()
    limit = RateLimit(1e5, loop)
    idle, busy = Counting(), Greedy(limit, loop)
    limit.count_moved(busy, 10_000)
    for each in (idle, busy):
        limit.wait(each)
    loop.turn_to(10.0, late())
    assert idle.woken == 1
    assert busy.total_bytes >= 0.97 * 10.0 * 1e5


@pytest.mark.parametrize(("rate", "connections"), [(2_000.0, 40), (1e6, 20), (1e7, 64)])
def test_connections_resume_only_for_worthwhile_parts(rate: float, connections: int):
    loop, _, greedy = begin(rate, connections)
    loop.turn_to(10.0, late())
    moved = [nbytes for each in greedy for at_s, nbytes in each.moved if at_s > 2 * BURST_S]
    a_round_bytes = rate * BURST_S / 2
    assert min(moved) >= min(PART_BYTES, a_round_bytes) - 1


def test_connection_waits_after_using_its_part():
    loop = TurnedLoop()
    limit = RateLimit(1e6, loop)
    first, second = Counting(), Counting()
    limit.count_moved(first, 100_000)
    for each in (first, second):
        limit.wait(each)
    loop.turn_to(0.0501, late())
    assert (first.woken, second.woken) == (1, 1)
    part = limit.compute_allowance(first, 65_536)
    assert 24_000 < part < 26_000
    assert not limit.count_moved(first, part // 2)
    assert limit.count_moved(first, part - part // 2)
    assert limit.compute_allowance(second, 65_536) == part


def test_another_rate_holds_from_the_next_byte_on():
    loop, limit, (greedy,) = begin(1e5, 1)
    loop.turn_to(2.0, late())
    before = greedy.total_bytes
    limit.change(1e6)
    loop.turn_to(4.0, late())
    raised = greedy.total_bytes - before
    assert 0.95 * 2e6 <= raised <= 2e6 + 1e6 * BURST_S
    limit.change(1e4)
    loop.turn_to(6.0, late())
    assert greedy.total_bytes - before - raised <= 2e4 + 1e4 * BURST_S + 1


def test_parts_hold_only_while_bytes_are_short():
    loop, limit, greedy = begin(1e5, 50)
    loop.turn_to(1.0, late())
    assert limit.compute_allowance(greedy[0], 65536) <= 1e5 * BURST_S / 2
    loop.now_s += 10.0
    assert limit.compute_allowance(greedy[0], 65536) == 1e5 * BURST_S
    limit.count_moved(greedy[0], 9_999)
    limit.change(1e9)
    loop.now_s += 10.0
    assert limit.compute_allowance(greedy[0], 65536) == 65536


class Counting:
    """A connection that only counts how often it is woken."""

    def __init__(self):
        self.woken = 0

    def resume(self):
        self.woken += 1


def test_lifting_limit_resumes_waiting_connections_at_once():
    loop = TurnedLoop()
    limit, waiting, gone = RateLimit(10.0, loop), Counting(), Counting()
    limit.count_moved(waiting, 1000)
    for each in (waiting, gone):
        limit.wait(each)
    limit.forget(gone)
    loop.turn_to(1.0, late())
    assert waiting.woken == 0
    limit.change(None)
    loop.turn_to(1.0 + 1e-9, late())
    assert (waiting.woken, gone.woken) == (1, 0)
    assert not limit.is_exhausted
    assert limit.compute_allowance(waiting, 123_456) == 123_456


def test_bytes_moved_without_a_limit_are_no_debt_once_there_is_one():
    loop = TurnedLoop()
    limit = RateLimit(None, loop)
    limit.count_moved(Counting(), 10**12)
    limit.change(1e6)
    loop.now_s = 1.0
    assert not limit.is_exhausted


@pytest.mark.parametrize("rate", [0.0, -1.0, float("inf"), float("nan")])
def test_a_rate_that_is_none_is_refused(rate):
    with pytest.raises(InvalidValue, match="rate limit"):
        EngineOptions(rate_bytes_per_s=rate)
