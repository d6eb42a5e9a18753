"""Other traffic on the path: plain TCP downloads that compete for the bottleneck, all the time or on and off.

    python -m benchmarks.testbed.cross_traffic serve ADDRESS PORT
    python -m benchmarks.testbed.cross_traffic fetch ADDRESS PORT --flows 2 --on 5 --off 5

The second prints what it received once a second, one JSON line each.
"""

import argparse
import json
import random
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks.testbed.namespaces import Host
from benchmarks.testbed.testbed import Testbed
from tradewind.units import BITS_PER_BYTE

PORT = 9009
BLOCK_BYTES = 256 * 1024
REPORT_S = 1.0
_MODULE = "benchmarks.testbed.cross_traffic"


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossTraffic:
    """Bulk flows from the server to a client.

    ``on_s``, ``off_s`` : mean lengths of busy and quiet times, exponentially distributed; always busy with ``off_s`` 0.
    """

    flows: int = 1
    on_s: float = 10.0
    off_s: float = 0.0
    seed: int = 1


@contextmanager
def run_cross_traffic(bed: Testbed, client: Host, traffic: CrossTraffic) -> Iterator[Path]:
    """Run the traffic during the block; the value is the file that its reports go to, see `read_report`."""
    report = bed.folder / f"cross-traffic-{client.namespace}.ndjson"
    options = ["--flows", traffic.flows, "--on", traffic.on_s, "--off", traffic.off_s, "--seed", traffic.seed]
    fetch = [sys.executable, "-P", "-m", _MODULE, "fetch", bed.server.address, PORT, *options]
    with run_traffic_source(bed):
        fetcher = bed.start(client, [str(part) for part in fetch], log=report)
        try:
            yield report
        finally:
            fetcher.terminate()
            fetcher.wait()


@contextmanager
def run_traffic_source(bed: Testbed) -> Iterator[None]:
    """Run a program on the server that sends without end to any client that connects to `PORT`."""
    command = [sys.executable, "-P", "-m", _MODULE, "serve", bed.server.address, str(PORT)]
    with bed.start(bed.server, command, stdout=subprocess.PIPE) as source:
        try:
            assert source.stdout is not None
            source.stdout.readline()  # it listens
            yield
        finally:
            source.terminate()


def read_report(report: Path) -> list[tuple[float, float]]:
    """Return the throughput of all flows together: seconds since their start, and bit/s in the interval that ended
    then.
    """
    rows = [json.loads(line) for line in report.read_text(encoding="utf-8").splitlines()]
    return [(row["at_s"], row["throughput_bps"]) for row in rows]


def serve(address: str, port: int) -> None:
    """Send without end to every client that connects."""
    block = bytes(BLOCK_BYTES)
    with selectors.DefaultSelector() as selector, socket.create_server((address, port), backlog=256) as listener:
        selector.register(listener, selectors.EVENT_READ)
        sys.stdout.write("listening\n")
        sys.stdout.flush()
        while True:
            for key, _ in selector.select():
                if key.fileobj is listener:
                    connection, _ = listener.accept()
                    connection.setblocking(False)
                    selector.register(connection, selectors.EVENT_WRITE)
                    continue
                connection = key.fileobj  # type: ignore[assignment]  # only sockets are registered
                try:
                    connection.send(block)
                except BlockingIOError:
                    pass
                except OSError:
                    selector.unregister(connection)
                    connection.close()


def fetch(address: str, port: int, traffic: CrossTraffic) -> None:
    """Receive over ``traffic.flows`` connections, alternately busy and quiet, and report."""
    draw = random.Random(traffic.seed)
    counter = _Counter()
    while True:
        busy_s = draw.expovariate(1 / traffic.on_s) if traffic.off_s else float("inf")
        _receive(address, port, traffic.flows, time.monotonic() + busy_s, counter)
        counter.wait_until(time.monotonic() + draw.expovariate(1 / traffic.off_s))


class _Counter:
    """Counts received bytes and reports them once an interval, in quiet times too."""

    def __init__(self) -> None:
        self._started_s = self._since_s = time.monotonic()
        self._bytes = 0

    def add(self, nbytes: int) -> None:
        self._bytes += nbytes
        now = time.monotonic()
        if now - self._since_s >= REPORT_S:
            bps = BITS_PER_BYTE * self._bytes / (now - self._since_s)
            sys.stdout.write(json.dumps({"at_s": now - self._started_s, "throughput_bps": bps}) + "\n")
            sys.stdout.flush()
            self._since_s, self._bytes = now, 0

    def wait_until(self, end_s: float) -> None:
        while (left_s := end_s - time.monotonic()) > 0:
            time.sleep(min(left_s, REPORT_S))
            self.add(0)


def _receive(address: str, port: int, flows: int, end_s: float, counter: _Counter) -> None:
    buffer = bytearray(BLOCK_BYTES)
    with selectors.DefaultSelector() as selector:
        connections = [socket.create_connection((address, port)) for _ in range(flows)]
        for connection in connections:
            connection.setblocking(False)
            selector.register(connection, selectors.EVENT_READ)
        while time.monotonic() < end_s:
            ready = selector.select(REPORT_S)
            counter.add(sum(key.fileobj.recv_into(buffer) for key, _ in ready))  # type: ignore[union-attr]
        for connection in connections:
            connection.close()


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("serve", "fetch"))
    parser.add_argument("address")
    parser.add_argument("port", type=int)
    parser.add_argument("--flows", type=int, default=1)
    parser.add_argument("--on", type=float, default=10.0)
    parser.add_argument("--off", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(argv)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with suppress(KeyboardInterrupt):
        if options.what == "serve":
            serve(options.address, options.port)
        else:
            traffic = CrossTraffic(flows=options.flows, on_s=options.on, off_s=options.off, seed=options.seed)
            fetch(options.address, options.port, traffic)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
