"""What real TCP sees of an emulated path: above all bounds that rate and delay set, on a busy machine too."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks.testbed import origins
from benchmarks.testbed.cross_traffic import PORT, CrossTraffic, read_report, run_cross_traffic, run_traffic_source
from benchmarks.testbed.errors import EmulationBroke
from benchmarks.testbed.path_spec import PathSpec
from benchmarks.testbed.schedule import Step, run_schedule
from tests.conditions import eventually

RTT_S = 0.06
PATH = PathSpec(rate_bps=100e6, rtt_s=RTT_S)
GRAIN_S = 0.001
"""More than the emulation's clock is coarse."""


def round_trip_s(bed) -> float:
    command = [sys.executable, "-P", "-m", "benchmarks.testbed.round_trip", bed.server.address, str(PORT)]
    return float(bed.run(bed.clients[0], command))


def download_s(bed, url: str, streams: int, to: Path) -> float:
    """Seconds that curl takes for as many files at once."""
    targets = [part for i in range(streams) for part in ("-o", str(to / str(i)), f"{url}{i}")]
    began_s = time.monotonic()
    bed.run(bed.clients[0], ["curl", "-sS", "--fail", "-Z", "--parallel-immediate", *targets], timeout_s=60)
    return time.monotonic() - began_s


def test_a_round_trip_takes_as_long_as_the_path_is_and_a_change_is_felt_at_once(stand):
    bed = stand(PATH)
    with run_traffic_source(bed):
        assert RTT_S - GRAIN_S <= round_trip_s(bed) < 1.5 * RTT_S
        bed.change(PathSpec(rate_bps=100e6, rtt_s=2 * RTT_S))
        assert 2 * RTT_S - GRAIN_S <= round_trip_s(bed) < 3 * RTT_S


def test_a_download_never_exceeds_the_rate_nor_the_queue(stand, tmp_path):
    bed = stand(PATH)
    (tmp_path / "served").mkdir()
    (tmp_path / "got").mkdir()
    for i in range(8):
        (tmp_path / "served" / str(i)).write_bytes(bytes(3_000_000))
    with origins.run_nginx(bed, tmp_path / "served") as url:
        duration_s = download_s(bed, url, 8, tmp_path / "got")
    assert 8 * 24_000_000 / duration_s <= PATH.rate_bps
    down = bed.read_counters().down
    assert down.bytes > 24_000_000
    assert down.queued_peak_bytes <= PATH.queue_limit_bytes
    assert down.lost == 0


def test_several_streams_come_near_the_rate(stand):
    bed = stand(PATH)
    with run_cross_traffic(bed, bed.clients[0], CrossTraffic(flows=8)) as report:
        eventually(lambda: max((bps for _, bps in read_report(report)), default=0.0) >= 0.6 * PATH.rate_bps)


def test_losses_have_requested_rate(stand):
    bed = stand(PathSpec(rate_bps=400e6, rtt_s=0.002, loss_rate=0.02), seed=5)
    with run_cross_traffic(bed, bed.clients[0], CrossTraffic(flows=8)):
        eventually(lambda: bed.read_counters().down.forwarded > 5_000)
    down = bed.read_counters().down
    assert 0.01 < down.lost / (down.lost + down.forwarded + down.dropped) < 0.03


def test_a_full_queue_drops_and_says_so(stand):
    bed = stand(PathSpec(rate_bps=20e6, rtt_s=0.02, queue_bytes=15_000))
    with run_cross_traffic(bed, bed.clients[0], CrossTraffic(flows=4)):
        eventually(lambda: bed.read_counters().down.dropped > 10)
    assert bed.read_counters().down.lost == 0


def test_a_scheduled_step_lowers_the_rate_under_a_running_transfer(stand):
    bed = stand(PathSpec(rate_bps=50e6, rtt_s=0.02))
    slow = PathSpec(rate_bps=5e6, rtt_s=0.02)
    with run_cross_traffic(bed, bed.clients[0], CrossTraffic(flows=2)) as report:
        eventually(lambda: read_report(report))
        with run_schedule(bed.change, [Step(0.0, slow)]) as steps:
            eventually(lambda: steps.made)
        assert bed.path == slow
        # After the queue of the faster time has drained, nothing can be above the new rate.
        eventually(lambda: read_report(report)[-1][1] <= 5e6)
    assert max(bps for _, bps in read_report(report)) > 5e6


def test_clients_share_one_bottleneck(stand):
    path = PathSpec(rate_bps=40e6, rtt_s=0.02)
    bed = stand(path, clients=2)
    with run_traffic_source(bed):
        began_s, before = time.monotonic(), bed.read_counters().down.bytes
        command = [
            sys.executable,
            "-P",
            "-m",
            "benchmarks.testbed.cross_traffic",
            "fetch",
            bed.server.address,
            str(PORT),
        ]
        reports = [bed.folder / f"{client.namespace}.out" for client in bed.clients]
        fetchers = [bed.start(client, command, log=report) for client, report in zip(bed.clients, reports, strict=True)]
        eventually(lambda: all(len(read_report(report)) >= 3 for report in reports))
        carried_bps = 8 * (bed.read_counters().down.bytes - before) / (time.monotonic() - began_s)
        for fetcher in fetchers:
            fetcher.terminate()
            fetcher.wait()
    assert carried_bps <= path.rate_bps
    assert all(read_report(report)[-1][1] > 0 for report in reports)


def test_hosts_use_cubic_and_forget_earlier_connections(stand):
    tcp = stand(PATH).read_tcp_settings()
    assert tcp["tcp_congestion_control"] == "cubic"
    assert tcp["tcp_no_metrics_save"] == "1"
    assert len(tcp["tcp_rmem"].split()) == len(tcp["tcp_wmem"].split()) == 3


def test_our_own_server_and_tool_work_over_it(stand, tmp_path):
    bed = stand(PathSpec(rate_bps=400e6, rtt_s=0.002))
    (tmp_path / "served").mkdir()
    (tmp_path / "served" / "file").write_bytes(b"tradewind" * 1000)
    with origins.run_serve_files(bed, tmp_path / "served") as url:
        bed.run(bed.clients[0], ["curl", "-sS", "--fail", "-o", tmp_path / "got", f"{url}file"])
    assert (tmp_path / "got").read_bytes() == b"tradewind" * 1000


def test_a_port_has_one_server(stand, tmp_path):
    bed = stand(PATH)
    with (
        origins.run_nginx(bed, tmp_path),
        pytest.raises(EmulationBroke, match=r"port 80 of .* has a server already"),
        origins.run_serve_files(bed, tmp_path),
    ):
        pass


def test_a_server_that_cannot_start_says_why(stand, tmp_path):
    bed = stand(PATH)
    with (
        pytest.raises(EmulationBroke, match=r"port 80 did not start: .*nowhere"),
        origins.run_serve_files(bed, tmp_path / "nowhere"),
    ):
        pass


def test_failing_program_is_reported(stand):
    bed = stand(PATH)
    with pytest.raises(subprocess.CalledProcessError):
        bed.run(bed.clients[0], ["false"])
