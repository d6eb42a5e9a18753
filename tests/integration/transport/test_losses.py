"""What a sender by FLD_TCP makes of losses and idle times, told to it acknowledgement by acknowledgement."""

import time
from collections.abc import Iterator, Mapping

import pytest

from benchmarks.transport.origin import read_tcp_state
from benchmarks.transport.scripted_receiver import LEAST_TIMEOUT_S, ScriptedReceiver, start_scripted_receiver

pytestmark = pytest.mark.usefixtures("emulation")

SEGMENT_BYTES = 1000
LONG_SEGMENT_BYTES = 65_000
WINDOW, SECOND = 10, 30
LOST = WINDOW
"""The first segment of the second round."""

DELAY_S = 0.05
"""Of acknowledgements: several ticks of the kernel's clock, and far more than the 16 ms from which delay is a queue."""

SPACING_S = 0.002
"""Of acknowledgements by a path: more than segments need to leave this machine."""


@pytest.fixture
def receiver(installed) -> Iterator[ScriptedReceiver]:
    """A flow of two rounds, the second of which has been sent."""
    with start_scripted_receiver("fld_tcp", segment_bytes=SEGMENT_BYTES) as standing:
        write(standing, WINDOW + SECOND)
        standing.take(WINDOW)
        assert standing.acknowledge(WINDOW)["window_segments"] == SECOND
        assert standing.take(SECOND)[0] == LOST
        yield standing


def write(receiver: ScriptedReceiver, segments: int, segment_bytes: int = SEGMENT_BYTES) -> None:
    size = segments * segment_bytes
    assert receiver.sender.send(bytes(size)) == size


def windows(receiver: ScriptedReceiver, arrived: int, rounds: int) -> list[int]:
    """After all before ``arrived`` have, and after each further round, all of which arrives."""
    seen = [receiver.acknowledge(arrived)["window_segments"]]
    for _ in range(rounds):
        receiver.take(seen[-1])
        arrived += seen[-1]
        seen.append(receiver.acknowledge(arrived)["window_segments"])
    return seen


def retransmit_in_vain(receiver: ScriptedReceiver) -> dict[str, int]:
    """One segment is lost, and when it is sent again; the rest arrives in two parts. The sender's state."""
    half = LOST + SECOND // 2
    receiver.acknowledge(LOST, range(LOST + 1, half))
    assert receiver.take(1) == [LOST]
    time.sleep(DELAY_S)  # the timeout counts from the latest news, the idle time from the latest segment
    return receiver.acknowledge(LOST, range(LOST + 1, LOST + SECOND))


def test_a_timeout_after_a_lost_retransmission_rebuilds_by_doubling_up_to_half(receiver):
    assert retransmit_in_vain(receiver)["window_segments"] == SECOND - 1
    assert receiver.take(1) == [LOST]
    timed_out, half = read_tcp_state(receiver.sender), SECOND // 2
    assert (timed_out["window_segments"], timed_out["threshold_segments"]) == (1, half)
    write(receiver, 100)
    assert windows(receiver, LOST + SECOND, 5) == [2, 4, 8, half, half + 1, half + 2]


