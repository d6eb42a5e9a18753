"""An emulated network path as a TCP proxy, for hosts where the kernel cannot be asked to emulate one.

It is an emulation in user space, not a packet-level simulation: a model of TCP over a path delays what passes between
two sockets, limits it by a window and serialises it. Propagation, the handshake's round trip, slow start and
linear growth per connection, seeded random loss, the receiver's buffer, and a fair drop-free bottleneck that all
connections share are modelled; retransmission timeouts, queue overflow and acknowledgement traffic are not.

    python -m benchmarks.emulation.path --upstream 127.0.0.1:8080 --rate 80Mbps --rtt 60ms --loss 0.02% --seed 1

prints one JSON line with its port once it listens, and another with what it moved when it is stopped. With any of
``--then-rate``, ``--then-rtt`` and ``--then-loss`` it becomes that path on SIGUSR1, under connections that are open.
"""

import argparse
import asyncio
import json
import math
import os
import signal
import socket
import sys
from collections.abc import Sequence
from dataclasses import replace

from benchmarks.emulation.model import PathModel
from benchmarks.emulation.profile import PathProfile
from benchmarks.emulation.relay import SOCKET_BUFFER_BYTES, Relay, Side
from tradewind.errors import InvalidValue
from tradewind.units import MIB, parse_bps, parse_bytes, parse_seconds

# Events due within a millisecond share one wake-up of the process.
TIMER_GRAIN_S = 0.001


class EmulatedPath:
    """A listening emulated path to ``upstream``."""

    def __init__(self, profile: PathProfile, upstream: tuple[str, int]) -> None:
        self.model = PathModel(profile)
        self._upstream = upstream
        self._loop = asyncio.get_running_loop()
        self._listener: asyncio.Server
        self._timer: asyncio.TimerHandle | None = None
        self._timer_s = math.inf
        self._relays: set[Relay] = set()
        self._all_closed = asyncio.Event()

    async def start(self, host: str = "127.0.0.1", port: int = 0) -> None:
        """Listen; port 0 takes a free one."""
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.create_server((host, port), family=family, backlog=1024)
        for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):
            listening.setsockopt(socket.SOL_SOCKET, option, SOCKET_BUFFER_BYTES)
        self._listener = await self._loop.create_server(self._accept, sock=listening)

    @property
    def port(self) -> int:
        port: int = self._listener.sockets[0].getsockname()[1]
        return port

    def change(self, profile: PathProfile) -> None:
        """Become another path from now on, also for the open connections."""
        self.model.change(profile)

    def count_moved(self) -> dict[str, object]:
        """Return the number of connections so far, and the bytes in each direction."""
        moved_bytes = {f"{direction}_bytes": way.bottleneck.served_bytes for direction, way in self.model.ways.items()}
        return {"connections": self.model.connections, **moved_bytes}

    async def close(self) -> None:
        """Stop listening and drop all connections."""
        self._listener.close()
        for relay in list(self._relays):
            relay.abort()
        while self._relays:
            self._all_closed.clear()
            await self._all_closed.wait()
        if self._timer is not None:
            self._timer.cancel()
        await self._listener.wait_closed()

    def _accept(self) -> Side:
        relay = Relay(self.model, self._upstream, clock=self._loop.time, on_work=self._arm, on_closed=self._forget)
        self._relays.add(relay)
        return relay.client

    def _forget(self, relay: Relay) -> None:
        self._relays.discard(relay)
        if not self._relays:
            self._all_closed.set()

    def _arm(self) -> None:
        next_s = self.model.events.next_s
        if next_s is None:
            return
        due_s = math.ceil(next_s / TIMER_GRAIN_S) * TIMER_GRAIN_S
        if due_s < self._timer_s:
            if self._timer is not None:
                self._timer.cancel()
            self._timer_s = due_s
            self._timer = self._loop.call_at(due_s, self._run_due)

    def _run_due(self) -> None:
        self._timer, self._timer_s = None, math.inf
        try:
            self.model.events.run_until(self._loop.time())
        finally:
            self._arm()  # an error costs its event, not the path


async def emulate(
    profile: PathProfile, upstream: tuple[str, int], *, host: str = "127.0.0.1", port: int = 0
) -> EmulatedPath:
    """Start an emulated path to ``upstream`` in the running event loop; its ``port`` is where clients connect."""
    path = EmulatedPath(profile, upstream)
    await path.start(host, port)
    return path


def parse_address(text: str) -> tuple[str, int]:
    """Parse ``host:port`` or ``[v6]:port``.

    Raises
    ------
    InvalidValue
    """
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit():
        raise InvalidValue("address", f"{text!r} is not host:port")
    return host.strip("[]"), int(port)


def _parse_fraction(text: str) -> float:
    return float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)


def _parse_arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.emulation.path", description=__doc__.split("\n")[0])
    parser.add_argument("--listen", type=parse_address, default=("127.0.0.1", 0), metavar="HOST:PORT")
    parser.add_argument("--upstream", type=parse_address, required=True, metavar="HOST:PORT")
    parser.add_argument("--rate", type=parse_bps, required=True, help="of the bottleneck, such as 80Mbps")
    parser.add_argument("--rtt", type=parse_seconds, required=True, help="such as 60ms")
    parser.add_argument("--loss", type=_parse_fraction, default=0.0, help="random loss of segments, such as 0.02%%")
    parser.add_argument("--receive-buffer", type=parse_bytes, default=4 * MIB, help="of one connection, such as 4MiB")
    parser.add_argument(
        "--cross-traffic", type=_parse_fraction, default=0.0, help="mean share of other traffic, such as 20%%"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--then-rate", type=parse_bps, help="after SIGUSR1")
    parser.add_argument("--then-rtt", type=parse_seconds, help="after SIGUSR1")
    parser.add_argument("--then-loss", type=_parse_fraction, help="after SIGUSR1")
    return parser.parse_args(argv)


async def _run(arguments: argparse.Namespace) -> None:
    profile = PathProfile(
        rate_bps=arguments.rate,
        rtt_s=arguments.rtt,
        loss_rate=arguments.loss,
        receive_buffer_bytes=arguments.receive_buffer,
        cross_traffic=arguments.cross_traffic,
        seed=arguments.seed,
    )
    then = {"rate_bps": arguments.then_rate, "rtt_s": arguments.then_rtt, "loss_rate": arguments.then_loss}
    changed = replace(profile, **{name: value for name, value in then.items() if value is not None})
    stopping = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    path = await emulate(profile, arguments.upstream, host=arguments.listen[0], port=arguments.listen[1])
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, path.change, changed)
    _print_line({"port": path.port, "pid": os.getpid(), **profile.describe()})
    await stopping.wait()
    await path.close()
    times = os.times()
    _print_line({**path.count_moved(), "cpu_s": round(times.user + times.system, 3)})


def _print_line(value: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def main(argv: Sequence[str] | None = None) -> int:
    """Run the path until SIGINT or SIGTERM; return 2 for a path that cannot exist."""
    try:
        asyncio.run(_run(_parse_arguments(argv)))
    except (InvalidValue, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
