"""The emulated path in model time: the shapes that a real path has, without a socket or a clock."""

from collections.abc import Callable

import pytest

from benchmarks.emulation.bottleneck import Bottleneck
from benchmarks.emulation.profile import PathProfile
from benchmarks.support.direction import Direction
from tests.unit.benchmarks.emulated_transfers import Sender, TimedPath
from tradewind.errors import InvalidValue
from tradewind.units import KIB, MIB

CLEAN = PathProfile(rate_bps=80e6, rtt_s=0.06, receive_buffer_bytes=256 * KIB)
LOSSY = PathProfile(rate_bps=80e6, rtt_s=0.06, loss_rate=0.001)


class Exchange:
    """A client that keeps ``depth`` requests of 100 bytes outstanding, and a server that answers each with 500."""

    def __init__(self, path: TimedPath, requests: int, depth: int) -> None:
        self.path, self.left = path, requests
        self.done_at_s = 0.0
        flows = path.connect(0.0, up=_Receiver(self._serve), down=_Receiver(self._take))
        self.up, self.down = flows[Direction.UP], flows[Direction.DOWN]
        self.asked = self.answered_bytes = 0
        for _ in range(depth):
            self._ask(0.0)

    def _ask(self, now_s: float) -> None:
        if self.left:
            self.left -= 1
            self.asked += 1
            self.up.write(bytes(100), now_s)

    def _serve(self, data: bytearray) -> None:
        for _ in range(len(data) // 100):
            self.down.write(bytes(500), self.path.now_s)

    def _take(self, data: bytearray) -> None:
        self.done_at_s = self.path.now_s
        for _ in range(len(data) // 500):
            self._ask(self.path.now_s)


class _Receiver:
    def __init__(self, arrive: Callable[[bytearray], None]) -> None:
        self.arrive = arrive

    def make_room(self) -> None:
        pass


def carry(profile: PathProfile, sizes: list[int], direction: Direction = Direction.DOWN) -> list[Sender]:
    path = TimedPath(profile)
    senders = [Sender(path, size) for size in sizes]
    for sender in senders:
        sender.start(direction)
    path.run()
    assert [len(sender.received) for sender in senders] == sizes
    return senders


def duration_s(profile: PathProfile, sizes: list[int], direction: Direction = Direction.DOWN) -> float:
    return max(sender.ended_at_s or 0.0 for sender in carry(profile, sizes, direction))


def rate_bps(profile: PathProfile, sizes: list[int]) -> float:
    return 8 * sum(sizes) / duration_s(profile, sizes)


def test_the_first_byte_takes_the_handshake_and_half_a_round_trip():
    (sender,) = carry(CLEAN, [100], Direction.UP)
    assert sender.first_at_s == pytest.approx(1.5 * CLEAN.rtt_s, rel=0.01)


def test_one_connection_reaches_window_over_round_trip_and_no_more():
    ceiling_bps = 8 * CLEAN.receive_buffer_bytes / CLEAN.rtt_s
    assert 0.75 * ceiling_bps < rate_bps(CLEAN, [40 * MIB]) <= ceiling_bps


def test_slow_start_doubles_the_window_each_round_trip():
    """10, 20, 40, 80 segments: 1.2 MB would take ten round trips more at the initial window."""
    roomy = PathProfile(rate_bps=1e9, rtt_s=0.1, receive_buffer_bytes=16 * MIB)
    round_trips = duration_s(roomy, [150 * 1460]) / roomy.rtt_s
    assert round_trips == pytest.approx(1 + 3.5, abs=0.6)  # handshake, three full windows, the last one's way


def test_connections_add_up_until_the_pipe_is_full_and_then_give_nothing_more():
    total = 32 * MIB
    rates = {count: rate_bps(CLEAN, [total // count] * count) for count in (1, 2, 4, 16, 64)}
    assert rates[2] > 1.7 * rates[1]
    assert rates[4] > 1.9 * rates[1]
    assert rates[16] > 0.85 * CLEAN.rate_bps
    assert 0.9 * rates[16] < rates[64] <= CLEAN.rate_bps


def test_random_loss_holds_a_single_connection_near_mathis_formula():
    """1.2·MSS/(RTT·√loss), Mathis et al.; within a factor of two for a finite file."""
    mathis_bps = 1.2 * 8 * 1460 / (LOSSY.rtt_s * LOSSY.loss_rate**0.5)
    assert 0.5 < rate_bps(LOSSY, [20 * MIB]) / mathis_bps < 2


def test_parallel_connections_make_up_for_loss():
    assert rate_bps(LOSSY, [MIB] * 20) > 4 * rate_bps(LOSSY, [20 * MIB])


def test_the_bottleneck_is_shared_fairly():
    senders = carry(PathProfile(rate_bps=20e6, rtt_s=0.02, receive_buffer_bytes=MIB), [4 * MIB] * 8)
    ends = [sender.ended_at_s or 0.0 for sender in senders]
    assert min(ends) > 0.9 * max(ends)


def test_a_short_answer_does_not_wait_behind_long_ones():
    path = TimedPath(PathProfile(rate_bps=10e6, rtt_s=0.02))
    for _ in range(4):
        Sender(path, 4 * MIB).start(Direction.DOWN)
    short = Sender(path, 1000)
    path.events.schedule(1.0, lambda now_s: short.start(Direction.DOWN, now_s))
    path.run()
    assert short.ended_at_s is not None
    assert short.ended_at_s < 1.0 + 0.2


def test_the_two_directions_do_not_disturb_each_other():
    path = TimedPath(CLEAN)
    up, down = Sender(path, 8 * MIB), Sender(path, 8 * MIB)
    up.start(Direction.UP)
    down.start(Direction.DOWN)
    path.run()
    assert up.ended_at_s == pytest.approx(duration_s(CLEAN, [8 * MIB]), rel=0.01)
    assert down.ended_at_s == pytest.approx(up.ended_at_s, rel=0.01)


def test_the_same_seed_gives_the_same_run_and_another_seed_another():
    def ends(seed: int) -> list[float | None]:
        profile = PathProfile(rate_bps=80e6, rtt_s=0.06, loss_rate=0.001, cross_traffic=0.2, seed=seed)
        return [sender.ended_at_s for sender in carry(profile, [2 * MIB] * 6)]

    assert ends(1) == ends(1)
    assert ends(1) != ends(2)


def test_cross_traffic_takes_its_share():
    sizes = [4 * MIB] * 16
    alone = rate_bps(PathProfile(rate_bps=80e6, rtt_s=0.02), sizes)
    shared = rate_bps(PathProfile(rate_bps=80e6, rtt_s=0.02, cross_traffic=0.5), sizes)
    assert 0.35 < shared / alone < 0.65


def test_pipelining_removes_a_round_trip_a_request():
    def twenty_answers_s(depth: int) -> float:
        path = TimedPath(PathProfile(rate_bps=80e6, rtt_s=0.06))
        exchange = Exchange(path, requests=20, depth=depth)
        path.run()
        return exchange.done_at_s

    assert twenty_answers_s(1) == pytest.approx(0.06 * (1 + 20), rel=0.1)
    assert twenty_answers_s(20) == pytest.approx(0.06 * (1 + 1), rel=0.2)
    assert twenty_answers_s(1) / twenty_answers_s(5) == pytest.approx(21 / 5, rel=0.2)


def test_an_idle_connection_starts_again_from_the_initial_window():
    path = TimedPath(PathProfile(rate_bps=1e9, rtt_s=0.05, receive_buffer_bytes=16 * MIB))
    sender = Sender(path, 2 * MIB)
    sender.start(Direction.DOWN)
    path.run()
    grown = sender.flow.window.bytes
    sender.flow.window.restart_if_idle((sender.ended_at_s or 0.0) + 1.0)
    assert grown > 20 * sender.flow.window.bytes


def test_a_receiver_that_does_not_read_stops_the_sender():
    path = TimedPath(CLEAN)
    sender = Sender(path, 4 * MIB)
    sender.start(Direction.DOWN)
    sender.flow.withhold_acknowledgements()
    path.run()
    assert len(sender.received) <= CLEAN.receive_buffer_bytes
    sender.flow.release_acknowledgements(path.now_s)
    path.run()
    assert len(sender.received) == 4 * MIB


def test_bottleneck_shares_capacity_by_bytes_not_by_pieces():
    bottleneck = Bottleneck[_Sized](rate_bps=8e6, quantum_bytes=1000, cross_traffic=0.0, seed="1")
    for _ in range(100):
        bottleneck.enqueue(1, _Sized(1, 1000))
    for _ in range(1000):
        bottleneck.enqueue(2, _Sized(2, 100))
    served = {1: 0, 2: 0}
    for _ in range(500):
        piece, _ = bottleneck.serve(0.0)
        served[piece.flow] += piece.size_bytes
    assert served[1] == pytest.approx(served[2], rel=0.1)


@pytest.mark.parametrize(
    ("field", "value"), [("rate_bps", 0), ("rtt_s", -1), ("loss_rate", 1.0), ("cross_traffic", 0.95)]
)
def test_impossible_paths_are_refused(field: str, value: float):
    with pytest.raises(InvalidValue, match=field):
        PathProfile(**{"rate_bps": 1e6, "rtt_s": 0.01, field: value})


class _Sized:
    def __init__(self, flow: int, size_bytes: int) -> None:
        self.flow, self.size_bytes = flow, size_bytes
