"""FLD_TCP between two hosts on an emulated path: what leaves the sender, round trip by round trip."""

from collections.abc import Iterator

import pytest

from benchmarks.testbed.errors import CannotEmulate
from benchmarks.testbed.path_spec import PathSpec
from benchmarks.testbed.permissions import require_permission
from benchmarks.transport.arena import AMPLE, Arena, arena
from benchmarks.transport.wire import rounds

RTT_S = 0.1
SEGMENT_BYTES = 1448
WINDOW_BYTES = 10 * SEGMENT_BYTES
FILE_BYTES = 500_000


@pytest.fixture(autouse=True)
def _permitted() -> None:
    try:
        require_permission()
    except CannotEmulate as reason:
        pytest.skip(str(reason))


@pytest.fixture
def wide_path(installed) -> Iterator[Arena]:
    """Bandwidth and buffers to spare: the window alone decides."""
    with arena(PathSpec(rate_bps=500e6, rtt_s=RTT_S), ["fld_tcp", "reno"], buffers=AMPLE) as standing:
        yield standing


def sent(standing: Arena, control: str, sizes: list[int], pauses_s: list[float] | None = None) -> list[int]:
    """Bytes of each round."""
    with standing.watched() as watch:
        standing.fetch(control, sizes, pauses_s)
    (flow,) = standing.flows(watch, control)
    return rounds(flow, RTT_S)


def test_half_a_megabyte_takes_four_rounds_where_reno_takes_six(wide_path):
    tripled = [WINDOW_BYTES, 3 * WINDOW_BYTES, 9 * WINDOW_BYTES]
    assert sent(wide_path, "fld_tcp", [FILE_BYTES]) == [*tripled, FILE_BYTES - sum(tripled)]
    doubled = [2**n * WINDOW_BYTES for n in range(5)]
    assert sent(wide_path, "reno", [FILE_BYTES]) == [*doubled, FILE_BYTES - sum(doubled)]


def test_after_an_idle_time_the_window_is_built_up_again(wide_path):
    begun, resumed = WINDOW_BYTES, 4  # rounds of the first answer
    after = sent(wide_path, "fld_tcp", [FILE_BYTES, FILE_BYTES], [0.0, 4.0])[resumed:]
    assert after[:3] == [begun, 3 * begun, 9 * begun]


def test_a_lost_segment_costs_a_short_flow_no_more_than_itself_and_a_long_one_half(installed):
    path = PathSpec(rate_bps=50e6, rtt_s=0.05, loss_rate=0.005)
    with arena(path, ["fld_tcp", "reno"], buffers=AMPLE) as standing:
        windows = {}
        for control in ("fld_tcp", "reno"):
            short, long = standing.fetch(control, [1_500_000, 1_000, 6_000_000, 1_000])[1::2]
            assert short.before["retransmitted_segments"] > 0
            windows[control] = short.before["window_segments"], long.before["window_segments"]
    assert windows["fld_tcp"][0] > 1.5 * windows["reno"][0]
    assert windows["fld_tcp"][1] < windows["fld_tcp"][0] / 2
