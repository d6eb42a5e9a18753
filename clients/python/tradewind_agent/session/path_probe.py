"""Measure the round-trip time of a path before the first byte, by timing TCP handshakes."""

import socket
import time
from collections.abc import Callable

PROBES = 3
PROBE_TIMEOUT_S = 5.0


def measure_connect_s(
    host: str,
    port: int,
    *,
    probes: int = PROBES,
    timeout_s: float = PROBE_TIMEOUT_S,
    clock_s: Callable[[], float] = time.perf_counter,
) -> float | None:
    """Return the least time of a TCP handshake with ``host``, one round trip, s; ``None`` if no connection succeeds.

    The name is resolved once, outside the timing.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError:
        return None
    times_s = []
    for _ in range(probes):
        with socket.socket(family, kind, protocol) as connection:
            connection.settimeout(timeout_s)
            started_s = clock_s()
            try:
                connection.connect(address)
            except OSError:
                break
            times_s.append(clock_s() - started_s)
    return min(times_s, default=None)
