"""A program that sends as many bytes as a request asks for, by the congestion control of the port.

    python -m benchmarks.transport.origin ADDRESS PORT=reno PORT=cubic …

A request is a line with a number of bytes; the connection stays open for the next one. The program prints the
sender's TCP state before and after each answer, one JSON line each.
"""

import json
import socket
import struct
import sys
import threading
from collections.abc import Sequence

BLOCK = bytes(1 << 20)
BACKLOG = 256

_INFO_BYTES = 192
_RTO_US, _SSTHRESH, _CWND, _TOTAL_RETRANS = 8, 76, 80, 100
"""Offsets in ``struct tcp_info`` of linux/tcp.h."""


def read_tcp_state(connection: socket.socket) -> dict[str, int]:
    """Return a sender's window, threshold and losses in segments, and its retransmission timeout."""
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO_BYTES)

    def read_field(offset: int) -> int:
        return int(struct.unpack_from("=I", info, offset)[0])

    return {
        "window_segments": read_field(_CWND),
        "threshold_segments": read_field(_SSTHRESH),
        "retransmitted_segments": read_field(_TOTAL_RETRANS),
        "timeout_us": read_field(_RTO_US),
    }


def answer_requests(connection: socket.socket, port: int) -> None:
    """Answer one client until it closes the connection."""
    with connection, connection.makefile("rb") as requests:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for line in requests:
            left = int(line)
            before = read_tcp_state(connection)
            try:
                while left > 0:
                    left -= connection.send(memoryview(BLOCK)[: min(left, len(BLOCK))])
            except OSError:
                return
            states = {"port": port, "before": before, "after": read_tcp_state(connection)}
            sys.stdout.write(json.dumps(states) + "\n")
            sys.stdout.flush()


def listen(address: str, port: int, congestion_control: str) -> None:
    """Answer each client of ``port``; its connections inherit the listener's congestion control."""
    listener = socket.create_server((address, port), backlog=BACKLOG)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion_control.encode())

    def accept() -> None:
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=answer_requests, args=(connection, port), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()


def main(argv: Sequence[str]) -> int:
    address, *ports = argv
    for argument in ports:
        port, _, congestion_control = argument.partition("=")
        listen(address, int(port), congestion_control)
    sys.stdout.write("listening\n")
    sys.stdout.flush()
    sys.stdin.read()  # until the program that started it is gone
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
