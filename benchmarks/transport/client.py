"""A program that requests bytes from an origin and reports how long each answer took.

Each line on standard input is one connection, JSON: ``{"address", "port", "bytes": [...], "pauses_s": [...]}``. The
answer is ``{"handshake_s", "seconds": [...]}``, the latter from each request to the last byte of its answer.
"""

import json
import socket
import sys
import time

BUFFER_BYTES = 1 << 20


def fetch(address: str, port: int, sizes: list[int], pauses_s: list[float]) -> tuple[float, list[float]]:
    """Return the seconds of the handshake and of each answer of one connection; wait ``pauses_s`` before requests."""
    buffer, seconds = bytearray(BUFFER_BYTES), []
    opened_s = time.monotonic()
    with socket.create_connection((address, port)) as connection:
        handshake_s = time.monotonic() - opened_s
        for size, pause_s in zip(sizes, pauses_s, strict=True):
            time.sleep(pause_s)
            started_s = time.monotonic()
            connection.sendall(b"%d\n" % size)
            left = size
            while left > 0:
                received = connection.recv_into(buffer, min(left, BUFFER_BYTES))
                if not received:
                    raise ConnectionError(f"the origin closed the connection {left} bytes early")
                left -= received
            seconds.append(time.monotonic() - started_s)
    return handshake_s, seconds


def main() -> int:
    for line in sys.stdin:
        request = json.loads(line)
        sizes = request["bytes"]
        pauses_s = request.get("pauses_s") or [0.0] * len(sizes)
        handshake_s, seconds = fetch(request["address"], request["port"], sizes, pauses_s)
        sys.stdout.write(json.dumps({"handshake_s": handshake_s, "seconds": seconds}) + "\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
