"""Measure what the emulation delivers against what it promises, and what it costs: ``var/bench/testbed.json``."""

import statistics
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime

from benchmarks.support.report import Value, make_parser, write_report
from benchmarks.testbed.cross_traffic import PORT, CrossTraffic, read_report, run_cross_traffic, run_traffic_source
from benchmarks.testbed.namespaces import MTU_BYTES
from benchmarks.testbed.path_spec import PathSpec
from benchmarks.testbed.permissions import become_root_of_a_user_namespace
from benchmarks.testbed.testbed import Testbed

PATHS = (
    PathSpec(rate_bps=50e6, rtt_s=0.020),
    PathSpec(rate_bps=100e6, rtt_s=0.060),
    PathSpec(rate_bps=200e6, rtt_s=0.115),
    PathSpec(rate_bps=400e6, rtt_s=0.060),
)
FLOWS = (1, 4)
WARM_UP_S, SMOKE_WARM_UP_S = 5.0, 1.0
MEASURE_S, QUICK_MEASURE_S, SMOKE_MEASURE_S = 10.0, 4.0, 2.0
HEADERS_BYTES = 52
"""IPv4 and TCP headers with time stamps, in each full packet."""


def main(argv: Sequence[str]) -> int:
    """Measure, print and write ``var/bench/testbed.json``."""
    options = make_parser(__doc__.partition("\n")[0]).parse_args(argv)
    become_root_of_a_user_namespace([sys.executable, "-P", "-m", "benchmarks.testbed", *argv])
    started_at = datetime.now(UTC)
    measure_s = SMOKE_MEASURE_S if options.smoke else QUICK_MEASURE_S if options.quick else MEASURE_S
    warm_up_s = SMOKE_WARM_UP_S if options.smoke else WARM_UP_S
    paths = PATHS[1:2] if options.quick else PATHS
    results = [
        measure_path(path, count, warm_up_s, measure_s, options.seed)
        for path in paths
        for count in (FLOWS[:1] if options.smoke else FLOWS)
    ]
    write_report(
        "testbed",
        quick=options.quick,
        smoke=options.smoke,
        results=results,
        summary=summarise(results),
        started_at=started_at,
    )
    return 0


def measure_path(path: PathSpec, flows: int, warm_up_s: float, measure_s: float, seed: int) -> dict[str, Value]:
    """Send bulk flows over a path; return what arrives after slow start, and the processor time of the link."""
    with Testbed(path, seed=seed) as bed:
        rtt_s = measure_quiet_round_trip_s(bed)
        with run_cross_traffic(bed, bed.clients[0], CrossTraffic(flows=flows, seed=seed)) as report:
            time.sleep(warm_up_s)
            before, cpu_before_s, started_s = bed.read_counters(), bed.link.read_cpu_s(), time.monotonic()
            time.sleep(measure_s)
            carried = bed.read_counters().subtract(before)
            elapsed_s, cpu_s = time.monotonic() - started_s, bed.link.read_cpu_s() - cpu_before_s
        goodput_bps = statistics.mean(bps for at_s, bps in read_report(report) if at_s > warm_up_s)
        possible_bps = path.rate_bps * (MTU_BYTES - HEADERS_BYTES) / MTU_BYTES
        return {
            "case": f"{path}, {flows} flow{'s' if flows > 1 else ''}",
            "tcp": bed.read_tcp_settings()["tcp_congestion_control"],
            "goodput_mbps": goodput_bps / 1e6,
            "goodput_share": goodput_bps / possible_bps,
            "rtt_ms": 1e3 * rtt_s,
            "rtt_error_ms": 1e3 * (rtt_s - path.rtt_s),
            "link_cpu_share": cpu_s / elapsed_s,
            "dropped": carried.down.dropped,
            "queued_peak_bytes": carried.down.queued_peak_bytes,
            "refused": carried.down.refused + carried.up.refused,
        }


def measure_quiet_round_trip_s(bed: Testbed) -> float:
    """Return the round trip while nothing else is on the path, s."""
    with run_traffic_source(bed):
        command = [sys.executable, "-P", "-m", "benchmarks.testbed.round_trip", bed.server.address, str(PORT)]
        return float(bed.run(bed.clients[0], command))


def summarise(results: Sequence[dict[str, Value]]) -> dict[str, Value]:
    """Return the worst value of each figure."""
    return {
        "goodput_share_min": min(_read_number(row, "goodput_share") for row in results),
        "rtt_error_ms_max": max(abs(_read_number(row, "rtt_error_ms")) for row in results),
        "link_cpu_share_max": max(_read_number(row, "link_cpu_share") for row in results),
        "refused": sum(_read_number(row, "refused") for row in results),
    }


def _read_number(row: dict[str, Value], key: str) -> float:
    value = row[key]
    assert isinstance(value, int | float)
    return value
