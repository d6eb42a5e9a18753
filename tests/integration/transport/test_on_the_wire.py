"""Between two hosts on an emulated path: what leaves a sender by FLD_TCP, and a caching proxy before an origin."""

import time
from collections.abc import Iterator

import pytest

from benchmarks.testbed.cross_traffic import CrossTraffic, run_cross_traffic
from benchmarks.testbed.path_spec import PathSpec
from benchmarks.testbed.testbed import Testbed
from benchmarks.transport.arena import AMPLE, Arena, set_up_arena
from benchmarks.transport.pages import run_server
from benchmarks.transport.proxy import PageProtocol, run_caching_proxy, set_congestion_control
from benchmarks.transport.wire import split_into_rounds
from tests.conditions import eventually, stretched

pytestmark = pytest.mark.usefixtures("emulation")

RTT_S = 0.1
SEGMENT_BYTES = 1448
WINDOW_BYTES = 10 * SEGMENT_BYTES
FILE_BYTES = 500_000
PATIENCE_S = 30.0


@pytest.fixture
def wide_path(installed) -> Iterator[Arena]:
    """Bandwidth and buffers to spare: the window alone decides."""
    with set_up_arena(PathSpec(rate_bps=500e6, rtt_s=RTT_S), ["fld_tcp", "reno"], buffers=AMPLE) as standing:
        yield standing


def sent(standing: Arena, control: str, sizes: list[int], pauses_s: list[float] | None = None) -> list[int]:
    """Bytes of each round."""
    with standing.capture() as watch:
        standing.fetch(control, sizes, pauses_s)
    (flow,) = standing.list_flows(watch, control)
    return split_into_rounds(flow, RTT_S)


def test_half_a_megabyte_takes_four_rounds_where_reno_takes_six(wide_path):
    tripled = [WINDOW_BYTES, 3 * WINDOW_BYTES, 9 * WINDOW_BYTES]
    assert sent(wide_path, "fld_tcp", [FILE_BYTES]) == [*tripled, FILE_BYTES - sum(tripled)]
    doubled = [2**n * WINDOW_BYTES for n in range(5)]
    assert sent(wide_path, "reno", [FILE_BYTES]) == [*doubled, FILE_BYTES - sum(doubled)]


def test_after_an_idle_time_the_window_is_built_up_again(wide_path):
    begun, resumed = WINDOW_BYTES, 4  # rounds of the first answer
    after = sent(wide_path, "fld_tcp", [FILE_BYTES, FILE_BYTES], [0.0, 4.0])[resumed:]
    assert after[:3] == [begun, 3 * begun, 9 * begun]


def test_a_flow_that_meets_the_queue_of_others_does_not_triple_into_it(installed):
    path = PathSpec(rate_bps=7e6, rtt_s=0.05, queue_bytes=175_000)
    with set_up_arena(path, ["fld_tcp"], buffers=AMPLE, clients=2) as standing:
        bed = standing.bed
        with run_cross_traffic(bed, bed.clients[1], CrossTraffic()), standing.capture() as watch:
            deadline_s = time.monotonic() + stretched(PATIENCE_S)
            while bed.read_counters().down.queued_bytes < path.queue_limit_bytes / 2:
                assert time.monotonic() < deadline_s
            answers = [standing.fetch("fld_tcp", [120_000])[0] for _ in range(3)]
        flows = standing.list_flows(watch, "fld_tcp")
    counted = [split_into_rounds(flow, each.handshake_s) for flow, each in zip(flows, answers, strict=True)]
    seconds, thirds = (sorted(each[number] for each in counted) for number in (1, 2))
    assert thirds[1] <= seconds[1] == 3 * WINDOW_BYTES


def test_a_lost_segment_costs_a_short_flow_no_more_than_itself_and_a_long_one_half(installed):
    path = PathSpec(rate_bps=50e6, rtt_s=0.05, loss_rate=0.005)
    with set_up_arena(path, ["fld_tcp", "reno"], buffers=AMPLE) as standing:
        windows = {}
        for control in ("fld_tcp", "reno"):
            short, long = standing.fetch(control, [1_500_000, 1_000, 6_000_000, 1_000])[1::2]
            assert short.before["retransmitted_segments"] > 0
            windows[control] = short.before["window_segments"], long.before["window_segments"]
    assert windows["fld_tcp"][0] > 1.5 * windows["reno"][0]
    assert windows["fld_tcp"][1] < windows["fld_tcp"][0] / 2


@pytest.fixture(scope="module")
def proxied(tmp_path_factory):
    """A path with a caching proxy before our own server of one large file; and the file's address by a protocol."""
    folder = tmp_path_factory.mktemp("proxied")
    site, proxy = folder / "site", folder / "proxy"
    for each in (site, proxy):
        each.mkdir()
    for each in (folder, *folder.parents[:2]):
        each.chmod(0o755)  # nginx may run as another account
    (site / "file").write_bytes(bytes(500_000))
    path = PathSpec(rate_bps=100e6, rtt_s=0.01)
    with (
        Testbed(path) as bed,
        run_server(bed, site, 8081, "cubic"),
        run_caching_proxy(bed, f"http://{bed.server.address}:8081", proxy),
    ):
        yield bed, lambda protocol: f"{protocol.scheme}://{bed.server.address}:{protocol.port}/file"


@pytest.mark.parametrize(("protocol", "version"), list(zip(PageProtocol, ("1.1", "1.1", "2"), strict=True)))
def test_a_caching_proxy_serves_what_it_was_requested_before_by_each_protocol(proxied, protocol, version):
    bed, url = proxied
    asked = ["curl", "--silent", "--insecure", "--output", "/dev/null", "--dump-header", "-"]
    address = url(protocol) + f"?{protocol.port}"
    heads = [bed.run(bed.clients[0], [*asked, address]).lower() for _ in range(2)]
    assert [head.startswith(f"http/{version} 200") for head in heads] == [True, True]
    assert ["x-cache: miss from" in heads[0], "x-cache: hit from" in heads[1]] == [True, True]


def test_a_proxys_new_connections_send_as_they_are_configured(proxied):
    bed, url = proxied

    def connections() -> str:
        return bed.run(bed.server, ["ss", "-Htin", "state", "established", f"sport = :{PageProtocol.PLAIN.port}"])

    used = []
    for control in ("reno", "cubic"):
        eventually(lambda: not connections())  # also that of the one before, whose end takes its way over the path
        set_congestion_control(bed, control)
        slow = bed.start(bed.clients[0], ["curl", "--silent", "--limit-rate", "20k", url(PageProtocol.PLAIN)])
        try:
            while not (told := connections()):
                assert slow.poll() is None
        finally:
            slow.kill()
            slow.wait()
        used.append(told)
    assert ["reno" in used[0], "cubic" in used[1]] == [True, True]
