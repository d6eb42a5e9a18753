"""When a sender by FLD_TCP takes a path for full, and when a queue behind it ends slow start."""

import contextlib
import socket
import time
from collections.abc import Iterable, Iterator

import pytest

from benchmarks.transport.origin import read_tcp_state
from benchmarks.transport.scripted_receiver import LEAST_TIMEOUT_S, ScriptedReceiver, start_scripted_receiver

pytestmark = pytest.mark.usefixtures("emulation")

SEGMENT_BYTES = 1000
WINDOW, SECOND = 10, 30
FULL = 3 * SECOND
"""The window after two rounds, at which the third begins."""

DELAY_S = 0.02
"""Of late acknowledgements: more than the 16 ms from which delay is a queue."""

PROMPT_S = 0.01
"""Less than that."""

SPACING_S = 0.01
NO_THRESHOLD = 0x7FFFFFFF
"""Of slow start, as long as nothing ended it."""

SENT = WINDOW + SECOND + 1
"""Segments of a path that was filled."""

LATE = 8
"""Segments in a row that are evidence of a queue."""

MOST_SPACED_S = 0.05
"""Of the acknowledgements of a first round that tells of a path which two rounds do not fill."""

MOST_ATTEMPTS = 20

HEADER, BODY = 4, 10
RTT_S = 0.1


@pytest.fixture
def receiver(installed) -> Iterator[ScriptedReceiver]:
    """Nothing is sent yet."""
    with start_scripted_receiver("fld_tcp", segment_bytes=SEGMENT_BYTES) as standing:
        yield standing


@pytest.fixture
def filled(receiver) -> ScriptedReceiver:
    fill(receiver)
    return receiver


def fill(receiver: ScriptedReceiver) -> None:
    """Two rounds, the second spaced as by a path that eleven or so segments fill; and one more segment, that ends it.

    The window is far beyond what fills it, and nothing is under way.
    """
    end = WINDOW + SECOND
    write(receiver, end)
    receiver.take(WINDOW)
    receiver.acknowledge(WINDOW)
    receiver.take(SECOND)
    time.sleep(DELAY_S)
    for arrived in range(WINDOW + 5, end + 1, 5):
        receiver.acknowledge(arrived)
        time.sleep(SPACING_S)
    write(receiver, 1)
    receiver.take(1)
    state = receiver.acknowledge(end + 1)
    assert (state["window_segments"], state["threshold_segments"]) == (FULL, NO_THRESHOLD)


def write(receiver: ScriptedReceiver, segments: int, segment_bytes: int = SEGMENT_BYTES) -> None:
    size = segments * segment_bytes
    assert receiver.sender.send(bytes(size)) == size


def acknowledge_spaced(receiver: ScriptedReceiver, segments: Iterable[int]) -> None:
    for each in segments:
        receiver.acknowledge(each + 1)
        time.sleep(SPACING_S)


def second_round(receiver: ScriptedReceiver) -> dict[str, int]:
    """State after the round that follows the first window, all of it acknowledged at once."""
    write(receiver, SECOND)
    receiver.take(SECOND)
    return receiver.acknowledge(WINDOW + SECOND)


@pytest.fixture
def doubled(installed) -> Iterator[ScriptedReceiver]:
    """A third round after those of `fill`, all of it acknowledged at once.

    A host that is busy acknowledges it so late that it tells of a queue; then all is done again.
    """
    for _ in range(MOST_ATTEMPTS):
        with start_scripted_receiver("fld_tcp", segment_bytes=SEGMENT_BYTES) as receiver:
            fill(receiver)
            started_s = time.monotonic()
            write(receiver, FULL)
            receiver.take(FULL)
            state = receiver.acknowledge(SENT + FULL)
            took_s = time.monotonic() - started_s
            if took_s < PROMPT_S:
                assert state["window_segments"] == 2 * FULL
                yield receiver
                return
    pytest.fail(f"this host was too busy {MOST_ATTEMPTS} times: {FULL} acknowledgements took {took_s:.3f} s")


def test_after_an_idle_time_the_window_beyond_a_full_path_triples_again(doubled):
    """Who else is on the path may have changed meanwhile."""
    time.sleep(2.5 * LEAST_TIMEOUT_S)
    left = 2 * FULL // 4
    write(doubled, left)
    assert read_tcp_state(doubled.sender)["window_segments"] == left
    doubled.take(left)
    assert doubled.acknowledge(SENT + FULL + left)["window_segments"] == 3 * left


