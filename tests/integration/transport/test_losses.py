"""What a sender by FLD_TCP makes of losses, told to it acknowledgement by acknowledgement."""

import time
from collections.abc import Iterator

import pytest

from benchmarks.transport.origin import tcp_state
from tests.integration.transport.told_receiver import Told, receiver

pytestmark = pytest.mark.usefixtures("emulation")

SEGMENT_BYTES = 1000
WINDOW, SECOND = 10, 30
LOST = WINDOW
"""The first segment of the second round."""

DELAY_S = 0.05
"""Of acknowledgements: several ticks of the kernel's clock."""


@pytest.fixture
def told(installed) -> Iterator[Told]:
    """A flow of two rounds, the second of which has been sent."""
    with receiver("fld_tcp", segment_bytes=SEGMENT_BYTES) as standing:
        write(standing, WINDOW + SECOND)
        standing.take(WINDOW)
        assert standing.acknowledge(WINDOW)["window_segments"] == SECOND
        assert standing.take(SECOND)[0] == LOST
        yield standing


def write(told: Told, segments: int) -> None:
    size = segments * SEGMENT_BYTES
    assert told.sender.send(bytes(size)) == size


def windows(told: Told, arrived: int, rounds: int) -> list[int]:
    """After all before ``arrived`` have, and after each further round, all of which arrives."""
    seen = [told.acknowledge(arrived)["window_segments"]]
    for _ in range(rounds):
        told.take(seen[-1])
        arrived += seen[-1]
        seen.append(told.acknowledge(arrived)["window_segments"])
    return seen


def retransmit_in_vain(told: Told) -> dict[str, int]:
    """One segment is lost, and when it is sent again; the rest arrives in two parts. The sender's state."""
    half = LOST + SECOND // 2
    told.acknowledge(LOST, range(LOST + 1, half))
    assert told.take(1) == [LOST]
    time.sleep(DELAY_S)  # the timeout counts from the latest news, the idle time from the latest segment
    return told.acknowledge(LOST, range(LOST + 1, LOST + SECOND))


def test_a_timeout_after_a_lost_retransmission_rebuilds_by_doubling_up_to_half(told):
    window = retransmit_in_vain(told)["window_segments"]
    assert window == SECOND - 1
    assert told.take(1) == [LOST]
    timed_out = tcp_state(told.sender)
    assert (timed_out["window_segments"], timed_out["threshold_segments"]) == (1, window // 2)
    write(told, 100)
    assert windows(told, LOST + SECOND, 5) == [2, 4, 8, window // 2, window // 2 + 1, window // 2 + 2]


def test_a_timeout_of_a_lost_tail_rebuilds_by_doubling_up_to_half(told):
    time.sleep(DELAY_S)
    window = told.acknowledge(LOST + 2)["window_segments"]
    assert told.take(1) == [LOST + 2]
    timed_out = tcp_state(told.sender)
    assert (timed_out["window_segments"], timed_out["threshold_segments"]) == (1, window // 2)
    assert windows(told, LOST + 3, 3) == [2, 4, 8, 16]


def test_a_path_that_takes_smaller_segments_during_a_recovery_is_no_timeout(told):
    before = retransmit_in_vain(told)
    after = told.refuse(LOST, SEGMENT_BYTES // 2)
    assert after["retransmitted_segments"] > before["retransmitted_segments"]
    assert after["threshold_segments"] == before["threshold_segments"] == SECOND - 1
