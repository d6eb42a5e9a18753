"""Measure the round trip of a path by TCP's own handshake: ``python -m benchmarks.testbed.round_trip ADDRESS PORT``.

The program prints the least of several connections in seconds: a queue only adds to it.
"""

import socket
import sys
import time
from collections.abc import Sequence

CONNECTIONS = 9


def measure_handshake_s(address: str, port: int) -> float:
    """Return the seconds until a connection is established: one round trip."""
    started_s = time.monotonic()
    with socket.create_connection((address, port)):
        return time.monotonic() - started_s


def main(argv: Sequence[str]) -> int:
    address, port = argv
    print(min(measure_handshake_s(address, int(port)) for _ in range(CONNECTIONS)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