@pytest.fixture
def carried(installed) -> Iterator[ScriptedReceiver]:
    """The first round showed that a hundred segments or so fill the path, the second has been sent; all comes late.

    A host that is busy spaces the first round so that it tells of a narrower path; then it is done again.
    """
    for _ in range(MOST_ATTEMPTS):
        with start_scripted_receiver("fld_tcp", segment_bytes=SEGMENT_BYTES) as receiver:
            write(receiver, WINDOW + SECOND)
            receiver.take(WINDOW)
            time.sleep(20 * SPACING_S)
            started_s = time.monotonic()
            for arrived in range(WINDOW):
                receiver.acknowledge(arrived + 1)
                time.sleep(SPACING_S / 5)
            took_s = time.monotonic() - started_s
            receiver.take(SECOND)
            time.sleep(DELAY_S)
            if took_s < MOST_SPACED_S:
                yield receiver
                return
    pytest.fail(f"this host was too busy {MOST_ATTEMPTS} times: ten acknowledgements took {took_s:.2f} s")


def test_while_a_queue_may_be_that_of_others_the_window_waits(carried):
    states = [carried.acknowledge(WINDOW + arrived) for arrived in range(1, LATE + 1)]
    assert {each["window_segments"] for each in states} == {SECOND}
    thresholds = [each["threshold_segments"] for each in states]
    assert thresholds[0] == NO_THRESHOLD
    assert thresholds[-1] == SECOND


def test_the_window_waits_for_no_more_than_it_takes_to_show(carried):
    """One acknowledgement of all is no evidence, and the next round may bring no other."""
    state = carried.acknowledge(WINDOW + SECOND)
    assert (state["window_segments"], state["threshold_segments"]) == (SECOND + 2 * (SECOND - LATE), NO_THRESHOLD)


def test_a_timeout_while_the_window_waits_rebuilds_by_doubling(carried):
    arrived = WINDOW + 3
    for each in range(WINDOW + 1, arrived + 1):
        assert carried.acknowledge(each)["window_segments"] == SECOND
    assert carried.take(1) == [arrived]
    assert read_tcp_state(carried.sender)["window_segments"] == 1
    assert carried.acknowledge(arrived + 1)["window_segments"] == 2
    carried.take(2)
    assert carried.acknowledge(arrived + 3)["window_segments"] == 4


def test_sender_with_a_full_buffer_is_not_at_the_end_of_its_data(receiver):
    """Otherwise a small buffer would look like the end in each round."""
    receiver.sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, 5 * SEGMENT_BYTES)
    write_all_it_takes(receiver)
    receiver.take(WINDOW)
    assert receiver.acknowledge(1)["window_segments"] == WINDOW + 2


def write_all_it_takes(receiver: ScriptedReceiver) -> None:
    block = bytes(SEGMENT_BYTES)
    with contextlib.suppress(BlockingIOError):
        while True:
            receiver.sender.send(block)


@pytest.mark.parametrize(("left", "grown"), [(1, 1), (2 * (WINDOW - 1), 1), (2 * (WINDOW - 1) + 1, 2), (SECOND, 2)])
def test_window_does_not_triple_when_doubling_sends_all_that_is_left(receiver, left, grown):
    write(receiver, WINDOW + left)
    receiver.take(WINDOW)
    assert receiver.acknowledge(1)["window_segments"] == WINDOW + grown


def test_slow_writes_of_an_application_reveal_nothing_of_the_path(receiver):
    for _ in range(WINDOW):
        write(receiver, 1)
        time.sleep(SPACING_S)
    acknowledge_spaced(receiver, receiver.take(WINDOW))
    assert second_round(receiver)["window_segments"] == 3 * SECOND


def test_data_sent_at_once_reveals_what_the_path_carries(receiver):
    write(receiver, WINDOW)
    taken = receiver.take(WINDOW)
    time.sleep(DELAY_S)
    acknowledge_spaced(receiver, taken)
    assert second_round(receiver)["window_segments"] == 2 * SECOND