def test_a_timeout_of_a_lost_tail_rebuilds_by_doubling_up_to_half(receiver):
    time.sleep(DELAY_S)
    window = receiver.acknowledge(LOST + 2)["window_segments"]
    assert receiver.take(1) == [LOST + 2]
    timed_out = read_tcp_state(receiver.sender)
    assert (timed_out["window_segments"], timed_out["threshold_segments"]) == (1, window // 2)
    assert windows(receiver, LOST + 3, 3) == [2, 4, 8, 16]


def test_a_path_that_takes_smaller_segments_during_a_recovery_is_no_timeout(receiver):
    before = retransmit_in_vain(receiver)
    after = receiver.refuse(LOST, SEGMENT_BYTES // 2)
    assert after["retransmitted_segments"] > before["retransmitted_segments"]
    assert after["threshold_segments"] == before["threshold_segments"] == SECOND - 1


@pytest.mark.parametrize("timeouts", [1, 2])
def test_a_timeout_that_was_none_leaves_the_flow_as_it_was(receiver, timeouts):
    """All had arrived, late: the next window is three times as large, not twice."""
    assert receiver.take(timeouts) == [LOST] * timeouts
    assert read_tcp_state(receiver.sender)["window_segments"] == 1
    assert receiver.acknowledge(LOST + SECOND)["window_segments"] == 3 * SECOND


@pytest.mark.parametrize("lost", [1, SECOND // 2, SECOND // 2 + 1, SECOND - 3])
def test_window_shrinks_by_the_lost_segments_and_by_half_at_most(receiver, lost):
    told_of = receiver.acknowledge(LOST, range(LOST + lost, LOST + SECOND))
    assert told_of["window_segments"] == SECOND - lost  # as many as were delivered
    assert receiver.take(1) == [LOST]
    left = max(SECOND - lost, SECOND // 2)
    expect(receiver.acknowledge(LOST + SECOND), left)


def test_half_is_stored_also_where_more_than_that_is_reported_in_parts(receiver):
    first, second = 5, SECOND // 2 + 2
    told_of = receiver.acknowledge(LOST, range(LOST + first, LOST + first + 3))
    assert told_of["window_segments"] == SECOND - first
    receiver.acknowledge(LOST, range(LOST + 3 + second, LOST + SECOND))
    assert receiver.take(first) == list(range(LOST, LOST + first))
    expect(receiver.acknowledge(LOST + SECOND), SECOND // 2)


def expect(state: Mapping[str, int], left: int) -> None:
    assert state["threshold_segments"] == left
    assert left <= state["window_segments"] <= left + 1  # which a whole window that arrived is worth


@pytest.mark.parametrize("marked", [True, False])
def test_a_mark_of_congestion_halves_also_while_a_loss_is_repaired(installed, marked):
    with start_scripted_receiver("fld_tcp", segment_bytes=SEGMENT_BYTES, marks=True) as receiver:
        write(receiver, WINDOW + SECOND)
        receiver.take(WINDOW)
        assert receiver.acknowledge(WINDOW)["window_segments"] == SECOND
        receiver.take(SECOND)
        receiver.acknowledge(LOST, range(LOST + 1, LOST + SECOND // 2))
        assert receiver.take(1) == [LOST]
        receiver.acknowledge(LOST, range(LOST + 1, LOST + SECOND - 5), marked=marked)
        repaired = receiver.acknowledge(LOST + SECOND)
    left = (SECOND - 1) // 2 if marked else SECOND - 1
    assert (repaired["window_segments"], repaired["threshold_segments"]) == (left, left)


@pytest.mark.parametrize("keeps_window", [True, False])
def test_a_window_is_stored_over_an_idle_time_where_the_system_says_so(installed, keeps_window):
    with start_scripted_receiver("fld_tcp", segment_bytes=SEGMENT_BYTES, keeps_window=keeps_window) as receiver:
        write(receiver, WINDOW)
        receiver.take(WINDOW)
        assert receiver.acknowledge(WINDOW)["window_segments"] == SECOND
        time.sleep(2.5 * LEAST_TIMEOUT_S)
        write(receiver, SECOND)
        left = SECOND if keeps_window else SECOND // 4
        assert read_tcp_state(receiver.sender)["window_segments"] == max(left, WINDOW)


@pytest.mark.parametrize(("arrived", "beyond"), [(1, 0), (0, 2)])
def test_an_idle_time_cuts_the_window_also_when_a_mark_had_just_halved_it(installed, arrived, beyond):
    """The kernel ends the reduction only when something sent after it has arrived: here, after the idle time."""
    third, left = 3 * SECOND, 3 * SECOND // 2
    with start_scripted_receiver("fld_tcp", segment_bytes=SEGMENT_BYTES, marks=True) as receiver:
        end = WINDOW + SECOND + third
        write(receiver, end)
        receiver.take(WINDOW)
        assert windows(receiver, WINDOW, 1) == [SECOND, third]
        receiver.take(third)
        receiver.acknowledge(end - third // 2, marked=True)
        assert receiver.acknowledge(end)["threshold_segments"] == left
        time.sleep(3.5 * LEAST_TIMEOUT_S)
        write(receiver, WINDOW)
        resumed = read_tcp_state(receiver.sender)
        assert (resumed["window_segments"], resumed["threshold_segments"]) == (WINDOW, left)
        receiver.take(WINDOW)
        seen = receiver.acknowledge(end + arrived, range(end + 2, end + 2 + beyond))
    assert seen["window_segments"] <= WINDOW + 2 * arrived


def test_rounds_are_seen_after_an_idle_time_when_sequence_numbers_have_come_round(installed):
    with start_scripted_receiver("fld_tcp", segment_bytes=LONG_SEGMENT_BYTES) as receiver:
        window = lose_one(receiver)
        sent = WINDOW + 3 * SECOND
        while sent * LONG_SEGMENT_BYTES < 2.1 * 2**30:
            count = min(window, 3 * SECOND)
            write(receiver, count, LONG_SEGMENT_BYTES)
            receiver.take(count)
            sent += count
            window = receiver.acknowledge(sent)["window_segments"]
        time.sleep(3.5 * LEAST_TIMEOUT_S)
        write(receiver, 4 * SECOND, LONG_SEGMENT_BYTES)
        begun = read_tcp_state(receiver.sender)
        assert 3 * begun["window_segments"] < begun["threshold_segments"]
        first = begun["window_segments"]
        for count in (first, 3 * first):  # what the path carries, then that others keep a queue filled
            receiver.take(count)
            time.sleep(4 * DELAY_S)
            states = []
            for each in range(sent, sent + count):
                states.append(receiver.acknowledge(each + 1))
                time.sleep(SPACING_S)
            sent += count
    assert {each["window_segments"] for each in states} == {3 * first}
    assert states[0]["threshold_segments"] > states[-1]["threshold_segments"] == 3 * first


def lose_one(receiver: ScriptedReceiver) -> int:
    """Ends slow start; the window then."""
    third, end = WINDOW + SECOND, WINDOW + 3 * SECOND
    write(receiver, end, LONG_SEGMENT_BYTES)
    receiver.take(WINDOW)
    receiver.acknowledge(WINDOW)
    receiver.take(SECOND)
    receiver.acknowledge(third)
    receiver.take(end - third)
    receiver.acknowledge(third + 1)
    receiver.acknowledge(third + 1, range(third + 2, end))
    assert receiver.take(1) == [third + 1]
    state = receiver.acknowledge(end)
    assert state["window_segments"] == state["threshold_segments"]
    return state["window_segments"]
