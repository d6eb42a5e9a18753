"""The loop that lets arrivals pile up: for how long it waits, and when it does not."""

import asyncio
import selectors
import socket

import pytest

from tradewind_agent.engine.http.patient_loop import MAX_PATIENCE_S, PatientLoop, PatientSelector

AGES_S = 3600.0


class Clock:
    """Time that passes by sleeping alone."""

    def __init__(self) -> None:
        self.now_s, self.slept_s = 100.0, []

    def monotonic(self) -> float:
        return self.now_s

    def sleep(self, duration_s: float) -> None:
        self.slept_s.append(duration_s)
        self.now_s += duration_s


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def selector(clock):
    with socket.socket() as quiet, PatientSelector(monotonic_s=clock.monotonic, sleep=clock.sleep) as selector:
        selector.register(quiet, selectors.EVENT_READ)  # an unconnected socket is always ready: no look blocks
        selector.patience_s = 0.004
        yield selector


def test_two_looks_are_its_patience_apart(selector, clock):
    selector.select(AGES_S)
    clock.now_s += 0.003
    selector.select(AGES_S)
    assert clock.slept_s == [pytest.approx(0.001)]


def test_selector_polls_immediately_after_long_iteration(selector, clock):
    selector.select(AGES_S)
    clock.now_s += 0.005
    selector.select(AGES_S)
    assert clock.slept_s == []


def test_selector_does_not_wait_with_ready_work(selector, clock):
    selector.select(AGES_S)
    selector.select(0)
    assert clock.slept_s == []


def test_a_timer_is_not_late(selector, clock):
    selector.select(AGES_S)
    selector.select(0.001)
    assert clock.slept_s == [pytest.approx(0.001)]


def test_hurried_turn_is_followed_at_once(selector, clock):
    selector.select(AGES_S)
    selector.is_hurried = True
    selector.select(0)
    selector.select(AGES_S)
    assert clock.slept_s == []
    selector.select(AGES_S)
    assert clock.slept_s == [pytest.approx(0.004)]


@pytest.mark.parametrize(
    ("rtt_s", "patience_s"), [(None, 0.0), (0.0, 0.0), (0.02, 0.001), (0.06, 0.003), (5.0, MAX_PATIENCE_S)]
)
def test_selector_waits_a_twentieth_of_round_trip_within_bound(rtt_s, patience_s):
    with asyncio.Runner(loop_factory=PatientLoop) as runner:
        loop = runner.get_loop()
        loop.adapt_to(rtt_s)
        assert loop.patience_s == pytest.approx(patience_s)


def test_small_pieces_are_received_in_few_iterations():
    pieces = 60

    async def received() -> tuple[int, bytes]:
        loop = asyncio.get_running_loop()
        loop.adapt_to(0.2)
        here, there = socket.socketpair()
        here.setblocking(False)
        turns, content = 0, b""

        sending = asyncio.create_task(asyncio.to_thread(lambda: [there.send(bytes([n])) for n in range(pieces)]))
        while len(content) < pieces:
            content += await loop.sock_recv(here, pieces)
            turns += 1
        await sending
        here.close()
        there.close()
        return turns, content

    with asyncio.Runner(loop_factory=PatientLoop) as runner:
        turns, content = runner.run(received())
    assert content == bytes(range(pieces))
    assert turns <= pieces / 4