def test_a_body_that_an_application_held_back_once_reports_what_the_path_carries_at_least(receiver):
    """A header, too short to tell anything, and a body whose begin finds the socket empty."""
    write(receiver, HEADER)
    receiver.take(HEADER)
    time.sleep(RTT_S)
    receiver.acknowledge(HEADER - 2)
    write(receiver, BODY)
    receiver.take(BODY)
    receiver.acknowledge(HEADER)
    time.sleep(RTT_S)
    for arrived in range(HEADER + 1, HEADER + BODY + 1):
        window = receiver.acknowledge(arrived)["window_segments"]
        time.sleep(SPACING_S)
    write(receiver, window)
    receiver.take(window)
    assert receiver.acknowledge(HEADER + BODY + window)["window_segments"] == 2 * window


class TooBusyError(Exception):
    """This host acknowledged what was to come in time so late that it counts as one more."""


def be_late(
    receiver: ScriptedReceiver, segments: int, acknowledgements: int, each: int = 1, *, must_be_prompt: bool = False
) -> dict[str, int]:
    """So many that a full path held up, after one that came in time; the sender's state."""
    started_s = time.monotonic()
    write(receiver, segments)
    receiver.take(1)
    receiver.acknowledge(SENT + 1)
    if must_be_prompt and time.monotonic() - started_s > PROMPT_S:
        raise TooBusyError
    receiver.take(segments - 1)
    time.sleep(DELAY_S)
    for number in range(1, acknowledgements + 1):
        state = receiver.acknowledge(SENT + 1 + number * each)
    return state


def find_late_state(acknowledgements: int, each: int = 1) -> dict[str, int]:
    """The sender's state after so many late ones, on a path that was filled first; all again if this host was busy."""
    for _ in range(MOST_ATTEMPTS):
        with (
            start_scripted_receiver("fld_tcp", segment_bytes=SEGMENT_BYTES) as receiver,
            contextlib.suppress(TooBusyError),
        ):
            fill(receiver)
            return be_late(receiver, FULL, acknowledgements, each, must_be_prompt=True)
    pytest.fail(f"this host was too busy {MOST_ATTEMPTS} times")


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("late", [1, LATE - 1, LATE])
def test_several_late_segments_in_a_row_end_slow_start_and_fewer_do_not(late):
    state = find_late_state(late)
    assert (state["threshold_segments"] == state["window_segments"]) == (late == LATE)
    assert (state["threshold_segments"] == NO_THRESHOLD) == (late < LATE)


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("late", [1, 2])
def test_two_late_acknowledgements_of_many_segments_end_slow_start_and_one_does_not(late):
    state = find_late_state(late, each=2 * LATE)
    assert (state["threshold_segments"] == state["window_segments"]) == (late == 2)
    assert (state["threshold_segments"] == NO_THRESHOLD) == (late == 1)


def test_a_slow_start_after_a_timeout_is_judged_by_its_own_late_segments(filled):
    repaired = [1, 2, 4, 8, 16]
    arrived = SENT + 1 + LATE
    ended = be_late(filled, 1 + LATE + sum(repaired), LATE)
    for each in repaired:
        filled.take(each)
        arrived += each
        state = filled.acknowledge(arrived)
    left = ended["threshold_segments"] // 2
    assert (state["window_segments"], state["threshold_segments"]) == (2 * repaired[-1], left)
    write(filled, 2)
    filled.take(2)
    time.sleep(DELAY_S)
    assert filled.acknowledge(arrived + 1)["threshold_segments"] == left


def test_a_slow_start_that_a_timeout_did_not_end_is_judged_by_what_came_since(filled):
    be_late(filled, FULL, LATE - 1)
    assert filled.take(1) == [SENT + LATE]
    assert filled.acknowledge(SENT + FULL)["threshold_segments"] == NO_THRESHOLD
    write(filled, 2)
    filled.take(2)
    time.sleep(DELAY_S)
    assert filled.acknowledge(SENT + FULL + 1)["threshold_segments"] == NO_THRESHOLD


@pytest.mark.parametrize("share", [1, 2])
def test_late_acknowledgements_of_lone_segments_are_no_queue(filled, share):
    """A receiver waits for a second segment before it acknowledges, be the first full or not."""
    for each in range(2 * LATE):
        write(filled, 1, SEGMENT_BYTES // share)
        filled.take(1)
        time.sleep(DELAY_S)
        state = filled.acknowledge(SENT + (each + 1) / share)
    assert state["threshold_segments"] == NO_THRESHOLD
